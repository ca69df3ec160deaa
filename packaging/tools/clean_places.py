"""Installs the packages into clean places. Each function yields a label and the installed command."""

import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tarfile

import releases
import units
from exercise import Failure, Installed, expect
from project import ROOT, host_target, require_tool, version

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
TOOLS = ROOT / "target" / "tools"
# The installer of `uvx`: a program in a wheel, which is installed into target/tools.
UV = "uv==0.13.9"
NEEDED = {"installer": [("curl", "curl"), ("wget", "GNU wget"), ("openssl", "openssl")],
          "deb": [("dpkg", "dpkg"), ("gzip", "gzip")], "npm": [("node", "Node 20"), ("npm", "npm")]}


def require_tools(names):
    for name in names:
        for tool, package in NEEDED.get(name, []):
            require_tool(tool, package)


def run(command, **options):
    """Runs a command, and returns what it prints."""
    options = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "check": False} | options
    result = subprocess.run([str(part) for part in command], **options)
    if result.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))}: {result.stdout}{result.stderr or ''}")
    return result.stdout


def only(folder, pattern):
    found = sorted(folder.glob(pattern))
    expect(len(found) == 1, f"{folder} has {len(found)} files {pattern} instead of one")
    return found[0]


def make_removable(folder):
    """Makes every folder writable, so that it can be removed."""
    for path in folder.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(path.stat().st_mode | stat.S_IRWXU)


def archive(packages, place):
    with tarfile.open(only(packages, "memory-*.tar.gz")) as file:
        file.extractall(place, filter="data")
    folder = only(place, "memory-*")
    expect((folder / "man/man1/memory-serve.1").is_file(), "the archive lacks manual pages")
    yield "archive", Installed([folder / "memory"], place / "work", SYSTEM_PATH)


def installer(packages, place):
    script = ROOT / "packaging" / "install.sh"
    home = place / "home"
    home.mkdir()
    environment = {"PATH": SYSTEM_PATH, "HOME": str(home)}
    printed = run(["sh", script, "--from", packages], env=environment, cwd=place)
    binary = home / ".local/bin/memory"
    expect(printed.endswith(f"Installed memory {version()}: {binary}\n"), f"install.sh prints: {printed}")

    # A file that differs from its checksum is refused, and an installed version stays.
    damaged = place / "damaged"
    shutil.copytree(packages, damaged)
    with open(only(damaged, "memory-*.tar.gz"), "ab") as file:
        file.write(b"!")
    command = ["sh", script, "--from", damaged, "--prefix", place / "other"]
    refused = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    expect(refused.returncode != 0 and "checksum" in refused.stderr, f"a damaged archive: {refused}")
    expect(not (place / "other").exists(), "install.sh installed a damaged archive")
    command = ["sh", script, "--from", packages, "--version", "9.9.9"]
    missing = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    expect(missing.returncode != 0 and "9.9.9" in missing.stderr, f"a missing version: {missing}")
    releases.check_downloads(script, packages, place, SYSTEM_PATH)
    releases.check_provenance(script, packages, place, SYSTEM_PATH)
    yield "installer", Installed([binary], place / "work", SYSTEM_PATH)


def deb(packages, place):
    package = only(packages, "*.deb")
    root = place / "root"
    for folder in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "etc", "usr/bin"):
        (root / folder).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    # dpkg gives the files to root; without that account, a user namespace stands in for it.
    prefix = [] if os.geteuid() == 0 else ["unshare", "--map-root-user"]
    dpkg = [*prefix, "dpkg", f"--root={root}", "--log=/dev/null", "--force-script-chrootless"]
    # The root has no libc6: that the dependency is right is compared with this machine.
    units.check_dependencies(package)
    environment = {"PATH": SYSTEM_PATH, "HOME": str(place), "LC_ALL": "C"}
    merged = {"env": environment, "cwd": place, "capture_output": False, "stdout": subprocess.PIPE,
              "stderr": subprocess.STDOUT}
    install = lambda: run([*dpkg, "--force-depends", "--install", package], **merged)
    printed = install()
    units.check_installation(root)
    units.check_key(root, printed, install)
    memory = Installed([root / "usr/bin/memory"], place / "work", SYSTEM_PATH)
    units.check_service(root, memory)
    units.check_backup(root, memory)
    yield "deb", memory

    configuration = root / "etc/memory-engine/memory.toml"
    run([*dpkg, "--remove", "memory-engine"], env=environment, cwd=place)
    expect(not (root / "usr/bin/memory").exists() and configuration.exists(), "removal is incomplete, or purges")
    run([*dpkg, "--purge", "memory-engine"], env=environment, cwd=place)
    expect(not configuration.parent.exists(), "purging keeps the configuration, or the key")


