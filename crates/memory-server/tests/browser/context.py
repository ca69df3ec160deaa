"""Context preview: the exact text of the gateway and of the hooks, budget, candidates, and that nothing is stored."""

import json

from support.api import request
from support.page import KEY_ANNA, KEYED_URL, Browser

PATH = "/api/inspector/context"
MESSAGE = "Do you remember when I go to Berlin?"
# It gets the last rounds as well, which is more than there is room for.
CROWDED = "As I said, do you remember when I go to Berlin?"
EARLIER = "Hello\nHi."


def preview(owner, body):
    response = request("POST", f"{PATH}?{owner}", body=body)
    assert response.status == 200, response
    return response.json


def main_text(inspector):
    return inspector.page.locator("main").inner_text()


def shown_text(inspector):
    return inspector.page.locator(".context-text").evaluate("element => element.textContent")


def check_gateway(browser):
    inspector = browser.open("context", user_id="anna")
    assert "See what a model would be told" in main_text(inspector)
    inspector.page.get_by_label("Message of the user").fill(MESSAGE)
    inspector.page.locator("summary", has_text="Conversation before the message").click()
    inspector.page.get_by_label("Earlier messages").fill(EARLIER)
    inspector.page.get_by_role("button", name="Preview").click()
    inspector.settle()
    earlier = [{"role": "user", "text": "Hello"}, {"role": "assistant", "text": "Hi."}]
    wanted = preview("user_id=anna", {"message": MESSAGE, "earlier": earlier})
    assert shown_text(inspector) == wanted["text"] and "29 March" in wanted["text"]
    inspector.page.locator("summary", has_text="Details").click()
    text = main_text(inspector)
    for part in ["Rule\na question about the past", "Message number\n2", "max_memories = 5"]:
        assert part in text, (part, text)
    # What the gateway sends to its upstream is the same text.
    chat = request("POST", "/v1/chat/completions", body={
        "model": "scripted", "user_id": "anna", "session_id": "preview-test",
        "messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi."},
                     {"role": "user", "content": MESSAGE}]})
    assert chat.status == 200, chat
    ids = chat.headers["x-memory-ids"].split(",")
    assert ids == wanted["layers"][0]["included"], (ids, wanted["layers"])
    assert chat.headers["x-memory-tokens"] == str(wanted["tokens"])
    link = inspector.page.get_by_role("link", name="Search with this message")
    assert "q=when+i+go+to+berlin" in link.get_attribute("href").lower()
    # The address holds the preview.
    shared = browser.open()
    shared.page.goto(inspector.page.url)
    shared.settle()
    assert shared.page.get_by_label("Message of the user").input_value() == MESSAGE
    assert shown_text(shared).startswith("---\n[Memory reference")


def check_candidates(browser):
    wanted = preview("user_id=anna", {"message": CROWDED})
    inspector = browser.open("context", user_id="anna", message=CROWDED)
    everything = inspector.page.get_by_role("button", name="Show all")
    everything.click()
    rows = inspector.page.locator(".candidates > li")
    assert rows.count() == len(wanted["candidates"]) > 12
    labels = {"injected": "in the text", "not_relevant": "below the threshold", "no_room": "no room in the text"}
    seen, included = set(), {id for layer in wanted["layers"] for id in layer["included"]}
    for candidate in wanted["candidates"]:
        row = inspector.page.locator(f'.candidates > li[data-id="{candidate["id"]}"]')
        seen.add(candidate["outcome"])
        outcome = "injected" if candidate["id"] in included else candidate["outcome"]
        if outcome in labels:
            assert labels[outcome] in row.inner_text(), (candidate, row.inner_text())
        bars = row.locator(".bar").count()
        assert bars == (candidate["relevance"] is not None), candidate
        if candidate["source"] == "search":
            is_enough = candidate["relevance"] >= wanted["min_relevance"]
            assert is_enough == (candidate["outcome"] != "not_relevant"), candidate
    assert {"injected", "no_room"} <= seen, seen
    used = f"{wanted['budget']['used']:,} of {wanted['budget']['limit']:,} characters"
    assert used in inspector.page.locator(".bar.budget").first.inner_text()
    dropped = wanted["layers"][0]["left_out"]
    inspector.page.locator(".left-out summary").click()
    assert inspector.page.locator(".left-out li").count() == len(dropped) > 0
    records = {record["id"]: record for record in wanted["records"]}
    assert records[dropped[0]["id"]]["text"][:60] in inspector.page.locator(".left-out").inner_text()


