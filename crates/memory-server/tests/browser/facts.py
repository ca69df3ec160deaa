"""Facts: the list with its filters, the page of a fact with its history and sources, and every action on it."""

from support.api import request
from support.page import KEY_ANNA, KEY_LIN, KEYED_URL, Browser

PATH = "/api/inspector/facts"


def facts(query, **options):
    response = request("GET", f"{PATH}?{query}", **options)
    assert response.status == 200, response
    return response.json


def the_fact(query, value):
    """Returns the only fact with this value."""
    found = [fact for fact in facts(query)["facts"] if fact["value"] == value]
    assert len(found) == 1, f"{len(found)} facts have the value {value}: {found}"
    return found[0]


def shown_values(page):
    return page.locator(".fact-subject .fact-link").all_inner_texts()


def check_list(browser):
    inspector = browser.open("facts", user_id="anna")
    page = inspector.page
    current = facts("user_id=anna")
    assert shown_values(page) == [fact["text"] for fact in current["facts"]]
    assert page.get_by_role("heading", name="User", exact=True).is_visible()
    page.get_by_label("Filter").fill("PEANUTS")
    page.wait_for_url("**text=PEANUTS**")
    inspector.settle()
    assert shown_values(page) == ["The user is allergic to peanuts."]
    page.get_by_label("Filter").fill("no fact has this text")
    page.wait_for_url("**no+fact**")
    inspector.settle()
    assert page.get_by_text("No such facts").is_visible()
    page.get_by_role("link", name="Remove the filters").click()
    inspector.settle()
    assert len(shown_values(page)) == current["total"]
    page.get_by_label("Kind").select_option("preference")
    inspector.settle()
    preferences = [fact["text"] for fact in current["facts"] if fact["kind"] == "preference"]
    assert 0 < len(preferences) < current["total"]
    assert shown_values(page) == preferences


