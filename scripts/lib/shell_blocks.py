"""Reads the commands of a Markdown page, in the order in which a reader meets them."""

import dataclasses
import re

FENCE = re.compile(r"^(\s*)(```+)\s*([\w,+-]*)\s*$")
# Other names of a block of commands. One name is enough, and no command is overlooked.
OTHER_NAMES = {"bash", "shell", "console", "zsh", "shell-session"}
# Words that a command begins with. In a block without a language they would be a command that is not run.
PROGRAMS = re.compile(r"^\s*(\$ |(sudo|memory|npx|npm|uvx|uv|pip|pipx|cargo|docker|podman|brew|curl|wget|apt|apt-get|"
                      r"dpkg|helm|kubectl|tar|sha256sum|git|systemctl|sh|\./scripts/\w+)\s)")
HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?")


class PageError(Exception):
    """A block of the page cannot be read."""


@dataclasses.dataclass
class Step:
    """A command (language "sh") or a Rust program (language "rust"), with its place.

    `block` is the line where its code block begins.
    """

    page: str
    block: int
    line: int
    section: str
    language: str
    text: str

    @property
    def place(self):
        return f"{self.page}:{self.line}"


def without_comment(line):
    """Removes a comment that stands outside of quotes."""
    quote = ""
    for index, character in enumerate(line):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "#" and (index == 0 or line[index - 1].isspace()):
            return line[:index].rstrip()
    return line.rstrip()


def commands(lines, first_line):
    """Joins continued lines and here-documents. Returns pairs of a line number and a command."""
    found, index = [], 0
    while index < len(lines):
        number, text = first_line + index, without_comment(lines[index])
        while text.endswith("\\") and index + 1 < len(lines):
            index += 1
            text += "\n" + without_comment(lines[index])
        if heredoc := HEREDOC.search(text):
            while index + 1 < len(lines):
                index += 1
                text += "\n" + lines[index]
                if lines[index].strip() == heredoc[1]:
                    break
            else:
                raise PageError(f"line {number}: the here-document has no line {heredoc[1]}")
        if text.strip():
            found.append((number, text.strip()))
        index += 1
    return found


def read(page, text):
    """Returns the steps of a page. Raises PageError for a block whose commands would be overlooked."""
    steps, section, lines = [], "", text.splitlines()
    index = 0
    while index < len(lines):
        fence = FENCE.match(lines[index])
        if not fence:
            if lines[index].startswith("## "):
                section = lines[index][3:].strip()
            index += 1
            continue
        indent, marks, language = fence.groups()
        first, block, index = index + 2, [], index + 1
        while index < len(lines) and lines[index].strip() != marks:
            block.append(lines[index].removeprefix(indent))
            index += 1
        if index == len(lines):
            raise PageError(f"{page}:{first - 1}: the block does not end")
        index += 1
        if language in OTHER_NAMES:
            raise PageError(f"{page}:{first - 1}: a block of commands is named {language}; name it sh")
        if language in ("", "text") and any(PROGRAMS.match(line) for line in block):
            raise PageError(f"{page}:{first - 1}: a block has commands, but is not named sh")
        if language == "sh":
            try:
                found = commands(block, first)
                steps += [Step(page, first - 1, number, section, "sh", command) for number, command in found]
            except PageError as error:
                raise PageError(f"{page}: {error}") from error
        elif language.split(",")[0] == "rust":
            steps.append(Step(page, first - 1, first, section, "rust", "\n".join(block) + "\n"))
    return steps
