"""The Python wheel: the binary as the script `memory`, and a module that starts it."""

import base64
import hashlib

from archive import zip_file
from project import PACKAGING, REPOSITORY, ROOT, SUMMARY, python_version

NAME = "memory_engine_cli"


def build(release):
    """Returns the file name and the content of the wheel."""
    version = python_version()
    glibc = "_".join(map(str, release.glibc)) if release.glibc else ""
    tag = f"py3-none-{release.target.wheel.format(glibc=glibc)}"
    info = f"{NAME}-{version}.dist-info"
    sources = PACKAGING / "pypi"
    metadata = f"""Metadata-Version: 2.1
Name: memory-engine-cli
Version: {version}
Summary: {SUMMARY}
Home-page: {REPOSITORY}
License: MIT
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{(sources / "README.md").read_text()}"""
    wheel = f"Wheel-Version: 1.0\nGenerator: memory-engine\nRoot-Is-Purelib: false\nTag: {tag}\n"
    scripts = "[console_scripts]\nmemory-engine-cli = memory_engine_cli.__main__:main\n"
    files = {
        f"{NAME}/__init__.py": ((sources / "__init__.py").read_bytes(), 0o644),
        f"{NAME}/__main__.py": ((sources / "__main__.py").read_bytes(), 0o644),
        f"{NAME}-{version}.data/scripts/{release.target.executable}": (release.binary.read_bytes(), 0o755),
        f"{info}/LICENSE": ((ROOT / "LICENSE").read_bytes(), 0o644),
        f"{info}/METADATA": (metadata.encode(), 0o644),
        f"{info}/WHEEL": (wheel.encode(), 0o644),
        f"{info}/entry_points.txt": (scripts.encode(), 0o644),
    }
    record = "".join(f"{path},{digest(content)},{len(content)}\n" for path, (content, _) in files.items())
    files[f"{info}/RECORD"] = (f"{record}{info}/RECORD,,\n".encode(), 0o644)
    return f"{NAME}-{version}-{tag}.whl", zip_file(files, release.time)


def digest(content):
    value = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"sha256={value}"
