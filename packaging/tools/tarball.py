"""The archive of a platform: the binary, its manual pages and completions, licence and changelog."""

from archive import tar_gz
from project import ROOT


def folder_name(release):
    return f"memory-{release.version}-{release.target.triple}"


def build(release):
    """Returns the file name and the content of the archive."""
    top = folder_name(release)
    files = {f"{top}/{release.target.executable}": (release.binary.read_bytes(), 0o755)}
    for name in ("LICENSE", "README.md", "README.zh-CN.md", "CHANGELOG.md"):
        files[f"{top}/{name}"] = ((ROOT / name).read_bytes(), 0o644)
    for name, page in release.pages.items():
        files[f"{top}/man/man1/{name}"] = (page, 0o644)
    for name, script in release.completions.values():
        files[f"{top}/completions/{name}"] = (script, 0o644)
    return f"{top}.tar.gz", tar_gz(files, release.time)
