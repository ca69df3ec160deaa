"""The Homebrew formula, from the checksums of the archives."""

import pathlib
import re
import subprocess
import tempfile

from project import PACKAGING, REPOSITORY, TARGETS

TEMPLATE = PACKAGING / "homebrew" / "memory-engine.rb.in"
NAME = "memory-engine.rb"


def build(version, sums):
    """Returns the formula, or None if the archive of a platform is missing. `sums` maps file names to checksums."""
    values = {"VERSION": version, "REPOSITORY": REPOSITORY}
    for triple in TARGETS:
        values[f"SHA256_{triple}"] = sums.get(f"memory-{version}-{triple}.tar.gz")
    text = TEMPLATE.read_text()
    names = set(re.findall(r"@([A-Za-z0-9_-]+)@", text))
    if unknown := names - values.keys():
        raise ValueError(f"{TEMPLATE}: unknown placeholders: {', '.join(sorted(unknown))}")
    if any(values[name] is None for name in names):
        return None
    return re.sub(r"@([A-Za-z0-9_-]+)@", lambda match: values[match[1]], text)


# What the formula needs of Homebrew to run `post_install`, with a stand-in for the command.
HOMEBREW = """
require "json"
require "pathname"
class Formula
  def self.method_missing(*) = nil
  def self.test = nil
  def self.respond_to_missing?(*) = true
  def var = Pathname(ARGV[1])
  def bin = Pathname("/usr/bin")
end
module Utils
  def self.safe_popen_read(*words)
    raise words.inspect unless words.map(&:to_s)[1..] == %w[keys new service --json]
    '{"key":"mk-1","hash":"2b"}'
  end
end
load ARGV[0]
MemoryEngine.new.post_install
"""


def installation_faults(text):
    """Runs the installation of a formula with Ruby: for a first one, with another configuration, and with a store."""
    for existing in (None, "memory.toml", "memory.db"):
        with tempfile.TemporaryDirectory() as temporary:
            formula, folder = pathlib.Path(temporary, NAME), pathlib.Path(temporary, "var/memory-engine")
            formula.write_text(text)
            folder.mkdir(parents=True)
            if existing:
                (folder / existing).write_text("old")
            ran = subprocess.run(["ruby", "-e", HOMEBREW, formula, folder.parent], capture_output=True, text=True,
                                 check=False)
            if ran.returncode != 0:
                yield f"the formula's post_install: {ran.stderr}"
                continue
            written = {path.name: path.read_text() for path in folder.iterdir()}
            first = {"key": "mk-1\n", "memory.toml": '[[keys]]\nname = "service"\nhash = "2b"\n'}
            if written != ({existing: "old"} if existing else first):
                yield f"the formula's post_install with {existing} writes {written}"
            if folder.stat().st_mode & 0o777 != 0o700:
                yield "other accounts can read the folder of the formula's service"
