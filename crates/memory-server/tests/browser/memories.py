"""The list of memories: order, filters, selection, derived records, actions, time travel, and live updates."""

import datetime
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

    inspector = browser.open("memories", user_id="anna")
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
    shown = browser.open("memories", user_id="lin", height=6000).page
    folded = shown.get_by_role("button", name=f"from {wide['sources']} records")
    assert 0 < folded.count() <= sum(r["sources"] == wide["sources"] for r in derived.values()), folded.count()

    source = next(entry for entry in page["entries"] if revoked[0]["id"] in entry["derived"])
    inspector = browser.open("memories", user_id="lin", until=source["occurred_at"][:10])
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
    inspector = browser.open("memories", user_id="anna", kind="turn")
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
    inspector = browser.open("memories", user_id="anna", order="oldest")
    inspector.page.get_by_label("As it was at").fill("2026-04-10T08:00")
    inspector.page.get_by_role("button", name="Show", exact=True).click()
    inspector.settle()
    assert inspector.page.get_by_text("These are the memories as they were").is_visible()
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
    inspector = browser.open("memories", user_id="long")
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


def ids_on(page):
    return page.locator(".turn").evaluate_all("rows => rows.map(row => row.dataset.row)")


def check_filters(browser):
    """Each filter selects what the records of the store say, alone and together; the address keeps it."""
    everything = page_of(user_id="lin", limit=200)["entries"]
    plots = [one["id"] for one in everything if one.get("scene") == "plot"]
    assert 0 < len(plots) < len(everything)
    inspector = browser.open("memories", user_id="lin", language="zh", height=9000)
    page = inspector.page
    page.get_by_label("场景").select_option(label="剧情")
    inspector.settle()
    assert ids_on(page) == plots and "scene=plot" in page.url
    page.get_by_label("类型").select_option(label="事实")
    inspector.settle()
    facts = page_of(user_id="lin", limit=200, kind="fact")["entries"]
    assert ids_on(page) == [one["id"] for one in facts if one.get("scene") == "plot"]
    page.get_by_role("link", name="清除筛选").first.click()
    inspector.settle()
    days = sorted({one["occurred_at"][:10] for one in everything})
    page.get_by_label("从", exact=True).fill(days[1])
    page.get_by_label("到", exact=True).fill(days[2])
    page.get_by_role("button", name="显示", exact=True).click()
    inspector.settle()
    # The days of the page are those of Asia/Shanghai, which begin at 16:00 UTC.
    before, end = previous(days[1]) + "T16:00:00Z", days[2] + "T16:00:00Z"
    expected = [one["id"] for one in everything if before <= one["occurred_at"] < end]
    assert expected and ids_on(page) == expected, (len(ids_on(page)), len(expected))

    inspector = browser.open("memories", user_id="anna", height=9000)
    page = inspector.page
    page.get_by_label("Text").fill("BERLIN")
    page.keyboard.press("Enter")
    inspector.settle()
    everything = page_of(user_id="anna", limit=200)["entries"]
    assert ids_on(page) == [one["id"] for one in everything if "berlin" in one["text"].lower()]
    page.get_by_label("Text").fill("")
    page.get_by_label("Tag").fill("health")
    page.get_by_role("button", name="Show", exact=True).click()
    inspector.settle()
    tagged = page.locator(".turn", has_text="Tag: health")
    assert 0 < tagged.count() == page.locator(".turn").count() < len(everything)
    page.get_by_label("Text").fill("no memory says this")
    page.keyboard.press("Enter")
    inspector.settle()
    assert page.get_by_text("No memory matches all filters").is_visible()
    page.reload()
    inspector.settle()
    assert page.get_by_label("Tag").input_value() == "health"


def previous(day):
    return str(datetime.date.fromisoformat(day) - datetime.timedelta(days=1))


def store(user, *texts):
    """Stores messages in the way of an application, and returns their ids."""
    path = "/v1/memories/"
    for text in texts:
        body = {"messages": [{"role": "user", "content": text}], "user_id": user, "infer": False}
        response = request("POST", path, body=body)
        assert response.status == 200, response
    return {one["text"]: one["id"] for one in page_of(user_id=user, limit=200)["entries"]}


