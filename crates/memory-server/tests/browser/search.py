"""Search: filters, scores, ranks after each step, explanations, and a search in the address."""

import re
import urllib.parse

from support.api import request
from support.page import KEY_ANNA, KEYED_URL, Browser

PATH = "/api/inspector/search"
QUERY = "When do I go to Berlin?"


def found(**params):
    response = request("GET", f"{PATH}?{urllib.parse.urlencode(params)}")
    assert response.status == 200, response
    return response.json


def hits(inspector):
    return inspector.page.locator(".search-hits .hit")


def in_order(report):
    """Returns the hits in the order of the page: those below the threshold are folded behind the others."""
    return sorted(report["hits"], key=lambda hit: not hit["relevant"])


def shown_ids(inspector):
    return hits(inspector).evaluate_all("all => all.map(hit => hit.dataset.id)")


def open_details(inspector, name):
    inspector.page.locator("summary", has_text=name).click()


def submit(inspector, query):
    inspector.page.get_by_label("Query").fill(query)
    inspector.page.get_by_role("button", name="Search", exact=True).click()
    inspector.settle()


def check_hits(browser):
    report = found(user_id="anna", q=QUERY)
    inspector = browser.open("search", user_id="anna")
    assert "Search these memories" in inspector.page.locator("main").inner_text()
    assert hits(inspector).count() == 0
    submit(inspector, QUERY)
    expected = in_order(report)
    assert shown_ids(inspector) == [hit["record"]["id"] for hit in expected]
    assert not hits(inspector).last.is_visible(), "a hit below the threshold is shown as the others"
    open_details(inspector, "below the threshold")
    assert hits(inspector).last.is_visible()
    inspector.page.evaluate("document.querySelectorAll('.hit-details').forEach(one => { one.open = true; })")
    first, wanted = hits(inspector).first, expected[0]
    text = first.inner_text()
    assert wanted["record"]["text"] in text
    for one in wanted["found_by"]:
        bar = first.locator(".bar", has_text=one["retriever"])
        assert f"#{one['rank']} ·" in bar.inner_text(), (one, bar.inner_text())
        width = bar.locator(".bar-fill").evaluate("fill => fill.getBoundingClientRect().width")
        assert width > 1, one
    # The ranks are those of the answer, step by step.
    for place, hit in enumerate(expected):
        steps = hits(inspector).nth(place).locator(".rank-steps li")
        shown = [(step.locator(".step").inner_text(), int(step.locator(".rank").inner_text())) for step in steps.all()]
        assert shown == [(rank["step"], rank["rank"]) for rank in hit["ranks"]], (place, shown)
        assert [step for step, _ in shown][0] == "fused" and shown[-1] == ("selected", hit["place"])
    relevant = [hit["relevant"] for hit in report["hits"]]
    assert any(relevant) and not all(relevant), relevant
    labels = hits(inspector).locator(".badge.good").all_inner_texts()
    assert labels == ["relevant"] * relevant.count(True), labels
    first.locator("details", has_text="Actions").locator("summary").click()
    first.get_by_role("button", name="Pin", exact=True).click()
    inspector.settle()
    assert found(user_id="anna", q=QUERY)["hits"][0]["record"]["pinned"]
    request("POST", "/api/records/patch", body={"user_id": "anna", "ids": [wanted["record"]["id"]], "pinned": False})
    # The chart has a table of the same ranks.
    open_details(inspector, "Ranks as a table")
    rows = inspector.page.get_by_role("region", name="Ranks as a table").locator("tbody tr")
    assert rows.count() == len(report["hits"])
    link = inspector.page.get_by_role("link", name="Preview the context of a model")
    assert link.get_attribute("href").startswith("#/context?user_id=anna&message=When")
    stages = inspector.page.locator(".stage-times .bar")
    assert stages.count() == len(report["stages"]) and "Retrievers" in stages.first.inner_text()


def check_address(browser):
    """The search is in the address: it can be shared, and the back button returns to the search before."""
    inspector = browser.open("search", user_id="anna", q=QUERY, limit=3)
    assert hits(inspector).count() == 3
    assert inspector.page.get_by_label("Query").input_value() == QUERY
    before = shown_ids(inspector)
    submit(inspector, "cat")
    assert "q=cat" in inspector.page.url and "limit=3" in inspector.page.url and "user_id=anna" in inspector.page.url
    assert shown_ids(inspector) != before and "Miso" in hits(inspector).first.inner_text()
    shared = browser.open()
    shared.page.goto(inspector.page.url)
    shared.settle()
    assert shown_ids(shared) == shown_ids(inspector)
    inspector.page.go_back()
    inspector.settle()
    assert shown_ids(inspector) == before
    assert inspector.page.get_by_label("Query").input_value() == QUERY


