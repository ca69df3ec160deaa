"""Checks of the installed Debian package: its files, its service and its backup, without systemd."""

import configparser
import gzip
import os
import pathlib
import re
import shlex
import shutil
import subprocess

from deb import CONFIGURATION_FILES
from exercise import expect, request
from project import PACKAGING, version

# The file with the key of the server: variables that systemd reads as root.
KEY_FILE = "etc/memory-engine/key"
HARDENING = {
    "NoNewPrivileges": "yes", "ProtectSystem": "strict", "ProtectHome": "yes", "PrivateTmp": "yes",
    "PrivateDevices": "yes", "MemoryDenyWriteExecute": "yes", "CapabilityBoundingSet": "", "UMask": "0077",
}


def check_dependencies(package):
    """Compares the libc6 that the package needs with that of this machine, on which the binary is run."""
    field = subprocess.run(["dpkg-deb", "--field", package, "Depends"], check=True, capture_output=True, text=True)
    needed = re.search(r"libc6 \(>= ([0-9.]+)\)", field.stdout)
    expect(needed and "libgcc-s1" in field.stdout, f"Depends: {field.stdout}")
    here = subprocess.run(["getconf", "GNU_LIBC_VERSION"], check=True, capture_output=True, text=True).stdout.split()[1]
    compared = subprocess.run(["dpkg", "--compare-versions", here, "ge", needed[1]], check=False)
    expect(compared.returncode == 0, f"the package needs libc6 {needed[1]}; this machine has {here}")


def check_installation(root):
    for path, mode in {
        KEY_FILE: 0o600, "usr/lib/memory-engine/make-key": 0o755,
        "usr/bin/memory": 0o755, "usr/lib/memory-engine/backup": 0o755, "etc/default/memory-engine": 0o600,
        "usr/lib/systemd/system/memory-engine.service": 0o644, "usr/share/man/man1/memory-serve.1.gz": 0o644,
        "usr/share/bash-completion/completions/memory": 0o644, "usr/share/zsh/vendor-completions/_memory": 0o644,
        "usr/share/fish/vendor_completions.d/memory.fish": 0o644, "usr/lib/systemd/system": 0o755,
    }.items():
        status = (root / path).stat()
        expect(status.st_mode & 0o7777 == mode, f"{path} has the mode {status.st_mode & 0o7777:o} instead of {mode:o}")
    status = (root / "var/lib/dpkg/status").read_text()
    expect("Status: install ok installed" in status, f"dpkg: {status}")
    for path in CONFIGURATION_FILES:
        expect(f"\n {path} " in status, f"{path} is not a configuration file of the package")
    page = gzip.decompress((root / "usr/share/man/man1/memory.1.gz").read_bytes()).decode()
    expect(".TH memory 1" in page and version() in page, "memory.1 is not the page of this version")
    if shutil.which("systemd-sysusers"):
        passwd = (root / "etc/passwd").read_text()
        expect("memory-engine:" in passwd, f"the installation made no account: {passwd}")
    else:
        print("deb: systemd-sysusers is missing, so the account was not checked")


def read_unit(path):
    """Returns the sections of a unit. Repeated keys keep their last value."""
    parser = configparser.RawConfigParser(strict=False, interpolation=None)
    parser.optionxform = str
    parser.read_string(path.read_text())
    return parser


def environment_file(path):
    lines = (line.strip() for line in path.read_text().splitlines())
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def service_variables(root, name):
    """Returns the variables that systemd gives to a service. A missing file is a Failure, as for systemd."""
    variables = {}
    text = (root / "usr/lib/systemd/system" / name).read_text()
    for path in re.findall(r"^EnvironmentFile=(.*)$", text, re.MULTILINE):
        expect((root / path.lstrip("/")).is_file(), f"{name}: no {path}")
        variables |= environment_file(root / path.lstrip("/"))
    return variables


