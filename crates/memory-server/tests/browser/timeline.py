"""The timeline: order, derived records, actions, time travel, and a list that is longer than the screen."""

import json
import re

from support.api import request
from support.page import KEY_ANNA, KEYED_URL, Browser

PATH = "/api/inspector/timeline"
LONG_LIST = 330
MAX_ELEMENTS = 2500


def page_of(**params):
    query = "&".join(f"{name}={value}" for name, value in params.items())
    response = request("GET", f"{PATH}?{query}")
    assert response.status == 200, response
    return response.json


ROWS_COVER_THE_WINDOW = """() => {
    const rows = [...document.querySelectorAll('.turn')].map(row => row.getBoundingClientRect());
    const isAtEnd = scrollY + innerHeight >= document.documentElement.scrollHeight - 1;
    return !rows.length || (rows[0].top < innerHeight && (rows.at(-1).bottom >= innerHeight || isAtEnd));
}"""


def scroll(page, script):
    """Scrolls, and waits until the page has shown the rows there. A busy machine needs more than two frames."""
    frames = "requestAnimationFrame(() => requestAnimationFrame(() => done()))"
    page.evaluate(f"() => new Promise(done => {{ {script}; {frames}; }})")
    page.wait_for_function(ROWS_COVER_THE_WINDOW)


def turns(inspector):
    return inspector.page.locator(".turn")


def check_order(browser):
    newest = page_of(user_id="anna", limit=200)
    oldest = page_of(user_id="anna", limit=200, order="oldest")
    ids = [entry["id"] for entry in newest["entries"]]
    assert len(ids) > 30 and newest["next_cursor"] is None, len(ids)
    assert ids == [entry["id"] for entry in oldest["entries"]][::-1]
    assert [entry["occurred_at"] for entry in oldest["entries"]] == sorted(e["occurred_at"] for e in oldest["entries"])
    kinds = {entry["kind"] for entry in newest["entries"]}
    assert "turn" in kinds and not kinds & {"summary", "chunk"} and not any(k.startswith("ledger/") for k in kinds), kinds

    inspector = browser.open("timeline", user_id="anna")
    first = turns(inspector).first
    assert newest["entries"][0]["text"] in first.inner_text()
    inspector.page.get_by_label("Order").focus()
    inspector.page.get_by_label("Order").select_option("oldest")
    inspector.settle()
    assert oldest["entries"][0]["text"] in turns(inspector).first.inner_text()
    assert "order=oldest" in inspector.page.url
    assert inspector.page.get_by_label("Order").evaluate("field => field === document.activeElement"), "focus is lost"


def check_pages():
    """Pages cover every entry once, forwards from the start, and backwards from any page."""
    all_ids = [entry["id"] for entry in page_of(user_id="lin", limit=200)["entries"]]
    found, cursor, pages = [], "", []
    while cursor is not None:
        page = page_of(user_id="lin", limit=7, cursor=cursor)
        pages.append(page)
        found += [entry["id"] for entry in page["entries"]]
        cursor = page["next_cursor"]
    assert found == all_ids and len(pages) > 4, (len(found), len(all_ids))
    before = page_of(user_id="lin", limit=7, order="oldest", cursor=pages[2]["first_cursor"])
    assert [entry["id"] for entry in before["entries"]][::-1] == [entry["id"] for entry in pages[1]["entries"]]
    middle = pages[2]["entries"][3]
    at = page_of(user_id="lin", limit=1, **{"from": middle["occurred_at"]})
    assert at["entries"][0]["occurred_at"] == middle["occurred_at"]
    for params, word in [({"limit": 0}, "from 1 to 200"), ({"limit": 201}, "from 1 to 200"), ({"cursor": "x"}, "cursor"),
                         ({"from": "soon"}, "2026-03-02"), ({"order": "random"}, "newest"), ({"color": "red"}, "color"),
                         ({"from": "2026-04-01", "cursor": pages[0]["next_cursor"]}, "either")]:
        query = "&".join(f"{name}={value}" for name, value in params.items())
        response = request("GET", f"{PATH}?user_id=lin&{query}")
        assert response.status == 400 and word in response.json["detail"], (params, response)


