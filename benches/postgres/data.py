"""Writes the files that `memory-bench` reads: synthetic records, their vectors, and queries with the exact answers.

Half of the records are Chinese. They have 10 to 40 words and belong to 1000 users of uneven size. A query consists of
some words of one record and of a vector near its vector.
"""

import json
import pathlib

import numpy as np

SEED = 2026
QUERIES = 200
HELD_OUT = 1000
TOPICS = 300
USERS = 1000
FIRST_TIME = 1_700_000_000
TIME_SPAN = 2 * 365 * 86_400
WINDOW = 15 * 86_400
KINDS = ["fact", "preference", "event", "task", "profile"]
VOCABULARY = 20_000
TOPIC_WORDS = 80
SYLLABLES = "ba ter lin mo sha ver con di pre lo gan ri sen tu wal fi hor ne ka pol ste bri ja cu dor el fan".split()
CHARACTERS = (
    "人大小山水火木金土日月年天气雨雪风云花草鸟鱼马牛羊猫狗车船路门窗书笔纸灯床桌椅茶饭菜肉果米面汤糖盐油酒红黄蓝绿黑白"
    "东西南北上下左右前后里外中高低长短新旧早晚快慢多少冷热远近深浅轻重美好坏真假爱恨喜怒哀乐想念听说读写走跑飞游吃喝睡醒"
)


def zipf(count, exponent):
    weights = 1.0 / np.arange(1, count + 1) ** exponent
    return weights / weights.sum()


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def vocabulary(random, parts, lengths):
    words = {}
    while len(words) < VOCABULARY:
        words["".join(random.choice(parts, random.integers(*lengths)))] = None
    return list(words)


def nearest(vectors, queries, admitted):
    """Returns the ten nearest admitted vectors of each query, filled with -1."""
    cosines = np.where(admitted, queries @ vectors.T, -2.0)
    order = np.argsort(-cosines, axis=1, kind="stable")[:, :10]
    return np.where(np.take_along_axis(cosines, order, 1) > -2.0, order, -1).astype("<i4")


def write(folder: pathlib.Path, count: int, dimensions: int):
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(SEED)
    total = count + HELD_OUT
    words = [vocabulary(random, SYLLABLES, (2, 5)), vocabulary(random, list(CHARACTERS), (2, 4))]
    topic_words = random.integers(100, VOCABULARY // 2, (TOPICS, TOPIC_WORDS))
    word_weights, topic_word_weights = zipf(VOCABULARY, 1.07), zipf(TOPIC_WORDS, 0.8)
    topics = random.choice(TOPICS, total, p=zipf(TOPICS, 0.6))
    users = random.choice(USERS, total, p=zipf(USERS, 0.8))
    times = FIRST_TIME + random.integers(0, TIME_SPAN, total)
    texts = []
    with open(folder / "records.jsonl", "w", encoding="utf-8") as file:
        for number in range(total):
            length = random.integers(10, 41)
            of_topic = topic_words[topics[number]][random.choice(TOPIC_WORDS, length, p=topic_word_weights)]
            of_language = random.choice(VOCABULARY, length, p=word_weights)
            is_chinese = number % 2
            text = [words[is_chinese][word] for word in np.where(random.random(length) < 0.55, of_topic, of_language)]
            texts.append(text)
            record = {"id": number, "scope": f"u{users[number]:04}", "org": "org0", "ts": int(times[number])}
            record |= {"kind": KINDS[number % len(KINDS)], "text": ("" if is_chinese else " ").join(text)}
            print(json.dumps(record | {"tokens": " ".join(text)}, ensure_ascii=False), file=file)
    spread = (np.arange(dimensions) + 1.0) ** -0.45
    noise = lambda rows: unit(random.standard_normal((rows, dimensions)) * spread)
    vectors = unit(0.45 * noise(1) + 0.6 * noise(TOPICS)[topics] + 0.75 * noise(total)).astype("<f4")
    np.save(folder / f"vectors_d{dimensions}.npy", vectors)
    targets = random.choice(count, QUERIES, replace=False)
    with open(folder / f"queries_n{count}.jsonl", "w", encoding="utf-8") as file:
        for target in targets:
            picked = sorted(random.choice(len(texts[target]), random.integers(3, 7), replace=False))
            text = [texts[target][word] for word in picked]
            query = {"target": int(target), "scope": f"u{users[target]:04}", "org": "org0"}
            query |= {"t_from": int(times[target]) - WINDOW, "t_to": int(times[target]) + WINDOW}
            query |= {"text": ("" if target % 2 else " ").join(text), "tokens": " ".join(text)}
            print(json.dumps(query, ensure_ascii=False), file=file)
    queries = unit(vectors[targets] + 1.1 * noise(QUERIES)).astype("<f4")
    np.save(folder / f"q_n{count}_d{dimensions}.npy", queries)
    admitted = {
        "all": np.ones((QUERIES, count), bool),
        "scope": users[targets][:, None] == users[None, :count],
        "time": np.abs(times[targets][:, None] - times[None, :count]) <= WINDOW,
    }
    for kind, mask in admitted.items():
        np.save(folder / f"gold_{kind}_n{count}_d{dimensions}.npy", nearest(vectors[:count], queries, mask))
    # Written last: the data are complete.
    (folder / "manifest.json").write_text(json.dumps({"n_max": count}), encoding="utf-8")
