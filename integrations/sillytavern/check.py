"""check.py [CHECK…]: uses the extension in the real SillyTavern, in a browser, with `memory serve`

Environment: SILLYTAVERN, the folder of the npm package, with its dependencies; MEMORY, the command; and what
scripts/browser provides. `scripts/check-integrations sillytavern` sets all of it.
"""

import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from support import EXTENSION, Memory, Model, Page, SillyTavern, SilentServer, wait_until

COMMAND = os.environ["MEMORY"]
# Of each language: the cases A, B and C of the use case. `earlier` is said on the first day, the other messages later.
CASES = {
    "en": {
        "character": "Marlow",
        "clear": ("I'm allergic to peanuts, even a crumb is dangerous.", "Any idea for a snack tonight?", "peanuts"),
        "weak": ("My left knee hurts whenever it rains; a hot towel helps.", "My knee kept me awake again.",
                 "How am I today?", "towel"),
        "rewrite": ("My sister Ines runs a bakery in Porto.", "A letter came this morning.", "What do you make of it?",
                    "How is the bakery of Ines?", "sister"),
    },
    "zh": {
        "character": "阿芜",
        "clear": ("我对花生过敏，一粒都不能碰", "晚上嘴馋，有什么零食推荐？", "花生"),
        "weak": ("我一坐夜车就犯恶心，含一片姜糖会舒服点", "昨天坐了一夜的夜车", "你看我今天有什么不对劲？", "姜糖"),
        "rewrite": ("我表哥在敦煌修壁画", "早上收到一封信", "你说他到底怎么想的？", "用户的表哥在敦煌过得怎么样", "壁画"),
    },
}


def has(memories, word):
    return any(word in memory for memory in memories)


def check_texts():
    """Each text of the settings page and of the code has a Chinese translation, and no other text has one."""
    translations = set(json.loads((EXTENSION / "i18n" / "zh-cn.json").read_text()))
    page = (EXTENSION / "settings.html").read_text()
    texts = set(re.findall(r'data-i18n="([^"]+)"', page))
    assert texts == {text for text in re.findall(r'data-i18n="[^"]+">([^<]+)<', page)}, "key and text differ"
    for name in ["index.js", "server.js"]:
        code = re.sub(r"^ *(//|\*|/\*).*$", "", (EXTENSION / name).read_text(), flags=re.M)
        literals = [single or double for single, double in re.findall(r"""'([^'\n]*)'|"([^"\n]*)\"""", code)]
        texts |= {text for text in literals if re.match(r"[A-Z][a-z]+( .*[.?]| .*\$\{\d\}|$)", text)}
    assert texts == translations, texts ^ translations


def connect(page, memory, user, **fields):
    """Fills the settings. A new chat must be open: messages of another one would be new to another user."""
    page.set(url=memory.url, key="", user=user, rewrite=False, enabled=True, **fields)
    page.press("test")
    wait_until(lambda: user in page.status(), "the connection works")


def check_cases(page, memory, language):
    case, model = CASES[language], page.model
    character, user = case["character"], f"cases-{language}"
    if character != "Marlow":
        page.create_character(character)
    page.open_character(character)
    page.new_chat()
    connect(page, memory, user)
    for earlier in [case["clear"][0], case["weak"][0], case["rewrite"][0]]:
        page.say(earlier)
    said = {case["clear"][0], case["weak"][0], case["rewrite"][0]}
    stored = lambda: said <= {text for role, text in memory.turns(user, character) if role == "user"}
    wait_until(stored, "the messages are stored")
    # What the prompt contains is no memory.
    assert page.say(case["clear"][1]) == []

    page.new_chat()
    _, asked, word = case["clear"]
    assert has(page.say(asked), word), model.requests[-1]
    page.new_chat()
    _, before, asked, word = case["weak"]
    page.say(before)
    assert has(page.say(asked), word), model.requests[-1]
    forms = {"en": "with the dialogue before it", "zh": "之前的对话"}
    assert forms[language] in page.status(), page.status()
    page.new_chat()
    _, before, asked, model.rewritten, word = case["rewrite"]
    page.say(before)
    assert not has(page.say(asked), word)
    page.set(rewrite=True)
    page.close_settings()
    assert has(page.swipe(), word), model.requests[-1]
    question = json.loads(model.rewrites[-1][-1]["content"])
    assert (question["user_question"], question["user_name"], question["char_name"]) == (asked, "Lin", character)
    assert any(before in line for line in question["recent_conversation"])
    # Another user, and another character, read nothing of it.
    page.set(user=f"{user}-other", rewrite=False)
    page.new_chat()
    assert page.say(case["clear"][1]) == []