def check_access():
    for path in [f"{PATH}?user_id=lin", "/api/inspector/companion?user_id=lin"]:
        response = request("GET", path, key=KEY_ANNA, url=KEYED_URL)
        assert response.status == 403 and "lin" not in response.json["detail"], response
        assert request("GET", path, url=KEYED_URL).status == 401
    own = request("GET", f"{PATH}?limit=200", key=KEY_ANNA, url=KEYED_URL).json
    records = own["entries"] + own["derived"]
    assert {record["user_id"] for record in records} == {"anna"}, "a key of one user sees others"
    assert "Reykjavik" not in json.dumps(own), "the memories of another tenant"


def check_derived(browser):
    """Facts and summaries are below their turns, and those that no longer count can be hidden."""
    page = page_of(user_id="lin", limit=200)
    derived = {record["id"]: record for record in page["derived"]}
    assert {"fact", "summary"} <= {record["kind"] for record in derived.values()}
    named = {id for entry in page["entries"] for id in entry["derived"]}
    assert named == set(derived), "each derived record belongs to a turn of the page"
    revoked = [record for record in derived.values() if record["state"] == "revoked"]
    assert revoked, "the data has a retracted fact"
    current = page_of(user_id="lin", limit=200, inactive="false")
    states = {record["state"] for record in current["derived"] + current["entries"]}
    assert states <= {"active", "pending"}, states

    # One that covers many turns is shown once.
    wide = max(derived.values(), key=lambda record: record["sources"])
    assert wide["sources"] > 3 and sum(wide["id"] in entry["derived"] for entry in page["entries"]) > 3
    shown = browser.open("timeline", user_id="lin", height=6000).page
    folded = shown.get_by_role("button", name=f"from {wide['sources']} records")
    assert 0 < folded.count() <= sum(r["sources"] == wide["sources"] for r in derived.values()), folded.count()

    source = next(entry for entry in page["entries"] if revoked[0]["id"] in entry["derived"])
    inspector = browser.open("timeline", user_id="lin", date=source["occurred_at"][:10])
    row = inspector.page.locator(f'.turn[data-row="{source["id"]}"]')
    row.scroll_into_view_if_needed()
    fact = row.locator(".derived-record", has_text="retracted")
    assert fact.locator(".memory-text.struck").count() == 1, "a retracted fact is struck"
    inspector.page.get_by_label("Show what no longer counts").uncheck()
    inspector.settle()
    row = inspector.page.locator(f'.turn[data-row="{source["id"]}"]')
    row.scroll_into_view_if_needed()
    assert row.locator(".derived-record", has_text="retracted").count() == 0


def check_actions(browser):
    """Pin, importance and retraction are stored, and shown without opening the page again."""
    inspector = browser.open("timeline", user_id="anna", kind="turn")
    page = inspector.page
    row = turns(inspector).nth(2)
    id = row.get_attribute("data-row")
    entry = lambda: next(e for e in page_of(user_id="anna", limit=200)["entries"] if e["id"] == id)
    row = page.locator(f'.turn[data-row="{id}"]')
    row.get_by_role("button", name="Actions").first.click()
    row.get_by_role("button", name="Pin", exact=True).click()
    inspector.settle()
    assert entry()["pinned"] and row.locator(".badge", has_text="pinned").count() == 1
    row.get_by_role("button", name="Importance and expiry").click()
    page.get_by_label("Importance, 0 to 1").fill("0.8")
    page.get_by_label("Expires at").fill("2030-05-06T07:08")
    page.get_by_role("button", name="Save").click()
    inspector.settle()
    assert (entry()["importance"], entry()["expires_at"]) == (0.8, "2030-05-05T23:08:00Z"), entry()
    why = row.get_by_role("link", name="Why in search?").get_attribute("href")
    assert f"why={id}" in why and why.startswith("#/search?"), why
    row.get_by_role("button", name="Retract").click()
    page.get_by_label("Reason").fill("a test")
    page.get_by_role("dialog").get_by_role("button", name="Retract").click()
    inspector.settle()
    assert entry()["state"] == "revoked" and row.locator(".memory-text.struck").count() >= 1


