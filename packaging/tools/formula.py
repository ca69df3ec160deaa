"""The Homebrew formula, from the checksums of the archives."""

import re

from project import PACKAGING, REPOSITORY, TARGETS

TEMPLATE = PACKAGING / "homebrew" / "memory-engine.rb.in"
NAME = "memory-engine.rb"


def build(version, sums):
    """Returns the formula, or None if the archive of a platform is missing. `sums` maps file names to checksums."""
    values = {"VERSION": version, "REPOSITORY": REPOSITORY}
    for triple in TARGETS:
        values[f"SHA256_{triple}"] = sums.get(f"memory-{version}-{triple}.tar.gz")
    text = TEMPLATE.read_text()
    names = set(re.findall(r"@([A-Za-z0-9_-]+)@", text))
    if unknown := names - values.keys():
        raise ValueError(f"{TEMPLATE}: unknown placeholders: {', '.join(sorted(unknown))}")
    if any(values[name] is None for name in names):
        return None
    return re.sub(r"@([A-Za-z0-9_-]+)@", lambda match: values[match[1]], text)
