"""The operations: requests, recalls, tokens and errors are counted, for keys of all users only; refreshing can be paused."""

import json
import time

from support.api import request
from support.page import KEY, KEY_ANNA, KEYED_URL, Browser

PATH = "/api/inspector/operations"
SEARCH = "/api/memory/monday/search"
HOSTILE = "<img src=x onerror=alert(1)> [reason](javascript:alert(1))"


def operations(**parameters):
    response = request("GET", PATH, **parameters)
    assert response.status == 200, response
    return response.json


def route(figures, method, path):
    found = [row for row in figures["process"]["routes"] if (row["method"], row["route"]) == (method, path)]
    return found[0] if found else {"requests": 0, "errors": {}}


def upstream(figures):
    return figures["process"]["upstreams"][0] if figures["process"]["upstreams"] else {}


def check_counts():
    """What the server does between two looks is the difference of the figures."""
    before = operations()
    pattern = "/api/memory/{session_id}/search"
    for query in ("Where does Anna live?", "咖啡", "Lisbon"):
        assert request("POST", f"{SEARCH}?user_id=anna", body={"query": query}).status == 200
    assert request("POST", f"{SEARCH}?user_id=anna", body={"query": ""}).status == 400
    chat = {"model": "echo", "user": "anna", "messages": [{"role": "user", "content": "Do you remember my dentist?"}]}
    reply = request("POST", "/v1/chat/completions", body=chat)
    assert reply.status == 200, reply
    after = operations()
    searched = [route(figures, "POST", pattern) for figures in (before, after)]
    assert searched[1]["requests"] - searched[0]["requests"] == 4
    assert searched[1]["errors"]["400"] - searched[0]["errors"].get("400", 0) == 1
    latency = searched[1]["latency"]
    assert 0 < latency["p50_ms"] <= latency["p90_ms"] <= latency["p99_ms"], latency
    recall = [figures["process"]["recall"] for figures in (before, after)]
    assert recall[1]["recalls"] - recall[0]["recalls"] >= 3 and recall[1]["with_hits"] <= recall[1]["recalls"], recall
    assert {"keyword", "vector"} <= {stage["stage"] for stage in recall[1]["stages"]}
    for name, tokens in (("prompt_tokens", "prompt_tokens"), ("completion_tokens", "completion_tokens")):
        counted = upstream(after)[name] - upstream(before).get(name, 0)
        assert counted == reply.json["usage"][tokens] > 0, (name, counted)
    assert "cost" not in upstream(after), "without a configured price there is no cost"
    prompts = [sum(row["count"] for row in figures["process"]["prompts"]) for figures in (before, after)]
    assert prompts[1] - prompts[0] == 1, prompts
    for text in ("Where does Anna live", "咖啡", "dentist", "anna"):
        assert text not in json.dumps(after["process"], ensure_ascii=False), text


def check_access():
    whole, own = [operations(key=key, url=KEYED_URL) for key in (KEY, KEY_ANNA)]
    assert whole["metrics"] == "shown" and "process" in whole
    assert own["metrics"] == "hidden" and "process" not in own, own
    assert {recall.get("user_id") for recall in own["degraded_recalls"]} <= {"anna"}
    assert request("GET", f"{PATH}?user_id=lin", key=KEY_ANNA, url=KEYED_URL).status == 403
    assert request("GET", PATH, url=KEYED_URL).status == 401


def panel(page, name):
    return page.locator(".panel", has=page.get_by_role("heading", name=name))


def check_page(browser):
    inspector = browser.open("operations")
    page = inspector.page
    text = page.locator("main").inner_text()
    assert "estimates, not exact values" in text and "gateway.prices.NAME" in text, text
    routes = panel(page, "Routes")
    assert "/api/memory/{session_id}/search" in routes.inner_text() and "400: " in routes.inner_text()
    assert "/api/inspector/operations" not in routes.inner_text()
    page.get_by_label("Show routes that this page uses").check()
    assert "/api/inspector/operations" in routes.inner_text()
    assert "scripted" in panel(page, "Upstreams of the chat gateway").inner_text()

    hidden = browser.open("operations", url=KEYED_URL, key=KEY_ANNA).page.locator("main").inner_text()
    assert "a key for all users" in hidden and "Routes" not in hidden, hidden


def check_refresh(browser):
    """The figures are read again every 5 seconds until that is paused."""
    inspector = browser.open()
    page = inspector.page
    page.clock.install()
    inspector.visit("operations")
    read = []
    page.on("request", lambda sent: read.append(sent.url) if PATH in sent.url else None)

    def check_reads(milliseconds, expected):
        read.clear()
        page.clock.run_for(milliseconds)
        deadline = time.monotonic() + 60
        while len(read) < expected and time.monotonic() < deadline:
            page.wait_for_timeout(20)
        # There is not one more.
        page.wait_for_timeout(300)
        assert len(read) == expected, read

    check_reads(11_000, 2)
    page.get_by_role("button", name="Pause").click()
    check_reads(30_000, 0)
    page.get_by_role("button", name="Resume").click()
    check_reads(5_500, 1)


def check_degraded(browser):
    """The reasons of degraded recalls are shown as text. The answer of the server is replaced."""
    inspector = browser.open()
    page = inspector.page
    answer = operations()
    answer["metrics"] = "off"
    del answer["process"]
    answer["degraded_recalls"] = [
        {"at": "2026-04-20T11:58:00Z", "user_id": HOSTILE, "hits": 2, "stages": [{"stage": "vector", "reason": HOSTILE}]},
        {"at": "2026-04-20T11:57:00Z", "stages": [{"stage": "recall", "reason": "late"}]},
    ]
    page.route("**/api/inspector/operations", lambda sent: sent.fulfill(json=answer))
    inspector.visit("operations")
    text = panel(page, "Latest degraded recalls").inner_text()
    assert HOSTILE in text and "failed" in text, text
    assert page.locator("main img, main a[href^=javascript]").count() == 0, "a reason became an element"
    assert "metrics.enabled = true" in page.locator("main").inner_text()


def check_layout(browser):
    for language, width, word in [("zh", 390, "检索的各阶段"), ("en", 390, "Stages of a recall"), ("zh", 1280, "有结果的检索")]:
        inspector = browser.open("operations", language=language, width=width, scheme="dark")
        assert word in inspector.page.locator("main").inner_text()
        overflow = inspector.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert overflow <= 0, (language, width, overflow)


check_counts()
check_access()
with Browser() as browser:
    check_page(browser)
    check_refresh(browser)
    check_degraded(browser)
    check_layout(browser)
