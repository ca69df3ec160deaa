"""The page of a record: its text, its sources, what was derived from it, its history, and who changed it."""

from support.api import request
from support.page import KEY_ANNA, KEY_LIN, KEYED_URL, Browser


def get(path):
    response = request("GET", path)
    assert response.status == 200, response
    return response.json


def entries(user, kind):
    return get(f"/api/inspector/timeline?user_id={user}&kind={kind}&limit=200")["entries"]


def check_message(browser):
    """A message shows its former text, what was derived from it, its conversation, and its entries of the audit log."""
    [trip] = [one for one in entries("anna", "turn") if one["edits"]]
    page_of_kind = get("/api/inspector/timeline?user_id=anna&kind=turn&limit=200")
    derived = {one["id"]: one["text"] for one in page_of_kind["derived"] if one["id"] in trip["derived"]}
    assert derived
    former = get(f"/memories/{trip['id']}")["metadata"]["edits"][0]["text"]
    for width in (1280, 390):
        inspector = browser.open("record", user_id="anna", id=trip["id"], width=width)
        page = inspector.page
        assert page.locator(".record-page .memory-text").inner_text() == trip["text"]
        assert page.locator(".history").get_by_text(former).is_visible()
        links = page.locator(".panel", has_text="What was derived from it").locator("a")
        assert {link.get_attribute("href").split("id=")[-1] for link in links.all()} == set(derived)
        page.locator(".record-changes summary").click()
        changes = get(f"/api/audit?user_id=anna&record={trip['id']}")["entries"]
        assert page.locator(".record-changes tbody tr").count() == len(changes) > 1
        page.locator(".record-details summary").click()
        details = page.locator(".record-details dl").inner_text()
        assert trip["id"] in details and trip["session_id"] in details
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        inspector.screenshot(f"record-en-{width}", full_page=True)
    page.get_by_role("link", name="Open the conversation").click()
    inspector.settle()
    assert page.locator(".bubble.chosen").inner_text().find(trip["text"]) >= 0


def check_edit(browser):
    """A message that is edited keeps its address, and shows its former text."""
    [note] = [one for one in entries("lin", "note") if one["importance"] < 0.5]
    inspector = browser.open("record", user_id="lin", id=note["id"], language="zh", width=390)
    page = inspector.page
    page.get_by_role("button", name="修改").click()
    field = page.get_by_role("dialog").get_by_label("新的文字")
    assert field.input_value() == note["text"]
    field.fill("京都的豆腐店可以直接去。")
    page.get_by_role("button", name="保存").click()
    page.get_by_role("dialog").wait_for(state="detached")
    inspector.settle()
    assert page.locator(".record-page .memory-text").inner_text() == "京都的豆腐店可以直接去。"
    assert note["id"] in page.url and page.locator(".history").get_by_text(note["text"]).is_visible()


def check_summary(browser):
    """The page of a summary is reached from the list, and leads to its own words in the search."""
    summary = entries("lin", "summary")[0]
    inspector = browser.open("memories", user_id="lin", kind="summary", language="zh")
    page = inspector.page
    page.locator(f'.turn[data-row="{summary["id"]}"]').get_by_role("link", name="打开").click()
    inspector.settle()
    assert summary["id"] in page.url and page.locator("h1").inner_text() == "记忆详情"
    page.locator(".record-details summary").click()
    page.get_by_role("link", name="哪些检索器").click()
    inspector.settle()
    assert f"why={summary['id']}" in page.url and page.locator(".explanation").is_visible()


def check_missing(browser):
    """An unknown id and one of another user show nothing; a deleted record leaves a page that says so."""
    [note] = [one for one in entries("anna", "note") if one["pinned"]]
    other = browser.open("record", url=KEYED_URL, key=KEY_LIN, id=note["id"])
    assert other.page.get_by_text("There is no such memory").is_visible() and note["text"] not in other.page.content()
    own = browser.open("record", url=KEYED_URL, key=KEY_ANNA, id=note["id"])
    assert note["text"] in own.page.locator(".record-page").inner_text()
    inspector = browser.open("record", user_id="anna", id=note["id"], language="zh")
    page = inspector.page
    page.get_by_role("button", name="永久删除").click()
    page.get_by_role("dialog").get_by_role("button", name="永久删除").click()
    page.get_by_text("记忆已永久删除").wait_for()
    inspector.visit("memories", user_id="anna")
    inspector.visit("record", user_id="anna", id=note["id"])
    assert page.get_by_text("没有这条记忆").is_visible()


with Browser() as browser:
    check_message(browser)
    check_summary(browser)
    check_edit(browser)
    check_missing(browser)
