"""The Debian package: command, systemd service, daily backup, manual pages, completions and configuration files."""

import hashlib

from archive import ar, compress, tar_gz
from project import PACKAGING, REPOSITORY, ROOT, SUMMARY

SOURCES = PACKAGING / "deb"
# Files of packaging/deb, with their places and modes in the package.
FILES = {
    "memory-engine.service": ("usr/lib/systemd/system/memory-engine.service", 0o644),
    "memory-engine-backup.service": ("usr/lib/systemd/system/memory-engine-backup.service", 0o644),
    "memory-engine-backup.timer": ("usr/lib/systemd/system/memory-engine-backup.timer", 0o644),
    "sysusers.conf": ("usr/lib/sysusers.d/memory-engine.conf", 0o644),
    "make-key": ("usr/lib/memory-engine/make-key", 0o755),
    "backup": ("usr/lib/memory-engine/backup", 0o755),
    "memory.toml": ("etc/memory-engine/memory.toml", 0o644),
    "environment": ("etc/default/memory-engine", 0o600),
}
CONFIGURATION_FILES = ("/etc/default/memory-engine", "/etc/memory-engine/memory.toml")
SCRIPTS = ("postinst", "prerm", "postrm")


def build(release):
    """Returns the file name and the content of the package."""
    files = {
        "usr/bin/memory": (release.binary.read_bytes(), 0o755),
        "usr/share/doc/memory-engine/copyright": ((ROOT / "LICENSE").read_bytes(), 0o644),
        "usr/share/doc/memory-engine/changelog.gz": (compress((ROOT / "CHANGELOG.md").read_bytes()), 0o644),
    }
    for name, (path, mode) in FILES.items():
        files[path] = ((SOURCES / name).read_bytes(), mode)
    for name, page in release.pages.items():
        files[f"usr/share/man/man1/{name}.gz"] = (compress(page), 0o644)
    folders = {
        "bash": "usr/share/bash-completion/completions",
        "zsh": "usr/share/zsh/vendor-completions",
        "fish": "usr/share/fish/vendor_completions.d",
    }
    for shell, (name, script) in release.completions.items():
        files[f"{folders[shell]}/{name}"] = (script, 0o644)

    sums = "".join(f"{hashlib.md5(content).hexdigest()}  {path}\n" for path, (content, _) in sorted(files.items()))
    control = {
        "./control": (control_file(release, files).encode(), 0o644),
        "./conffiles": ("".join(f"{path}\n" for path in CONFIGURATION_FILES).encode(), 0o644),
        "./md5sums": (sums.encode(), 0o644),
    }
    for name in SCRIPTS:
        control[f"./{name}"] = ((SOURCES / name).read_bytes(), 0o755)
    parents = {f"./{parent}": 0o755 for path in files for parent in parent_folders(path)}
    data = {f"./{path}": entry for path, entry in files.items()}
    members = [
        ("debian-binary", b"2.0\n"),
        ("control.tar.gz", tar_gz(control, release.time)),
        ("data.tar.gz", tar_gz(data, release.time, parents)),
    ]
    return f"memory-engine_{deb_version(release)}_{release.target.deb}.deb", ar(members, release.time)


def deb_version(release):
    """Returns the version in Debian's notation, in which 0.2.0~rc.1 is before 0.2.0."""
    return release.version.replace("-", "~")


def parent_folders(path):
    parts = path.split("/")[:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]


def control_file(release, files):
    kilobytes = sum(-(-len(content) // 1024) for content, _ in files.values())
    major, minor = release.glibc
    return f"""Package: memory-engine
Version: {deb_version(release)}
Architecture: {release.target.deb}
Maintainer: The memory-engine authors <noreply@example.invalid>
Installed-Size: {kilobytes}
Depends: libc6 (>= {major}.{minor}), libgcc-s1
Recommends: ca-certificates, tzdata
Section: utils
Priority: optional
Homepage: {REPOSITORY}
Description: {SUMMARY}
 Stores what users say to a language model, and finds the few memories that
 help it now, in Chinese and in English. Everything is in one SQLite file or
 one Postgres database.
 .
 The package has the command memory, a systemd service for the server, which
 is not started by the installation, and a daily backup.
"""
