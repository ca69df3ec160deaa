"""Reads YAML files with PyYAML, which is installed into target/tools if this interpreter lacks it."""

import subprocess
import sys

from project import ROOT, fail

PACKAGE = "PyYAML==6.0.3"
FOLDER = ROOT / "target" / "tools" / PACKAGE

try:
    import yaml
except ImportError:
    if not FOLDER.exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
        if subprocess.run([*command, "--target", str(FOLDER), PACKAGE], check=False).returncode != 0:
            fail(f"pip cannot install {PACKAGE}; install it, or PyYAML for {sys.executable}")
    sys.path.insert(0, str(FOLDER))
    import yaml


def read(path):
    """Returns the documents of a file.

    Raises yaml.YAMLError if it is not YAML.
    """
    return list(yaml.safe_load_all(path.read_text()))


YAMLError = yaml.YAMLError