def check_pages(query):
    """The pages contain the facts of the list, each once."""
    everything = facts(f"{query}&state=all&limit=500")
    ids, cursor = [], ""
    while True:
        page = facts(f"{query}&state=all&limit=3&cursor={cursor}")
        assert page["total"] == everything["total"]
        ids += [fact["id"] for fact in page["facts"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert len(ids) > 6
    assert ids == [fact["id"] for fact in everything["facts"]]


def check_history(browser):
    """An ended fact names the one that replaced it; both show when they held, and the words that state them."""
    porto = the_fact("user_id=anna&state=ended&attribute=home", "Porto")
    inspector = browser.open("facts", user_id="anna", state="ended")
    page = inspector.page
    page.get_by_role("link", name=porto["text"]).click()
    inspector.settle()
    assert page.evaluate("document.activeElement.textContent").startswith(porto["text"])
    detail = page.locator("main")
    homes = detail.locator(".history").first.locator("li")
    assert homes.count() >= 2
    assert "Porto" in homes.first.inner_text()
    newer = request("GET", f"{PATH}/{porto['superseded_by']}?user_id=anna").json["fact"]
    replaced = detail.get_by_role("heading", name="Replaced by").locator("+ ul")
    assert newer["text"] in replaced.inner_text()
    assert detail.locator("mark").first.inner_text() in "Hi! My name is Anna Weber and I live in Porto."
    detail.get_by_role("link", name="Open this memory").first.click()
    inspector.settle()
    assert "I live in Porto" in page.locator(".record-page .memory-text").inner_text()


def check_contradictions(browser):
    count = facts("user_id=anna")["counts"]["contradicting"]
    assert count >= 2, "the memory of the test has no contradiction"
    inspector = browser.open("facts", user_id="anna")
    page = inspector.page
    page.get_by_label(f"Only contradictions ({count})").check()
    inspector.settle()
    assert len(shown_values(page)) == count
    shown = shown_values(page)
    page.locator(".fact-subject .fact-link").first.click()
    inspector.settle()
    opened = page.locator(".fact-heading").inner_text()
    other = page.locator(".contradictions .fact-link").first.inner_text()
    assert other != opened and other in shown and opened in shown


def check_edit(browser):
    allergy = the_fact("user_id=anna&attribute=allergy", "peanuts")
    inspector = browser.open("record", user_id="anna", id=allergy["id"])
    page = inspector.page
    edit = page.get_by_role("button", name="Edit")
    edit.click()
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="detached")
    assert edit.evaluate("element => element === document.activeElement"), "the focus is lost after the dialog"
    edit.click()
    page.get_by_role("dialog").get_by_label("New sentence").fill("I am allergic to walnuts.")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url(lambda url: allergy["id"] not in url)
    inspector.settle()
    edited = the_fact("user_id=anna&attribute=allergy", "walnuts")
    assert edited["id"] in page.url
    assert "walnuts" in page.locator(".fact-heading").inner_text()
    inspector.visit("facts", user_id="anna")
    assert edited["text"] in shown_values(page)
    assert allergy["id"] in [fact["id"] for fact in facts("user_id=anna&state=ended")["facts"]]


def check_pending(browser):
    """A fact that waits for a review can be accepted, accepted with another text, and rejected."""
    pending = facts("user_id=anna&state=pending")["facts"]
    assert len(pending) == 1
    inspector = browser.open("record", user_id="anna", id=pending[0]["id"])
    page = inspector.page
    page.get_by_role("button", name="Accept with changes").click()
    page.get_by_role("dialog").get_by_label("New sentence").fill("Anna wants to run a marathon in spring")
    page.get_by_role("button", name="Save").click()
    page.locator("dialog").wait_for(state="detached")
    inspector.settle()
    assert the_fact("user_id=anna", "Anna wants to run a marathon in spring")["state"] == "current"

    [cat] = facts("user_id=lin&state=pending")["facts"]
    inspector = browser.open("record", user_id="lin", id=cat["id"], language="zh")
    page = inspector.page
    page.get_by_role("button", name="接受", exact=True).click()
    page.get_by_text("该事实从现在起生效").wait_for()
    assert the_fact("user_id=lin", "小林想养第二只猫")["state"] == "current"


def check_retire_and_pin(browser):
    cat = the_fact("user_id=lin", "小林想养第二只猫")
    inspector = browser.open("record", user_id="lin", id=cat["id"])
    page = inspector.page
    page.get_by_role("button", name="Pin", exact=True).click()
    page.get_by_role("button", name="Unpin").wait_for()
    assert the_fact("user_id=lin", cat["value"])["is_pinned"]
    page.get_by_role("button", name="Retract").click()
    page.get_by_label("Reason").fill("one cat is enough")
    page.get_by_role("dialog").get_by_role("button", name="Retract").click()
    page.get_by_text("The fact no longer counts").wait_for()
    inspector.settle()
    retired = facts("user_id=lin&state=retired")["facts"]
    assert cat["id"] in [fact["id"] for fact in retired]
    page.get_by_role("link", name="Undo").last.click()
    inspector.settle()
    assert page.get_by_text("one cat is enough").is_visible()


def check_delete(browser):
    """A fact that was deleted leaves the list, and the page shows no error."""
    [fact] = [fact for fact in facts("user_id=anna")["facts"] if fact["attribute"].startswith("pet")]
    inspector = browser.open("record", user_id="anna", id=fact["id"])
    page = inspector.page
    page.get_by_role("button", name="Delete for good").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete for good").click()
    page.get_by_text("The memory was deleted for good").wait_for()
    inspector.visit("facts", user_id="anna")
    assert fact["text"] not in shown_values(page) and page.get_by_role("alert").count() == 0
    assert request("GET", f"{PATH}/{fact['id']}?user_id=anna").status == 404


def check_keyboard(browser):
    inspector = browser.open("facts", user_id="lin", language="zh")
    page = inspector.page
    page.get_by_role("tab").first.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        inspector.settle()
    assert "state=retired" in page.url
    retired = facts("user_id=lin&state=retired")["facts"]
    assert retired and shown_values(page) == [fact["text"] for fact in retired]
    page.locator(".fact-subject .fact-link").first.focus()
    page.keyboard.press("Enter")
    inspector.settle()
    assert page.evaluate("document.activeElement.textContent").startswith(retired[0]["text"])


def check_access():
    """A key of one user gets neither facts nor counts of another."""
    of_anna = facts("user_id=anna")["facts"][0]["id"]
    assert request("GET", f"{PATH}?user_id=anna", key=KEY_LIN, url=KEYED_URL).status == 403
    assert request("GET", f"{PATH}/{of_anna}?user_id=anna", key=KEY_LIN, url=KEYED_URL).status == 403
    refused = request("GET", f"{PATH}/{of_anna}", key=KEY_LIN, url=KEYED_URL)
    assert refused.status == 404 and "Anna" not in refused.text, refused
    own = facts("limit=500&state=all", key=KEY_ANNA, url=KEYED_URL)
    assert {fact["user_id"] for fact in own["facts"]} == {"anna"}
    assert own["counts"] == facts("user_id=anna")["counts"]
    faults = [("state=old", "pending"), ("limit=0", "500"), ("cursor=x", "next_cursor"), ("user=anna", "user")]
    for query, word in faults:
        response = request("GET", f"{PATH}?user_id=anna&{query}")
        assert response.status == 400 and word in response.text, f"{query}: {response}"


with Browser() as browser:
    check_list(browser)
    check_pages("user_id=anna")
    check_history(browser)
    check_contradictions(browser)
    check_keyboard(browser)
    check_edit(browser)
    check_pending(browser)
    check_retire_and_pin(browser)
    check_delete(browser)
    check_access()
