"""The log messages in the source, compared with docs/reference/logs.md in both directions."""

import re

from project import ROOT

PAGE = ROOT / "docs" / "reference" / "logs.md"
# The places of these functions.
PASSED_ON = {"… (enrichment/log.rs)"}
LEVELS = {"error": "ERROR", "warn": "WARN", "info": "INFO"}


def in_source():
    """Returns the messages at INFO and above, as (level, text). A placeholder is written `…`."""
    found = set()
    for path in sorted((ROOT / "crates").glob("*/src/**/*.rs")):
        if "tests" in path.parts or path.name == "tests.rs":
            continue
        for level, arguments in re.findall(r"tracing::(error|warn|info)!\((.*?)\);", path.read_text(), re.DOTALL):
            # The message is the last text that is no name of a field.
            texts = re.findall(r'"((?:[^"\\]|\\.)*)"(\s*=)?', arguments)
            texts = [text for text, is_name in texts if not is_name]
            text = re.sub(r"\{[^}]*\}", "…", re.sub(r"\\\n\s*", "", texts[-1]))
            # A message that consists of an error is described by its place.
            found.add((LEVELS[level], text if text != "…" else f"… ({path.parts[-3]}/{path.name})"))
        # Functions that log the message that they are passed.
        calls = r'\b(?:log_error|add_degraded)\(\s*(?:"[^"]*"|\w+),(?:\s*&\w+,)?\s*"([^"]*)"'
        found |= {("WARN", text) for text in re.findall(calls, path.read_text())}
    return {entry for entry in found if entry[1] not in PASSED_ON}


def in_page():
    # A message with backticks stands between double ones.
    rows = [(level, text or quoted) for level, text, quoted in re.findall(
        r"^\| (ERROR|WARN|INFO) \| (?:`([^`]+)`|`` (.+?) ``) \|", PAGE.read_text(), re.MULTILINE)]
    return set(rows)


def faults():
    source, page = in_source(), in_page()
    missing = [f"docs/reference/logs.md lacks {level} `{text}`" for level, text in sorted(source - page)]
    return missing + [f"no crate logs {level} `{text}` any more" for level, text in sorted(page - source)]
