"""The last stage of the Dockerfile, and a clean root in which its commands run without Docker."""

import json
import os
import re
import shlex
import shutil
import subprocess

from project import ROOT, fail, require_tool

# Prepares the mounts as `docker run --read-only --tmpfs /tmp -v …:/data` does, and becomes the command.
ENTER = """
set -eu
root=$1 data=$2 folder=$3 owner=$4
shift 4
mount --bind "$root" "$root"
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount --bind "$data" "$root/data"
mount -o remount,bind,ro "$root"
if [ -n "$owner" ]; then
  exec setpriv --no-new-privs unshare --root="$root" --wd="$folder" --setuid="${owner%:*}" --setgid="${owner#*:}" "$@"
fi
exec setpriv --no-new-privs unshare --root="$root" --wd="$folder" "$@"
"""


class Stage:
    """The instructions of the last stage of a Dockerfile."""

    def __init__(self, path):
        text = re.sub(r"\\\n", " ", path.read_text())
        lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
        starts = [number for number, line in enumerate(lines) if line.startswith("FROM ")]
        instructions = [line.split(None, 1) for line in lines[starts[-1]:]]
        self.base = instructions[0][1]
        self.user, self.folder, self.environment = "0:0", "/", {}
        self.entry, self.arguments, self.health, self.copies, self.volumes = [], [], [], [], []
        for name, rest in instructions[1:]:
            match name:
                case "USER":
                    self.user = rest
                case "WORKDIR":
                    self.folder = rest
                case "ENV":
                    self.environment |= dict(part.split("=", 1) for part in shlex.split(rest))
                case "ENTRYPOINT":
                    self.entry = json.loads(rest)
                case "CMD":
                    self.arguments = json.loads(rest)
                case "HEALTHCHECK":
                    self.health = json.loads(rest.split(" CMD ", 1)[1])
                case "COPY":
                    self.copies.append(rest)
                case "VOLUME":
                    self.volumes = json.loads(rest)
                case "EXPOSE" | "STOPSIGNAL":
                    pass
                case _:
                    fail(f"Dockerfile: the instruction {name} is not known to scripts/check-image")


def assemble(binary, root):
    """Runs the build step of the Dockerfile that writes the files of the image. Returns their size in bytes."""
    subprocess.run([ROOT / "packaging/docker/assemble-root", binary, root], check=True)
    return sum(path.lstat().st_size for path in root.rglob("*") if path.is_file() and not path.is_symlink())


def works(*command):
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


class Isolation:
    """What this machine allows: mounts, and a change of the account."""

    def __init__(self):
        require_tool("unshare", "util-linux")
        require_tool("setpriv", "util-linux")
        is_root = os.geteuid() == 0
        self.has_mounts, self.changes_account = True, is_root
        if is_root and works("unshare", "--mount", "--propagation", "private", "mount", "-t", "tmpfs", "tmpfs", "/mnt"):
            self.prefix = ["unshare", "--mount", "--propagation", "private"]
        elif not is_root and works("unshare", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"):
            self.prefix = ["unshare", "--map-root-user", "--mount", "--propagation", "private"]
        elif is_root and works("unshare", "--root=/", "--setuid=10001", "--setgid=10001", "/bin/true"):
            self.has_mounts = False
        else:
            fail("this machine allows neither namespaces nor chroot; run the script as root, or where user namespaces "
                 "are enabled")

    def untested(self):
        """Returns what this machine does not allow to test."""
        missing = []
        if not self.has_mounts:
            missing.append("the read-only root (no mount namespaces)")
        if not self.changes_account:
            missing.append("the account 10001 (not root)")
        return missing

    def command(self, root, data, stage):
        """Returns the words that run a command in the root as the image would run it."""
        owner = stage.user if self.changes_account else ""
        if self.has_mounts:
            return [*self.prefix, "bash", "-c", ENTER, "enter", str(root), str(data), stage.folder, owner]
        user, group = stage.user.split(":")
        return ["setpriv", "--no-new-privs", "unshare", f"--root={root}", f"--wd={stage.folder}", f"--setuid={user}",
                f"--setgid={group}"]


def docker_works():
    return shutil.which("docker") is not None and works("docker", "info")