def check_changes(page, memory):
    """Swipes, edits and deletions reach the memory; a branch leaves the messages of its original."""
    user = "changes"
    page.open_character("Marlow")
    page.new_chat()
    connect(page, memory, user)
    texts = lambda: {text for _, text in memory.turns(user)}
    first, second = "My canoe is called Heron.", "My canoe is called Otter."
    page.say(first)
    reply = page.messages()[-1]
    wait_until(lambda: texts() == {first, reply}, "message and reply are stored")
    page.swipe()
    other = page.messages()[-1]
    wait_until(lambda: texts() == {first, other}, "another reply replaces the one before")
    page.swipe_back()
    wait_until(lambda: texts() == {first, reply}, "the reply that is shown again is stored again")
    page.edit(1, second)
    wait_until(lambda: texts() == {second, reply}, "the edited message replaces the old one")
    page.say("My tent is torn.")
    wait_until(lambda: len(texts()) == 4, "the next turn is stored")
    page.command("/del 2")
    wait_until(lambda: texts() == {second, reply}, "deleted messages are not stored any more")
    page.say("And a red one.")
    wait_until(lambda: len(texts()) == 4, "the next turn is stored")

    page.command("/branch-create mesId=4")
    page.page.wait_for_function("SillyTavern.getContext().chatMetadata.main_chat")
    page.command("/cut 3-4")
    page.say("The branch has a blue one.")
    wait_until(lambda: any("blue" in text for text in texts()), "the branch is stored")
    assert {second, "And a red one."} <= texts(), texts()

    page.new_chat()
    found = page.say("What is my canoe called?")
    assert has(found, "Otter") and not has(found, "Heron"), found


def check_privacy(page, memory):
    """Messages off the record, those of a time without memory, and those of a chat that is forgotten."""
    user = "privacy"
    page.open_character("Marlow")
    page.new_chat()
    connect(page, memory, user)
    page.say("Off the record: I failed the exam.")
    page.say("I play the oboe.")
    wait_until(lambda: len(memory.turns(user)) == 2, "what is on the record is stored")
    page.set(enabled=False)
    assert page.say("I also play the lute.") == []
    time.sleep(1)
    page.set(enabled=True)
    page.say("And the drums.")
    said = lambda: {text for role, text in memory.turns(user) if role == "user"}
    wait_until(lambda: said() == {"I play the oboe.", "And the drums."}, "what is meant for the memory is stored")
    replies = lambda: [text for role, text in memory.turns(user) if role == "assistant"]
    wait_until(lambda: len(replies()) == 2, "their replies are stored")
    page.press("store")
    wait_until(lambda: "I also play the lute." in said(), "the whole chat is stored")
    assert not any("exam" in text for text in said())
    page.press("forget")
    page.page.click(".popup-button-ok")
    wait_until(lambda: not memory.turns(user), "the chat is forgotten")
    page.say("Still there?")
    wait_until(lambda: said() == {"Still there?"}, "later messages are stored, forgotten ones are not")


def check_group(page, memory):
    """A group has memories of its own."""
    user = "group"
    page.create_character("Tess")
    page.open_character("Marlow")
    page.new_chat()
    connect(page, memory, user)
    page.say("My boat lies in Bergen.")
    wait_until(lambda: memory.turns(user, "Marlow"), "the chat with Marlow is stored")
    page.open_group("Harbour", ["Tess"])
    assert page.say("Where does my boat lie?") == []
    wait_until(lambda: memory.turns(user, "Harbour"), "the chat of the group is stored")


def check_long_chat(page, memory):
    """What has left the prompt is found in the same chat."""
    page.open_character("Marlow")
    page.new_chat()
    connect(page, memory, "long")
    page.say("The code of the shed is 4471.")
    assert page.say("What is the code of the shed?") == []
    page.say("Let us talk about lanterns. " + "The lantern at the quay is green. " * 400)
    wait_until(lambda: len(memory.turns("long")) == 6, "all messages are stored")
    assert has(page.say("What is the code of the shed?"), "4471")


