"""The command `memory` of memory-engine. `python -m memory_engine_cli` runs it."""

import os
import sys
import sysconfig


def find_memory():
    """Returns the path of the binary that this package installed.

    Raises FileNotFoundError if it was removed.
    """
    name = "memory" + (sysconfig.get_config_var("EXE") or "")
    here = os.path.dirname(os.path.abspath(__file__))
    folders = [
        sysconfig.get_path("scripts"),
        # `pip install --user`, and `pip install --target`.
        sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user"))
        if sys.version_info >= (3, 10)
        else None,
        os.path.join(os.path.dirname(here), "bin"),
        os.path.dirname(sys.executable),
    ]
    for folder in folders:
        path = folder and os.path.join(folder, name)
        if path and os.path.isfile(path):
            return path
    raise FileNotFoundError("memory-engine-cli has no binary; install it again: pip install --force-reinstall")