def npm(packages, place):
    launcher = only(packages, "memory-engine-cli-[0-9]*.tgz")
    binary = only(packages, f"memory-engine-cli-{host_target().npm}-*.tgz")
    project, cache = place / "project", place / "cache"
    project.mkdir()
    (project / "package.json").write_text('{"name": "clean", "version": "1.0.0", "private": true}\n')
    folders = {str(pathlib.Path(shutil.which(tool)).parent) for tool in ("node", "npm")}
    path = ":".join([*sorted(folders), SYSTEM_PATH])
    environment = {"PATH": path, "HOME": str(place), "npm_config_cache": str(cache), "npm_config_offline": "true",
                   "npm_config_audit": "false", "npm_config_fund": "false", "npm_config_update_notifier": "false"}
    run(["npm", "install", "--no-save", "--ignore-scripts", launcher, binary], cwd=project, env=environment)
    installed = project / "node_modules/.bin"
    expect((installed / "memory-engine-cli").exists(), "npm made no command memory-engine-cli")
    yield "npm install", Installed([installed / "memory"], place / "work", path)

    command = ["npm", "exec", "--yes", f"--package={launcher}", f"--package={binary}", "--", "memory-engine-cli"]
    printed = run([*command, "demo"], cwd=place, env=environment)
    expect("Next steps" in printed, f"npm exec: {printed}")
    print("npm exec: demo works")

    alone = place / "alone"
    shutil.copytree(project / "node_modules/memory-engine-cli", alone)
    missing = subprocess.run(["node", alone / "bin/memory.js"], env=environment, capture_output=True, text=True,
                             check=False)
    expect(missing.returncode == 1 and "is not installed" in missing.stderr, f"without a binary: {missing}")


def wheel(packages, place):
    file = only(packages, "*.whl")
    environment = {"PATH": SYSTEM_PATH, "HOME": str(place), "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    # Without the packages and the settings of the interpreter that runs this script.
    run([sys.executable, "-m", "venv", place / "venv"], env=environment, cwd=place)
    folder = place / "venv/bin"
    run([folder / "python", "-m", "pip", "install", file], env=environment, cwd=place)
    yield "wheel", Installed([folder / "memory"], place / "work", SYSTEM_PATH)
    module = Installed([folder / "python", "-m", "memory_engine_cli"], place / "work", SYSTEM_PATH)
    expect(module.run("--version") == f"memory {version()}\n", "python -m memory_engine_cli does not work")

    uv = shutil.which("uv") or fetched_uv(place)
    if uv is None:
        print(f"uvx: not tested, because pip cannot install {UV}")
        return
    environment = {"PATH": SYSTEM_PATH, "HOME": str(place), "UV_OFFLINE": "1", "UV_CACHE_DIR": str(place / "uv"),
                   "UV_PYTHON_DOWNLOADS": "never", "UV_NO_CONFIG": "1"}
    command = [uv, "tool", "run", "--python", sys.executable, "--from", file, "memory-engine-cli", "demo"]
    printed = run(command, env=environment, cwd=place)
    expect("Next steps" in printed, f"uvx: {printed}")
    print("uvx: demo works")


def fetched_uv(place):
    """Returns the path of uv in target/tools, where it is installed at the first run. None if it cannot be fetched."""
    folder = TOOLS / UV
    uv = folder / "bin/uv"
    if not uv.exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", "--target", folder, UV]
        subprocess.run(command, cwd=place, capture_output=True, check=False)
    return uv if uv.exists() else None
