"""The official openai client's search of a vector store: the memory of the user with the name of the store."""

import json
import os
import urllib.request

import openai

BASE, KEY = os.environ["MEMORY_URL"], os.environ["MEMORY_KEY"]
client = openai.OpenAI(base_url=BASE + "/v1", api_key=KEY, max_retries=0, timeout=60)


def add(text, user, run):
    body = {"messages": [{"role": "user", "content": text}], "user_id": user, "run_id": run}
    headers = {"Content-Type": "application/json", "X-API-Key": KEY}
    request = urllib.request.Request(BASE + "/memories", json.dumps(body).encode(), headers)
    urllib.request.urlopen(request, timeout=60).read()


add("My canoe is called Marisol.", "lin", "monday")
add("我的乌龟叫阿绿豆。", "lin", "tuesday")

found = client.vector_stores.search("lin", query="What is my canoe called?", max_num_results=3)
best = found.data[0]
assert best.content[0].text == "My canoe is called Marisol.", found
assert 0 < best.score <= 1 and best.attributes["session_id"] == "monday", best
assert found.object == "vector_store.search_results.page"

tuesday = {"type": "eq", "key": "session_id", "value": "tuesday"}
texts = [hit.content[0].text for hit in client.vector_stores.search("lin", query="canoe 乌龟", filters=tuesday).data]
assert texts and all("阿绿豆" in text for text in texts), texts
assert client.vector_stores.search("mei", query="canoe").data == []
try:
    client.vector_stores.search("lin", query="canoe", filters={"type": "eq", "key": "colour", "value": "red"})
    raise AssertionError("an unknown key is accepted")
except openai.BadRequestError as error:
    assert "session_id" in str(error), error
print("ok")
