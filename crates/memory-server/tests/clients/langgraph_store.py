"""The store of the official langgraph_sdk, with this server as its backend."""

import os

import httpx
from langgraph_sdk import get_sync_client

BASE, KEY = os.environ["MEMORY_URL"], os.environ["MEMORY_KEY"]


def store(user):
    return get_sync_client(url=BASE, api_key=KEY, headers={"X-User-Id": user}).store


def check(name, found, expected):
    assert found == expected, f"{name}: {found!r} instead of {expected!r}"


lin = store("lin")
lin.put_item(["people"], "mei", {"text": "Mei sells boats in Porto", "age": 31})
lin.put_item(["people", "family"], "sister", {"text": "妹妹在柏林学小提琴", "age": 24})
lin.put_item(["places"], "porto", {"text": "Porto has a long beach"}, index=["text"])
item = lin.get_item(["people"], "mei")
check("item", (item["namespace"], item["key"], item["value"]["age"]), (["people"], "mei", 31))
assert item["created_at"] and item["updated_at"], item


def keys(prefix, **query):
    return [found["key"] for found in lin.search_items(prefix, **query)["items"]]


check("list", keys(["people"]), ["sister", "mei"])
check("search", keys([], query="小提琴", limit=1), ["sister"])
check("filter", keys(["people"], filter={"age": {"$gt": 30}}), ["mei"])
check("namespaces", lin.list_namespaces()["namespaces"], [["people"], ["people", "family"], ["places"]])
check("other user", store("mei").search_items(["people"])["items"], [])
lin.delete_item(["people"], "mei")
try:
    lin.get_item(["people"], "mei")
    raise AssertionError("a deleted item is returned")
except httpx.HTTPStatusError as error:
    check("missing", error.response.status_code, 404)
print("ok")
