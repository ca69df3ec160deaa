"""The mem0ai client of older versions, in the platform's first two dialects: run with PYTHONPATH naming one of them."""

import os

os.environ["MEM0_TELEMETRY"] = "False"

import inspect  # noqa: E402

from mem0 import MemoryClient  # noqa: E402

if "options" in inspect.signature(MemoryClient.add).parameters:
    # The version of requirements.txt speaks the third dialect: mem0_platform.py is about that.
    raise SystemExit(0)
client = MemoryClient(api_key=os.environ["MEMORY_KEY"], host=os.environ["MEMORY_URL"])


def rows(answer):
    return answer if isinstance(answer, list) else answer["results"]


said = [{"role": "user", "content": "I live in Porto."}]
(first,) = rows(client.add(said, user_id="lin", metadata={"a": 1}))
assert first["event"] == "ADD", first
(moved,) = rows(client.add("I live in Lisbon now.", user_id="lin"))
assert moved["event"] == "UPDATE", moved
try:
    listed = client.get_all(user_id="lin")
except Exception:
    listed = client.get_all(filters={"user_id": "lin"})
assert [row["memory"] for row in rows(listed)] == ["The user lives in Lisbon."], listed
for call in (
    lambda: client.search("Where do I live?", user_id="lin"),
    lambda: client.search("Where do I live?", version="v2", filters={"AND": [{"user_id": "lin"}]}),
):
    assert rows(call())[0]["memory"] == "The user lives in Lisbon."
paged = client.get_all(version="v2", filters={"user_id": "lin"}, page=1, page_size=5)
assert paged["count"] == 1, paged
memory = moved["id"]
assert client.get(memory)["user_id"] == "lin"
client.update(memory, text="The user lives in Alfama.")
assert [event["event"] for event in client.history(memory)] == ["UPDATE", "UPDATE"]
client.batch_update([{"memory_id": memory, "text": "The user lives in Lisbon."}])
client.delete(memory)
assert {entity["name"] for entity in rows(client.users())} == {"lin"}
client.delete_all(user_id="lin")
assert rows(client.users()) == []
client.add(said, user_id="mei")
client.reset()
assert rows(client.users()) == []
