"""Writes the start pages of the documentation site, and copies the highest version to `latest`.

Called by scripts/site with the folder of the site and the version that was built.
"""

import html
import pathlib
import re
import shutil
import sys

SUMMARY = "Long-term memory for applications that talk with a language model."
START_CRATES = [
    ("memory_engine", "the engine, for Rust programs"),
    ("memory_engine_companion", "companions"),
    ("memory_engine_story", "branching stories"),
    ("memory_engine_evidence", "evidence for analysis pipelines"),
    ("memory_engine_server", "the server, as a library"),
    ("memory_engine_conformance", "tests for your own backend"),
]
STYLE = "body{font:16px/1.6 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem}"


def page(title, body):
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def link(target, text, note=""):
    note = f" – {html.escape(note)}" if note else ""
    return f'<li><a href="{html.escape(target)}">{html.escape(text)}</a>{note}</li>'


def order(version):
    """Returns a sort key: 0.10.0 is above 0.9.0, and 1.0.0 above 1.0.0-rc.1."""
    numbers, _, pre = version.partition("-")
    parts = [(not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in pre.split(".")]
    return [int(number) for number in numbers.split(".")], not pre, parts


def versions(site):
    names = [entry.name for entry in site.iterdir() if entry.is_dir()]
    return sorted((name for name in names if re.match(r"^\d+\.\d+\.\d+", name)), key=order, reverse=True)


def api_page(folder, version):
    """Writes the list of the crates, to which the help of rustdoc links."""
    names = sorted(page.parent.name for page in (folder / "api").glob("*/index.html"))
    crates = "\n".join(link(f"{name}/index.html", name) for name in names if name not in ("src", "static.files"))
    body = f"<h1>Crates of memory-engine {html.escape(version)}</h1>\n<ul>\n{crates}\n</ul>"
    (folder / "api" / "index.html").write_text(page(f"Crates of memory-engine {version}", body), encoding="utf-8")


def version_page(folder, version):
    crates = [link(f"api/{name}/index.html", name, note) for name, note in START_CRATES
              if (folder / "api" / name / "index.html").exists()]
    if not crates:
        sys.exit(f"scripts/site: {folder}/api has none of the crates {', '.join(name for name, _ in START_CRATES)}")
    guide = link("book/index.html", "The book", "guide, reference and design")
    body = (
        f"<h1>memory-engine {html.escape(version)}</h1>\n<p>{SUMMARY}</p>\n<ul>\n{guide}\n</ul>\n"
        "<h2>API documentation</h2>\n<ul>\n" + "\n".join(crates) + "\n</ul>\n"
        '<p><a href="api/index.html">All crates</a></p>\n'
        '<p><a href="../index.html">All versions</a></p>'
    )
    (folder / "index.html").write_text(page(f"memory-engine {version}", body), encoding="utf-8")


def main():
    site, built = pathlib.Path(sys.argv[1]), sys.argv[2]
    api_page(site / built, built)
    version_page(site / built, built)
    found = versions(site)
    latest = site / "latest"
    shutil.rmtree(latest, ignore_errors=True)
    shutil.copytree(site / found[0], latest)
    entries = [link("latest/index.html", "latest", found[0])]
    entries += [link(f"{name}/index.html", name) for name in found]
    body = f"<h1>memory-engine</h1>\n<p>{SUMMARY}</p>\n<h2>Versions</h2>\n<ul>\n" + "\n".join(entries) + "\n</ul>"
    (site / "index.html").write_text(page("memory-engine", body), encoding="utf-8")
    # Without it, GitHub Pages leaves out files whose names begin with an underscore.
    (site / ".nojekyll").write_text("", encoding="utf-8")


if __name__ == "__main__":
    main()