def check_service(root, memory):
    """Runs the command of the unit with its configuration and its variables. The paths are those in the root."""
    units = root / "usr/lib/systemd/system"
    for name in ("memory-engine.service", "memory-engine-backup.service"):
        service = read_unit(units / name)["Service"]
        for key, value in HARDENING.items():
            expect(service.get(key) == value, f"{name}: {key} is {service.get(key)} instead of {value}")
        program = shlex.split(service["ExecStart"])[0]
        expect(os.access(f"{root}{program}", os.X_OK), f"{name}: {program} is not in the package")
    verify_with_systemd(units)
    service = read_unit(units / "memory-engine.service")["Service"]
    expect(shlex.split(service["ExecStart"])[1:] == ["serve"], "the service does not run memory serve")
    name, configuration = service["Environment"].split("=", 1)
    expect(name == "MEMORY_CONFIG", f"the service sets {name}")
    variables = service_variables(root, "memory-engine.service")
    state = root / "var/lib" / service["StateDirectory"]
    state.mkdir(parents=True)
    expect(variables["MEMORY_DB"] == f"/var/lib/{service['StateDirectory']}/memory.db", "the database is elsewhere")
    variables |= {"MEMORY_CONFIG": f"{root}{configuration}", "MEMORY_DB": f"{root}{variables['MEMORY_DB']}"}
    settings = memory.run("config", "show", **variables)
    expect("127.0.0.1:8765" in settings, f"the server would not listen on the loopback:\n{settings}")
    with memory.server(**variables) as (address, _):
        status, text = request(f"{address}/ready")
        expect(status == 200, f"GET /ready: {status} {text}")
        # Other accounts of the machine can reach the port.
        for path in ("memories?user_id=lin", "metrics", "api/audit"):
            expect(request(f"{address}/{path}")[0] == 401, f"GET /{path} needs no key")
        status, text = request(f"{address}/memories?user_id=lin", key=variables["MEMORY_TOKEN"])
        expect(status == 200, f"GET /memories with the key of the installation: {status} {text}")
    expect((state / "memory.db").is_file(), "the service made no database in its state directory")


def check_key(root, printed, install):
    """Checks the key of the first installation, and installations over versions without a key."""
    file = root / KEY_FILE
    key = environment_file(file)["MEMORY_TOKEN"]
    expect(re.fullmatch(r"mk-[0-9a-f]{64}", key), f"the installation made the key {key}")
    expect("/etc/memory-engine/key" in printed and key not in printed, f"the installation prints: {printed}")
    expect("WARNING" not in install() and environment_file(file)["MEMORY_TOKEN"] == key, "an upgrade changed the key")
    refused = make_key(root)
    expect(refused.returncode == 1 and "already" in refused.stderr, f"make-key with a key: {refused}")
    for path, setting in (("etc/memory-engine/memory.toml", "[[keys]]"),
                          ("etc/default/memory-engine", "MEMORY_TOKEN=x"), (None, "")):
        file.unlink()
        text = (root / path).read_text() if path else ""
        if path:
            (root / path).write_text(f"{text}{setting}\n")
        warned = "WARNING: the server has no key" in install()
        if path:
            (root / path).write_text(text)
        expect(warned == (path is None), f"an upgrade with '{setting}' in {path}: warned is {warned}")
        expect("MEMORY_TOKEN" not in environment_file(file), "an upgrade refuses the clients of a server without a key")
        expect(file.stat().st_mode & 0o777 == 0o600, f"{KEY_FILE} has the mode {file.stat().st_mode & 0o777:o}")
    expect(make_key(root).returncode == 0, "make-key does not write a key after an upgrade")
    expect(environment_file(file)["MEMORY_TOKEN"] not in (key, ""), "make-key writes no new key")
    expect(file.stat().st_mode & 0o777 == 0o600, f"{KEY_FILE} has the mode {file.stat().st_mode & 0o777:o}")


def make_key(root):
    environment = {"PATH": os.environ["PATH"], "DPKG_ROOT": str(root)}
    return subprocess.run([root / "usr/lib/memory-engine/make-key"], env=environment, cwd=root, capture_output=True,
                          text=True, check=False)


