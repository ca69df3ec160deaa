"""The part of scripts/corpus-facts that counts and compares."""

import collections
import hashlib
import json
import pathlib
import random
import subprocess
import sys

TABLE = pathlib.Path("crates/summarizer/tests/corpus/facts.tsv")
SEED = 20261130


def extract(program, path):
    """Yields (rule, message id, statement) of a set."""
    with path.open() as messages:
        run = subprocess.run([program], stdin=messages, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"corpus-facts: {path}: {run.stderr.strip()}")
    for line in run.stdout.splitlines():
        rule, message, *statement = line.split("\t")
        yield rule, message, " ".join(statement)


def table(facts):
    """Returns the lines of the table: number of facts of each set and rule, and a hash of them."""
    groups = collections.defaultdict(list)
    for name, rule, message, statement in facts:
        groups[name, rule].append(f"{message}\t{statement}")
    for (name, rule), found in sorted(groups.items()):
        digest = hashlib.sha256("\n".join(sorted(found)).encode()).hexdigest()[:12]
        yield f"{name}\t{rule}\t{len(found)}\t{digest}"


def compare(lines):
    old = dict(line.rsplit("\t", 2)[0:1] + [line] for line in TABLE.read_text().splitlines())
    new = dict(line.rsplit("\t", 2)[0:1] + [line] for line in lines)
    changed = [key for key in sorted(old.keys() | new.keys()) if old.get(key) != new.get(key)]
    for key in changed:
        count = lambda table: table[key].split("\t")[2] if key in table else "0"  # noqa: E731
        print(key.replace("\t", " "), f"{count(old)} -> {count(new)}" if count(old) != count(new) else "other facts")
    if changed:
        sys.exit("corpus-facts: read the changed facts (--show RULE), then --write, and commit the table")
    print(f"corpus-facts: {len(lines)} lines are as reviewed")


def main(program, folder, action, argument):
    sets = sorted(pathlib.Path(folder).rglob("*.memories.jsonl"))
    if not sets:
        sys.exit(f"corpus-facts: {folder} has no file *.memories.jsonl")
    facts = [(path.name.split(".")[0], *fact) for path in sets for fact in extract(program, path)]
    if action in ("--show", "--sample"):
        chosen = [fact for fact in facts if action == "--sample" or fact[1] == argument]
        if action == "--sample":
            chosen = random.Random(SEED).sample(chosen, min(int(argument), len(chosen)))
        texts = {}
        for path in sets:
            for line in path.open():
                message = json.loads(line)
                texts[path.name.split(".")[0], message["id"]] = (message.get("speaker"), message["text"])
        for name, rule, message, statement in chosen:
            speaker, text = texts[name, message]
            shown = {"set": name, "rule": rule, "fact": statement, "speaker": speaker, "text": text}
            print(json.dumps(shown, ensure_ascii=False))
        return
    lines = list(table(facts))
    if action == "--write":
        TABLE.parent.mkdir(parents=True, exist_ok=True)
        TABLE.write_text("\n".join(lines) + "\n")
        print(f"corpus-facts: {len(facts)} facts of {len(sets)} sets")
    else:
        compare(lines)


main(*sys.argv[1:])