def check_consistency(browser):
    """What is in the text is marked as such, and nothing else. In some answers, a memory of the core has the outcome of
    the search."""
    for message in ("What is my cat called?", CROWDED, "Where do I live?"):
        wanted = preview("user_id=anna", {"message": message})
        included = {id for layer in wanted["layers"] for id in layer["included"]}
        page = browser.open("context", user_id="anna", message=message).page
        if page.get_by_role("button", name="Show all").count():
            page.get_by_role("button", name="Show all").click()
        rows = page.locator(".candidates > li", has=page.locator(".badge.good", has_text="in the text"))
        marked = rows.evaluate_all("all => all.map(row => row.dataset.id)")
        assert set(marked) == included & {one["id"] for one in wanted["candidates"]} and marked, message


def check_nothing(browser):
    """Nothing is injected, and the page says which rule or threshold decided."""
    # Lin's pinned note is part of every message. A session of another user has none.
    small_talk = browser.open("context", user_id="nobody", message="ok thanks!", earlier=EARLIER)
    text = main_text(small_talk)
    assert "Nothing is added" in text and "No rule applies" in text, text
    unrelated = browser.open("context", user_id="anna", message="Did the plumber call about the tap?", earlier=EARLIER)
    text = main_text(unrelated)
    assert "Only 8 memories of the core are added" in text and "below the threshold" in text, text


def check_hooks(browser):
    opening = preview("user_id=lin", {"path": "session_start"})
    inspector = browser.open("context", user_id="lin", language="zh", scheme="dark", width=390)
    inspector.page.get_by_label("服务器的组成部分").select_option("session_start")
    inspector.page.get_by_role("button", name="预览").click()
    inspector.settle()
    assert shown_text(inspector) == opening["text"] and "小林周三和周五在家办公" in opening["text"]
    bars = inspector.page.locator(".bar.budget")
    assert bars.count() == len(opening["layers"]) + 1
    assert f"{opening['budget']['used']:,} / {opening['budget']['limit']:,} 词元" in bars.first.inner_text()
    for layer in opening["layers"]:
        assert layer["used"] <= layer["budget"] + layer["flowed"], layer
    wide = inspector.page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0, f"the page is {wide} px too wide"
    started = request("POST", "/hooks/generic?user_id=lin&event=session-start", body={"session_id": "preview-test"})
    assert started.json["context"] == opening["text"], started


def check_library(browser):
    inspector = browser.open("context", user_id="lin", path="library", message="我的猫叫什么", max_tokens=150)
    assert "芝麻" in shown_text(inspector)
    assert "of 150 tokens" in inspector.page.locator(".bar.budget.whole").inner_text()
    inspector.page.get_by_label("Limit in tokens").fill("400")
    inspector.page.get_by_role("button", name="Preview").click()
    inspector.settle()
    assert "of 400 tokens" in inspector.page.locator(".bar.budget.whole").inner_text()
    assert "max_tokens=400" in inspector.page.url


def check_access(browser):
    for path in ["gateway", "hook", "session_start", "library"]:
        body = {"path": path, "message": "我的猫叫什么"}
        response = request("POST", f"{PATH}?user_id=lin", body=body, key=KEY_ANNA, url=KEYED_URL)
        assert response.status == 403, (path, response)
        own = request("POST", PATH, body=body, key=KEY_ANNA, url=KEYED_URL).json
        assert own["user_id"] == "anna" and "芝麻" not in json.dumps(own, ensure_ascii=False), (path, own)
    assert request("POST", PATH, body={"message": "tea"}, url=KEYED_URL).status == 401


def check_nothing_is_stored(browser):
    """A preview writes no record: the counts of the user stay."""
    def count():
        users = request("GET", "/api/inspector/users").json["users"]
        return {user["user_id"]: user["records"] for user in users}

    before = count()
    for path in ["gateway", "hook", "session_start", "library"]:
        preview("user_id=anna&session_id=2026-03-17-trip", {"path": path, "message": MESSAGE})
    browser.open("context", user_id="anna", message="My new bicycle is green and I live in Faro now.")
    assert count() == before


with Browser() as browser:
    check_nothing_is_stored(browser)
    check_gateway(browser)
    check_candidates(browser)
    check_consistency(browser)
    check_nothing(browser)
    check_hooks(browser)
    check_library(browser)
    check_access(browser)