def check_time_travel(browser):
    """A turn that was edited later has its former text, and cannot be changed."""
    before = "2026-04-10T00:00:00Z"
    then = page_of(user_id="anna", limit=200, as_of=before)
    assert all(entry["recorded_at"] <= before for entry in then["entries"])
    texts = [entry["text"] for entry in then["entries"]]
    assert any("28 March" in text for text in texts) and not any("29 March" in text for text in texts)
    now = [entry["text"] for entry in page_of(user_id="anna", limit=200)["entries"]]
    assert any("29 March" in text for text in now)
    inspector = browser.open("timeline", user_id="anna", order="oldest")
    inspector.page.get_by_label("As it was at").fill("2026-04-10T08:00")
    inspector.page.get_by_role("button", name="Show", exact=True).click()
    inspector.settle()
    assert inspector.page.get_by_text("This is the timeline as it was").is_visible()
    assert inspector.page.get_by_role("button", name="Actions").count() == 0
    inspector.page.get_by_role("link", name="Back to now").click()
    inspector.settle()
    assert inspector.page.get_by_role("button", name="Actions").count() > 0


def check_long_list(browser):
    """A long list loads as one scrolls, shows every entry once and in order, and keeps the page small."""
    for start in range(0, LONG_LIST, 30):
        messages = [{"role": "user", "content": f"Line {number} of a long list"} for number in range(start, start + 30)]
        body = {"messages": messages, "user_id": "long", "infer": False}
        response = request("POST", "/v1/memories/", body=body)
        assert response.status == 200, response
    inspector = browser.open("timeline", user_id="long")
    page = inspector.page
    shown, most = [], 0
    for _ in range(400):
        numbers = page.eval_on_selector_all(".turn", "rows => rows.map(row => row.innerText)")
        numbers = [int(match[1]) for match in (re.search(r"Line (\d+) of", text) for text in numbers) if match]
        assert numbers == sorted(numbers, reverse=True), numbers
        shown += [number for number in numbers if number not in shown]
        most = max(most, len(numbers))
        if 0 in numbers:
            break
        scroll(page, "scrollBy(0, 700)")
        while inspector.running:
            page.wait_for_timeout(10)
    assert shown == sorted(shown, reverse=True) and len(shown) == LONG_LIST, (len(shown), shown[:5], shown[-5:])
    assert page.get_by_text(f"All {LONG_LIST} records are shown.").count() == 1
    assert most < LONG_LIST / 4, f"{most} rows at once"
    elements = page.evaluate("document.querySelectorAll('main *').length")
    assert elements < MAX_ELEMENTS, f"{elements} elements"
    scroll(page, "scrollTo(0, 0)")
    assert f"Line {LONG_LIST - 1} of" in turns(inspector).first.inner_text()


def check_date(browser):
    """A list that begins at a date goes on in both directions."""
    page_at = page_of(user_id="lin", limit=1, **{"from": "2026-04-05T00:00:00%2B08:00"})
    inspector = browser.open("timeline", user_id="lin")
    page = inspector.page
    page.get_by_label("Go to date").fill("2026-04-04")
    page.get_by_role("button", name="Show", exact=True).click()
    inspector.settle()
    assert turns(inspector).first.get_attribute("data-row") == page_at["entries"][0]["id"]
    page.get_by_role("button", name="Load newer ones").click()
    inspector.settle()
    scroll(page, "scrollTo(0, 0)")
    first = turns(inspector).first.get_attribute("data-row")
    ids = [entry["id"] for entry in page_of(user_id="lin", limit=200)["entries"]]
    start = ids.index(page_at["entries"][0]["id"])
    assert ids.index(first) == max(0, start - 50), (ids.index(first), start)


def check_empty(browser):
    inspector = browser.open("timeline")
    assert inspector.page.get_by_text("Choose a user", exact=True).is_visible()
    inspector = browser.open("timeline", user_id="nobody", language="zh")
    assert inspector.page.get_by_text("还没有内容").is_visible()


with Browser() as browser:
    check_order(browser)
    check_pages()
    check_access()
    check_derived(browser)
    check_time_travel(browser)
    check_date(browser)
    check_long_list(browser)
    check_empty(browser)
    check_actions(browser)
