"""Runs the binary with the arguments of this process."""

import os
import subprocess
import sys

from memory_engine_cli import find_memory


def main():
    command = [find_memory(), *sys.argv[1:]]
    if os.name == "nt":
        sys.exit(subprocess.call(command))
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
