"""The version, the platform and the time stamp of a release, and the facts about its binary."""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
ARTIFACTS = ROOT / "target" / "release-artifacts"
REPOSITORY = "https://github.com/memory-engine/memory-engine"
SUMMARY = "Long-term memory of conversations: the command memory, a server and an MCP server"
# The first time stamp that a zip file can hold.
EARLIEST_TIME = 315532800


class Target:
    """A platform, and its names in the package formats."""

    def __init__(self, triple, deb, npm, wheel):
        self.triple = triple
        self.deb = deb
        self.npm = npm
        self.wheel = wheel
        self.executable = "memory.exe" if "windows" in triple else "memory"
        self.is_linux = "linux" in triple


TARGETS = {
    target.triple: target
    for target in [
        Target("x86_64-unknown-linux-gnu", "amd64", "linux-x64", "manylinux_{glibc}_x86_64"),
        Target("aarch64-unknown-linux-gnu", "arm64", "linux-arm64", "manylinux_{glibc}_aarch64"),
        Target("x86_64-apple-darwin", None, "darwin-x64", "macosx_11_0_x86_64"),
        Target("aarch64-apple-darwin", None, "darwin-arm64", "macosx_11_0_arm64"),
        Target("x86_64-pc-windows-msvc", None, "win32-x64", "win_amd64"),
    ]
}


def fail(message):
    sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {message}")


def version():
    return tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


def python_version():
    """Returns the version in the notation of PyPI: 0.2.0-rc.1 is 0.2.0rc1."""
    return re.sub(r"-(alpha|beta|rc)\.?", lambda m: {"alpha": "a", "beta": "b", "rc": "rc"}[m[1]], version())


def time_stamp():
    """Returns the time of all files in the packages: SOURCE_DATE_EPOCH, or that of the last commit."""
    if value := os.environ.get("SOURCE_DATE_EPOCH"):
        return max(int(value), EARLIEST_TIME)
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    try:
        return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    except (OSError, ValueError, subprocess.CalledProcessError):
        return EARLIEST_TIME


def host_target():
    machine = {"arm64": "aarch64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine())
    system = {"Linux": "unknown-linux-gnu", "Darwin": "apple-darwin", "Windows": "pc-windows-msvc"}
    triple = f"{machine}-{system.get(platform.system(), platform.system())}"
    if triple not in TARGETS:
        fail(f"no packages are made for {triple}; known platforms: {', '.join(TARGETS)}")
    return TARGETS[triple]


def require_tool(name, package):
    if not shutil.which(name):
        fail(f"{name} is missing; install {package}")


def stripped(binary, target, folder):
    """Copies a binary into a folder and removes its symbols. Returns the path of the copy."""
    copy = pathlib.Path(folder) / target.executable
    shutil.copyfile(binary, copy)
    copy.chmod(0o755)
    if "windows" not in target.triple:
        require_tool("strip", "binutils, which gcc needs anyway")
        subprocess.run(["strip", str(copy)], check=True)
    return copy


def required_glibc(binary):
    """Returns the newest version of glibc whose symbols a binary names, as (2, 34)."""
    data = binary.read_bytes()
    versions = {(int(m[1]), int(m[2])) for m in re.finditer(rb"GLIBC_(\d+)\.(\d+)", data)}
    return max(versions, default=(2, 17))


class Release:
    """The inputs of the packages: a stripped binary, and the files that it prints itself."""

    def __init__(self, binary, target, folder):
        folder = pathlib.Path(folder)
        self.version = version()
        self.target = target
        self.time = time_stamp()
        self.binary = stripped(binary, target, folder)
        self.glibc = required_glibc(self.binary) if target.is_linux else None
        shown = self.run("--version").strip()
        if shown != f"memory {self.version}":
            fail(f"{binary} is '{shown}', but Cargo.toml has the version {self.version}; build it again")
        self.run("man", str(folder / "man1"))
        self.pages = {path.name: path.read_bytes() for path in sorted((folder / "man1").iterdir())}
        names = {"bash": "memory", "zsh": "_memory", "fish": "memory.fish"}
        self.completions = {shell: (name, self.run("completions", shell).encode()) for shell, name in names.items()}

    def run(self, *arguments):
        """Runs the binary without the variables of this machine. Returns its output."""
        environment = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
        with tempfile.TemporaryDirectory() as folder:
            command = [str(self.binary), *arguments]
            result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
        if result.returncode != 0:
            fail(f"memory {' '.join(arguments)}: {result.stderr.decode()}")
        return result.stdout.decode()