def check_filters(browser):
    inspector = browser.open("search", user_id="anna", q=QUERY)
    open_details(inspector, "Filters")
    inspector.page.get_by_label("Kind").fill("fact")
    inspector.page.get_by_label("Occurred before").fill("2026-03-15")
    inspector.page.get_by_label("Query").press("Enter")
    inspector.settle()
    assert "kind=fact" in inspector.page.url and "until=2026-03-15" in inspector.page.url
    wanted = in_order(found(user_id="anna", q=QUERY, kind="fact", until="2026-03-15"))
    assert wanted and {hit["record"]["kind"] for hit in wanted} == {"fact"}
    assert all(hit["record"]["occurred_at"] < "2026-03-15" for hit in wanted)
    assert shown_ids(inspector) == [hit["record"]["id"] for hit in wanted]
    inspector.page.get_by_role("button", name="Remove filters").click()
    inspector.settle()
    assert "kind" not in inspector.page.url and hits(inspector).count() > len(wanted)
    # The memory as it was: the trip had not been corrected.
    past = browser.open("search", user_id="anna", q=QUERY, as_of="2026-04-01")
    assert "28 March" in hits(past).first.inner_text()
    now = browser.open("search", user_id="anna", q=QUERY)
    assert "29 March" in hits(now).first.inner_text()
    session = found(user_id="anna", q=QUERY)["hits"][0]["record"]["scope"]["session"]
    only = browser.open("search", user_id="anna", session_id=session, q=QUERY)
    sessions = {hit["record"]["scope"]["session"] for hit in found(user_id="anna", session_id=session, q=QUERY)["hits"]}
    assert sessions == {session} and hits(only).count() >= 1


def check_explanations(browser):
    report = found(user_id="anna", q=QUERY, limit=2)
    below = found(user_id="anna", q=QUERY)["hits"][-1]["record"]
    inspector = browser.open("search", user_id="anna", q=QUERY, limit=2)
    field = inspector.page.get_by_label("Id of the record")
    field.fill(report["hits"][1]["record"]["id"])
    inspector.page.get_by_role("button", name="Explain").click()
    inspector.settle()
    verdict = inspector.page.locator(".verdict")
    assert "It is hit 2." in verdict.inner_text()
    field.fill(below["id"])
    inspector.page.get_by_role("button", name="Explain").click()
    inspector.settle()
    assert re.search(r"not a hit.*It would be hit \d+, and 2 are returned\.", verdict.inner_text(), re.DOTALL)
    explained = inspector.page.locator(".explanation")
    assert below["text"] in explained.inner_text() and explained.locator(".rank-steps li").count() >= 4
    # From a plain list, with the keyboard.
    note = request("GET", "/api/inspector/timeline?user_id=anna&kind=note&limit=1").json["entries"][0]
    inspector.page.get_by_role("button", name="Choose from a list").press("Enter")
    inspector.page.get_by_role("dialog").get_by_label("Kind").select_option("note")
    inspector.settle()
    choice = inspector.page.get_by_role("dialog").get_by_role("button", name=note["text"])
    choice.press("Enter")
    inspector.settle()
    assert inspector.page.get_by_role("dialog").count() == 0
    assert f"why={note['id']}" in inspector.page.url and field.input_value() == note["id"]
    assert re.search("No retriever found it|It would be hit", verdict.inner_text()), verdict.inner_text()
    # Other views link to the explanation of a record, without a query.
    linked = browser.open("search", user_id="anna", why=note["id"])
    assert "Enter a query above" in linked.page.locator("main").inner_text()
    submit(linked, note["text"])
    assert "It is hit 1." in linked.page.locator(".verdict").inner_text()


def check_access(browser):
    response = request("GET", f"{PATH}?user_id=lin&q=tea", key=KEY_ANNA, url=KEYED_URL)
    assert response.status == 403, response
    own = request("GET", f"{PATH}?q=Reykjavik", key=KEY_ANNA, url=KEYED_URL).json
    assert {hit["record"]["scope"]["user"] for hit in own["hits"]} <= {"anna"}
    assert not any("Reykjavik" in hit["record"]["text"] for hit in own["hits"])
    stranger = found(user_id="lin", q="猫")["hits"][0]["record"]
    inspector = browser.open("search", url=KEYED_URL, key=KEY_ANNA, q="cat", why=stranger["id"])
    assert "no such record" in inspector.page.locator(".verdict").inner_text()
    assert stranger["text"] not in inspector.page.locator("main").inner_text()


def check_faults(browser):
    """A wrong search says what was wrong, and the form stays."""
    inspector = browser.open().expect_fault("status of 400")
    inspector.visit("search", user_id="anna", q="tea", as_of="someday")
    alert = inspector.page.get_by_role("alert")
    assert "someday" in alert.inner_text(), alert.inner_text()
    submit(inspector, "cat")
    weak = browser.open("search", q="When does the xylophone of the king need repair?")
    text = weak.page.locator("main").inner_text()
    assert "Nothing that is stored answers this query" in text or "No memory was found" in text, text
    nothing = browser.open("search", user_id="anna", q="xylophone", kind="note", until="2020-01-01")
    assert "No memory was found" in nothing.page.locator("main").inner_text()


def check_chinese(browser):
    inspector = browser.open("search", user_id="lin", q="我的猫叫什么", language="zh", scheme="dark", width=390)
    assert "芝麻" in hits(inspector).first.inner_text()
    inspector.page.evaluate("document.querySelectorAll('.hit-details').forEach(one => { one.open = true; })")
    text = inspector.page.locator("main").inner_text()
    for word in ["相关性", "关键词", "名次变化", "各阶段耗时", "检索器"]:
        assert word in text, word
    wide = inspector.page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0, f"the page is {wide} px too wide"


with Browser() as browser:
    check_hits(browser)
    check_address(browser)
    check_filters(browser)
    check_explanations(browser)
    check_access(browser)
    check_faults(browser)
    check_chinese(browser)
