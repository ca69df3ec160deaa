"""The open-source server's routes, called by hand as its users do (httpx comes with mem0ai)."""

import os

import httpx

client = httpx.Client(base_url=os.environ["MEMORY_URL"], headers={"X-API-Key": os.environ["MEMORY_KEY"]}, timeout=60)


def ok(method, path, **more):
    answer = client.request(method, path, **more)
    assert answer.status_code == 200, (method, path, answer.status_code, answer.text)
    return answer.json()


# What the extension of SillyTavern sends with each saved chat.
turn = {
    "messages": [
        {"role": "user", "content": "我海鲜过敏，别推荐海鲜"},
        {"role": "assistant", "content": "记住了。"},
    ],
    "user_id": "default-user",
    "agent_id": "Seraphina",
    "metadata": {"chatfile": "2026-03-02.jsonl"},
}
added = ok("POST", "/memories", json=turn)["results"]
assert added[0]["event"] == "ADD" and "海鲜" in added[0]["memory"], added
owner = {"user_id": "default-user", "agent_id": "Seraphina"}
found = ok("POST", "/search", json={"query": "晚饭推荐海鲜吗？", "filters": owner})["results"]
assert found and "海鲜" in found[0]["memory"], found
assert ok("GET", "/memories", params={**owner, "top_k": 1000})["results"]
# Another character knows nothing of it.
assert ok("POST", "/search", json={"query": "海鲜", "filters": {**owner, "agent_id": "Kai"}})["results"] == []

memory = added[0]["id"]
assert ok("PUT", f"/memories/{memory}", json={"text": "用户对虾过敏。"})["message"]
assert ok("GET", f"/memories/{memory}")["memory"] == "用户对虾过敏。"
assert [event["event"] for event in ok("GET", f"/memories/{memory}/history")] == ["ADD", "UPDATE"]
assert {entity["id"] for entity in ok("GET", "/entities")} == {"default-user", "Seraphina"}
assert ok("DELETE", f"/memories/{memory}")["message"] == "Memory deleted successfully"
assert "虾" not in str(ok("GET", f"/memories/{memory}/history"))
assert ok("DELETE", "/memories", params={"user_id": "default-user"})["message"]
assert client.get(f"/memories/{memory}").status_code == 404
assert isinstance(client.post("/memories", json={"user_id": "x"}).json()["detail"], list)
assert httpx.post(f"{client.base_url}/search", json={"query": "x"}).status_code == 401
assert ok("POST", "/reset")["message"] == "All memories reset"