def check_failures(page, memory, folder):
    origins = [page.tavern.url]
    page.open_character("Marlow")
    page.new_chat()
    connect(page, memory, "failures")
    page.say("My kite is yellow.")
    wait_until(lambda: len(memory.turns("failures")) == 2, "the turn is stored")
    page.notices()

    # A stopped server: one notice, replies, and the missed messages after its start.
    memory.stop()
    for text in ["My drum is brown.", "My flute is white."]:
        page.say(text)
    notices = page.notices()
    assert len(notices) == 1 and "memory serve" in notices[0], notices
    memory.start()
    page.say("My bell is grey.")
    wait_until(lambda: len(memory.turns("failures")) == 8, "the missed messages are stored")

    # A server that never answers: the time limit, then the reply.
    silent = SilentServer()
    page.set(url=silent.url, timeLimit=800)
    started = time.monotonic()
    page.say("My horn is black.")
    assert time.monotonic() - started < 8, "the reply has waited for the memory"
    page.say("My harp is pink.")
    notices = page.notices()
    assert len(notices) == 1 and "800 ms" in notices[0], notices
    page.set(url=memory.url, timeLimit=1500)
    page.say("My gong is blue.")
    wait_until(lambda: len(memory.turns("failures")) == 14, "the messages of the slow time are stored", 60)

    # A wrong key, then the right one of another user.
    command = [COMMAND, "keys", "new", "tavern", "--user", "failures"]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    output = made.stdout + made.stderr
    key = re.search(r"mk-[\w-]+", output).group()
    entry = re.search(r"\[\[keys\]\].*", made.stdout, re.S).group()
    with Memory(COMMAND, folder / "keyed", origins, entry) as keyed:
        page.set(url=keyed.url, key="mk-wrong-but-secret")
        for text in ["My cup is red.", "My bowl is red."]:
            page.say(text)
        notices = page.notices()
        assert len(notices) == 1 and "key" in notices[0], notices
        page.set(key="mk-密钥")
        page.press("test")
        wait_until(lambda: "character" in page.status(), "a key with other characters is refused")
        page.set(key=key)
        page.press("test")
        wait_until(lambda: "failures" in page.status(), "the right key works")
        page.set(user="someone")
        page.press("test")
        wait_until(lambda: "403" in page.status(), "another user is refused")

    # A server that does not allow the page; another program; no address.
    with Memory(COMMAND, folder / "closed", []) as closed:
        page.set(url=closed.url, key="", user="failures")
        page.press("test")
        wait_until(lambda: "cors_origins" in page.status() and origins[0] in page.status(), "the origin is named")
    page.set(url=page.tavern.url)
    page.press("test")
    wait_until(lambda: "no memory server" in page.status(), "another program is recognised")
    page.set(url="localhost:8765")
    page.press("test")
    wait_until(lambda: "http://127.0.0.1:8765" in page.status(), "a wrong address is recognised")
    logs = "\n".join(page.console) + page.tavern.log.read_text() + (folder / "keyed" / "memory.log").read_text()
    assert key not in logs and "wrong-but-secret" not in logs


def check_chinese_page(page, memory):
    page.open("zh-cn")
    labels = page.page.locator("#memory_engine_settings [data-i18n]").all_text_contents()
    assert labels and all(re.search(r"[\u4e00-\u9fff]", label) for label in labels), labels
    memory.stop()
    page.set(url=memory.url)
    page.press("test")
    wait_until(lambda: "连不上" in page.status(), "failures are in Chinese")
    memory.start()


CHECKS = {
    "cases-en": lambda page, memory, _: check_cases(page, memory, "en"),
    "changes": lambda page, memory, _: check_changes(page, memory),
    "privacy": lambda page, memory, _: check_privacy(page, memory),
    "group": lambda page, memory, _: check_group(page, memory),
    "long-chat": lambda page, memory, _: check_long_chat(page, memory),
    "failures": check_failures,
    "chinese-page": lambda page, memory, _: check_chinese_page(page, memory),
    "cases-zh": lambda page, memory, _: check_cases(page, memory, "zh"),
}


def main():
    check_texts()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = pathlib.Path(name)
        model = Model()
        tavern = stack.enter_context(SillyTavern(pathlib.Path(os.environ["SILLYTAVERN"]), folder, model.url))
        memory = stack.enter_context(Memory(COMMAND, folder / "memory", [tavern.url]))
        page = stack.enter_context(Page(tavern, model))
        page.create_character("Marlow")
        for name in sys.argv[1:] or CHECKS:
            print(f"sillytavern: {name}", flush=True)
            try:
                CHECKS[name](page, memory, folder)
            except BaseException:
                page.describe()
                raise
    print("sillytavern: ok")


if __name__ == "__main__":
    main()
