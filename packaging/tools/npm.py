"""The npm packages: one with the launcher, and one for each platform with the binary, as an optional dependency."""

import json

from archive import tar_gz
from project import PACKAGING, REPOSITORY, ROOT, SUMMARY, TARGETS

NAME = "memory-engine-cli"


def metadata(version, name, description, **fields):
    common = {
        "name": name,
        "version": version,
        "description": description,
        "license": "MIT",
        "homepage": REPOSITORY,
        "repository": {"type": "git", "url": f"git+{REPOSITORY}.git"},
    }
    return (json.dumps(common | fields, indent=2, ensure_ascii=False) + "\n").encode()


def pack(files, time):
    """Returns the tarball of a package, as `npm pack` names its paths."""
    return tar_gz({f"package/{path}": entry for path, entry in files.items()}, time)


def build_launcher(version, time):
    """Returns the file name and the content of the launcher, which is the same on every platform."""
    dependencies = {f"{NAME}-{target.npm}": version for target in TARGETS.values()}
    fields = {
        # The MCP registry accepts server.json only if the package names the server.
        "mcpName": json.loads((ROOT / "server.json").read_text())["name"],
        "keywords": ["memory", "llm", "agents", "mcp", "retrieval"],
        "bin": {"memory": "bin/memory.js", NAME: "bin/memory.js"},
        "files": ["bin"],
        "engines": {"node": ">=18"},
        "optionalDependencies": dependencies,
    }
    sources = PACKAGING / "npm"
    files = {
        "package.json": (metadata(version, NAME, SUMMARY, **fields), 0o644),
        "README.md": ((sources / "README.md").read_bytes(), 0o644),
        "LICENSE": ((ROOT / "LICENSE").read_bytes(), 0o644),
        "bin/memory.js": ((sources / "memory.js").read_bytes(), 0o755),
    }
    return f"{NAME}-{version}.tgz", pack(files, time)


def build_platform(release):
    """Returns the file name and the content of the package with the binary."""
    target = release.target
    system, processor = target.npm.split("-")
    fields = {"os": [system], "cpu": [processor], "files": ["bin"], "preferUnplugged": True}
    if target.is_linux:
        fields["libc"] = ["glibc"]
    name = f"{NAME}-{target.npm}"
    description = f"The binary of {NAME} for {target.npm}"
    files = {
        "package.json": (metadata(release.version, name, description, **fields), 0o644),
        "README.md": (f"# {name}\n\n{description}. Install `{NAME}` instead.\n".encode(), 0o644),
        "LICENSE": ((ROOT / "LICENSE").read_bytes(), 0o644),
        f"bin/{target.executable}": (release.binary.read_bytes(), 0o755),
    }
    return f"{name}-{release.version}.tgz", pack(files, release.time)