def check_selection(browser):
    """What is selected, and nothing else, is pinned, exported and deleted."""
    texts = [f"The drawer {number} has socks" for number in range(6)]
    for user, width, words in (("sel", 1280, ["Pin", "Export", "Delete for good", "selected"]),
                               ("xuan", 390, ["置顶", "导出", "永久删除", "已选"])):
        pin, export, delete, selected = words
        ids = store(user, *texts)
        language = "en" if width > 1000 else "zh"
        inspector = browser.open("memories", user_id=user, width=width, language=language)
        page = inspector.page
        chosen = [ids[texts[1]], ids[texts[4]]]
        for id in chosen:
            page.locator(f'.turn[data-row="{id}"] > header > input').check()
        bar = page.locator(".selection")
        assert "2" in bar.get_by_text(selected).inner_text()
        bar.get_by_role("button", name=pin, exact=True).click()
        inspector.settle()
        stored = page_of(user_id=user, limit=200)["entries"]
        assert sorted(one["id"] for one in stored if one["pinned"]) == sorted(chosen)
        with page.expect_download() as download:
            bar.get_by_role("button", name=export).click()
        with open(download.value.path(), encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        assert sorted(line["id"] for line in lines) == sorted(chosen) and lines[0]["text"] in texts
        inspector.screenshot(f"selection-{language}-{width}")
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        bar.get_by_role("button", name=delete).click()
        page.get_by_role("dialog").get_by_text("2").first.wait_for()
        page.get_by_role("dialog").get_by_role("button", name=delete).click()
        page.get_by_role("dialog").wait_for(state="detached")
        inspector.settle()
        left = [one["id"] for one in page_of(user_id=user, limit=200)["entries"]]
        assert sorted(left) == sorted(id for id in ids.values() if id not in chosen)
        assert sorted(ids_on(page)) == sorted(left)


def check_addition(browser):
    """A memory that a person writes is stored; a tool's memory waits for a review in this store."""
    for user, language, width, words in (
            ("adds", "en", 390, ["Add a memory", "What should be remembered?", "Pin it", "Add", "waits for a review"]),
            ("tianjia", "zh", 1280, ["添加记忆", "要记住什么？", "置顶：", "添加", "正在等待审核"])):
        add, label, pin, save, done = words
        inspector = browser.open("memories", user_id=user, language=language, width=width)
        page = inspector.page
        page.get_by_role("button", name=add).click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label(label).fill("My brother Otto repairs clocks.")
        dialog.get_by_label(pin).check()
        dialog.get_by_role("button", name=save, exact=True).click()
        page.get_by_text(done).wait_for()
        inspector.settle()
        [stored] = page_of(user_id=user)["entries"]
        assert stored["text"] == "My brother Otto repairs clocks." and stored["pinned"] and stored["kind"] == "note"
        assert "Otto" in page.locator(".turn").inner_text()


def check_live(browser):
    """What another program stores appears by itself; who reads further down is only told so."""
    store("live", *[f"Line {number} of a list" for number in range(60)])
    inspector = browser.open("memories", user_id="live", language="zh")
    page = inspector.page
    store("live", "Something happened in Oslo")
    page.locator(".turn", has_text="Oslo").wait_for()
    scroll(page, "scrollTo(0, 1500)")
    inspector.settle()
    store("live", "Something happened in Turku")
    page.get_by_text("有新内容存入").wait_for(state="attached")
    assert page.locator(".turn", has_text="Turku").count() == 0 and page.evaluate("scrollY") > 1000
    page.get_by_role("button", name="显示", exact=True).last.click()
    page.locator(".turn", has_text="Turku").wait_for()

    hidden = "Object.defineProperty(document, 'hidden', { get: () => window.isHidden === true });"
    inspector = browser.open("memories", user_id="live", scripts=[hidden])
    page = inspector.page
    page.evaluate("window.isHidden = true")
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    page.wait_for_timeout(6000)
    assert requests == [], f"a hidden tab asks the server: {requests}"


def check_empty(browser):
    inspector = browser.open("memories")
    assert inspector.page.get_by_text("Choose a user", exact=True).is_visible()
    inspector = browser.open("memories", user_id="nobody", language="zh")
    assert inspector.page.get_by_text("还没有内容").is_visible()


with Browser() as browser:
    check_order(browser)
    check_pages()
    check_access()
    check_derived(browser)
    check_time_travel(browser)
    check_filters(browser)
    check_long_list(browser)
    check_empty(browser)
    check_actions(browser)
    check_selection(browser)
    check_addition(browser)
    check_live(browser)
