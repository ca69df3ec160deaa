"""The official mem0ai client against mem0's routes, in the platform's dialect."""

import os

os.environ["MEM0_TELEMETRY"] = "False"

from mem0 import MemoryClient  # noqa: E402
from mem0.exceptions import AuthenticationError, MemoryError, MemoryNotFoundError, ValidationError  # noqa: E402

base, key = os.environ["MEMORY_URL"], os.environ["MEMORY_KEY"]
client = MemoryClient(api_key=key, host=base)


def raises(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was expected")


def said(text):
    return [{"role": "user", "content": text}]


# A wrong key is told in the server's words.
assert "Error" in str(raises(ValueError, lambda: MemoryClient(api_key="wrong-wrong-wrong-wrong", host=base)))

# Facts are found, in two languages, and newer ones take the place of older ones.
added = client.add(said("I live in Porto."), user_id="lin", agent_id="kai", metadata={"chatfile": "a.jsonl"})
assert added["status"] == "SUCCEEDED" and added["event_id"], added
(first,) = added["results"]
assert (first["event"], first["data"]["memory"]) == ("ADD", "The user lives in Porto."), first
(moved,) = client.add(said("I live in Lisbon now."), user_id="lin", agent_id="kai")["results"]
assert (moved["event"], moved["previous_memory"]) == ("UPDATE", "The user lives in Porto."), moved
(allergy,) = client.add(said("我对海鲜过敏。"), user_id="lin", agent_id="kai")["results"]
assert allergy["memory"] == "用户对海鲜过敏。", allergy
assert client.add([], user_id="lin")["results"] == []

found = client.search("海鲜", filters={"user_id": "lin"}, top_k=5)["results"]
assert found[0]["memory"] == "用户对海鲜过敏。" and 0 < found[0]["score"] <= 1, found
assert client.search("Where do I live?", filters={"AND": [{"user_id": "lin"}, {"agent_id": "kai"}]})["results"]
listed = client.get_all(filters={"user_id": "lin"}, page=1, page_size=1)
assert listed["count"] == 2 and listed["next"].startswith(f"{base}/v3/memories/?page=2"), listed
assert client.get_all(filters={"OR": [{"user_id": "mei"}, {"run_id": "x"}]})["results"] == []

# One memory, from its first to its last day.
note = client.add(said("I like oolong."), user_id="mei", infer=False, metadata={"a": 1})["results"][0]["id"]
assert client.get(note)["metadata"] == {"a": 1}
assert client.update(note, text="I like puerh.", metadata={"b": 2})["memory"] == "I like puerh."
assert [event["event"] for event in client.history(note)] == ["ADD", "UPDATE"]
assert client.feedback(note, "POSITIVE")["feedback"] == "POSITIVE"
assert client.batch_update([{"memory_id": note, "text": "I like white tea."}])["message"] == "Successfully updated 1 memories"
assert client.delete(note)["message"] == "Memory deleted successfully!"
assert "puerh" not in str(client.history(note)) and client.history(note)[-1]["event"] == "DELETE"

# Errors come as the client's own.
raises(MemoryNotFoundError, lambda: client.get(note))
assert "valid UUID" in str(raises(ValidationError, lambda: client.get("x")))
assert "colour" in str(raises(ValidationError, lambda: client.search("x", filters={"user_id": "lin", "colour": "red"})))
assert "does not have this route" in str(raises(MemoryError, lambda: client.get_summary({"user_id": "lin"})))

# Everybody who has memories, and nobody any more.
names = {(entity["type"], entity["name"]) for entity in client.users()["results"]}
assert {("user", "lin"), ("agent", "kai")} <= names, names
two = [client.add(said(text), user_id="mei", infer=False)["results"][0]["id"] for text in ("one", "two")]
assert client.batch_delete([{"memory_id": memory} for memory in two])["message"] == "Successfully deleted 2 memories"
client.delete_all(user_id="lin")
assert client.get_all(filters={"user_id": "lin"})["count"] == 0
client.add(said("What a day!"), user_id="李 明")
# Deleting one entity deletes the last memory of others that the client has listed.
client.add(said("one"), agent_id="bot", run_id="r1", infer=False)
client.add(said("two"), run_id="r2", infer=False)
client.add(said("three"), app_id="shop", run_id="r3", user_id="mei", infer=False)
client.reset()
assert client.users()["results"] == []
assert AuthenticationError
