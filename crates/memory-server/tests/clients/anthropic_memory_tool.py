"""The memory tool of the official anthropic client, with this server as its backend."""

import json
import os
import urllib.request

from anthropic.lib.tools import BetaAbstractMemoryTool

BASE, KEY = os.environ["MEMORY_URL"], os.environ["MEMORY_KEY"]


class ServerMemoryTool(BetaAbstractMemoryTool):
    """Sends every command to the server."""

    def execute(self, command):
        body = json.dumps(command.model_dump(exclude_none=True)).encode()
        headers = {"Content-Type": "application/json", "X-API-Key": KEY, "X-User-Id": "lin"}
        request = urllib.request.Request(BASE + "/v1/memory-tool", data=body, headers=headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            result = json.load(answer)
        return ("Error: " if result["is_error"] else "") + result["content"]

    view = create = str_replace = insert = delete = rename = execute


tool = ServerMemoryTool()
assert tool.to_dict() == {"type": "memory_20250818", "name": "memory"}


def check(name, found, expected):
    assert found == expected, f"{name}: {found!r} instead of {expected!r}"


def call(command, **fields):
    return tool.call({"command": command, **fields})


notes = "/memories/notes.md"
check("create", call("create", path=notes, file_text="虾过敏\ntea\n"), f"File created successfully at: {notes}")
check("view", call("view", path=notes).splitlines()[1:], ["     1\t虾过敏", "     2\ttea", "     3\t"])
check("range", call("view", path=notes, view_range=[2, 2]).splitlines()[1:], ["     2\ttea"])
changed = call("str_replace", path=notes, old_str="tea", new_str="coffee")
assert changed.startswith("The memory file has been edited."), changed
check("insert", call("insert", path=notes, insert_line=0, insert_text="# Lin"), f"The file {notes} has been edited.")
listed = call("view", path="/memories")
assert listed.splitlines()[-1].endswith("\t/memories/notes.md"), listed
renamed = call("rename", old_path=notes, new_path="/memories/lin/notes.md")
check("rename", renamed, f"Successfully renamed {notes} to /memories/lin/notes.md")
check("missing", call("view", path=notes), f"Error: The path {notes} does not exist. Please provide a valid path.")
check("delete", call("delete", path="/memories/lin"), "Successfully deleted /memories/lin")
assert call("view", path="/memories/../etc").startswith("Error: "), "traversal"
print("ok")