def verify_with_systemd(units):
    """Lets systemd check the units, where it is installed. It needs the program of the unit, which is elsewhere."""
    if not shutil.which("systemd-analyze"):
        print("deb: systemd-analyze is missing, so systemd did not check the units")
        return
    names = [units / name for name in ("memory-engine.service", "memory-engine-backup.service",
                                       "memory-engine-backup.timer")]
    command = ["systemd-analyze", "verify", "--man=no", *map(str, names)]
    printed = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    faults = [line for line in printed.splitlines() if "memory-engine" in line and "is not executable" not in line]
    expect(not faults, "systemd-analyze verify: " + "\n".join(faults))


def check_backup(root, memory):
    """Runs the backup of the package twice, and restores its file."""
    variables = environment_file(root / "etc/default/memory-engine")
    folder = pathlib.Path(f"{root}{variables['BACKUP_DIR']}")
    variables |= {"MEMORY_DB": f"{root}{variables['MEMORY_DB']}", "BACKUP_DIR": str(folder), "BACKUP_KEEP": "3",
                  "BACKUP_COMMAND": memory.command[0]}
    memory.run("audit", "start", **variables)
    memory.run("add", "The blue kettle leaks", "--user", "lin", **variables)
    memory.run("add", "钥匙在鞋柜里", "--user", "mei", "--tenant", "acme", **variables)
    memory.run("synonyms", "add", "kettle", "boiler", **variables)
    folder.mkdir()
    # An old backup, exports by earlier versions of the script, and files that are not of the script.
    old = ["memory-20200103T000000Z.backup", "default-20200101T000000Z.jsonl.gz", "default-20200102T000000Z.jsonl.gz"]
    others = {"memory-keep.txt", "default-b-20200101T000000Z.jsonl.gz", "notes-20200101T000000Z.backup"}
    for name in [*old, *others]:
        (folder / name).touch()
    # What a killed backup leaves.
    (folder / ".new.backup").write_text("half")
    script = root / "usr/lib/memory-engine/backup"
    run = lambda: subprocess.run(["sh", script], env=memory.environment | variables, check=True, capture_output=True)
    run()
    kept = {path.name for path in folder.iterdir()} - others
    new = kept - set(old)
    expect(kept == {old[0], old[2], *new} and len(new) == 1, f"the backup kept {kept}")
    backup = folder / new.pop()
    expect(re.fullmatch(r"memory-\d{8}T\d{6}Z\.backup", backup.name), f"the backup is {backup.name}")
    variables["BACKUP_KEEP"] = "1"
    backup.rename(folder / "memory-20200104T000000Z.backup")
    run()
    names = {path.name for path in folder.iterdir()}
    expect(len(names - others) == 1 and others < names, f"with BACKUP_KEEP=1 the backup kept {names}")
    check_restore(memory, folder / (names - others).pop())
    broken = memory.environment | variables | {"BACKUP_KEEP": "0"}
    refused = subprocess.run(["sh", script], env=broken, capture_output=True, text=True, check=False)
    expect(refused.returncode == 1 and "BACKUP_KEEP" in refused.stderr, f"BACKUP_KEEP=0: {refused}")


def check_restore(memory, backup):
    """Restores a backup: all tenants, synonyms and the audit log."""
    expect(backup.stat().st_mode & 0o077 == 0, "others can read the backup")
    memory.run("restore-backup", str(backup), "--db", "restored.db")
    found = memory.run("search", "blue kettle", "--user", "lin", "--db", "restored.db")
    expect("The blue kettle leaks" in found, f"the restored store lacks the memory:\n{found}")
    found = memory.run("search", "钥匙", "--user", "mei", "--tenant", "acme", "--db", "restored.db")
    expect("钥匙在鞋柜里" in found, f"the restored store lacks another tenant:\n{found}")
    synonyms = memory.run("synonyms", "list", "--db", "restored.db")
    expect("boiler" in synonyms, f"the restored store lacks the synonyms:\n{synonyms}")
    log = memory.run("audit", "list", "--db", "restored.db")
    expect("memory backup" in log, f"the restored store lacks the audit log:\n{log}")


def packaged_units():
    return sorted((PACKAGING / "deb").glob("*.service")) + sorted((PACKAGING / "deb").glob("*.timer"))
