"""Retractions are restored, waiting memories are reviewed, and branches and merges are listed."""

from support.api import request
from support.page import KEY_ANNA, KEYED_URL, Browser


def retractions(user):
    return request("GET", f"/api/records/retractions?user_id={user}").json["retractions"]


def waiting(user):
    return request("GET", f"/api/review?user_id={user}").json["pending"]


def check_restore(browser):
    [before] = retractions("lin")
    assert before["reason"] == "The cat is one year old, not Lin.", before
    inspector = browser.open("undo", user_id="lin")
    page = inspector.page
    card = page.locator(f'article[data-retraction="{before["id"]}"]')
    assert before["reason"] in card.inner_text(), card.inner_text()
    texts = request("GET", f"/api/inspector/undo/records?user_id=lin&ids={','.join(before['records'])}").json["records"]
    card.get_by_role("button", name="Show all records").click()
    inspector.settle()
    for record in texts:
        assert record["text"] in card.inner_text(), card.inner_text()

    # Escape closes the dialog, restores nothing, and returns the focus.
    restore = card.get_by_role("button", name="Restore")
    restore.click()
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="hidden")
    assert restore.evaluate("element => element === document.activeElement")
    assert retractions("lin") == [before]

    restore.click()
    page.get_by_role("dialog").get_by_role("button", name="Restore").click()
    inspector.settle()
    assert page.get_by_text("Nothing is retracted").is_visible()
    # Summaries and profiles are written again, and not restored.
    count = sum(record["kind"] not in ("summary", "profile") for record in texts)
    shown = page.get_by_role("status").first.inner_text()
    assert count >= 1 and f"{count} of {len(before['records'])} records" in shown, shown
    assert retractions("lin") == []
    states = request("GET", f"/api/inspector/undo/records?user_id=lin&ids={before['records'][0]}").json["records"]
    assert states[0]["state"] != "revoked", states


def check_large_retraction(browser):
    """A retraction with more records than a page: all of them are counted, and can be read."""
    turns = request("GET", "/api/inspector/timeline?user_id=anna&kind=turn&limit=200").json["entries"]
    ids = [turn["id"] for turn in turns][:60]
    retracted = request("POST", "/api/records/retract", body={"user_id": "anna", "ids": ids, "reason": "测试"}).json
    count = len(retracted["records"])
    assert count > 50, count
    inspector = browser.open("undo", user_id="anna")
    card = inspector.page.locator(f'article[data-retraction="{retracted["id"]}"]')
    assert f"{count} records" in card.inner_text() and "测试" in card.inner_text()
    card.get_by_role("button", name="Show all records").click()
    inspector.settle()
    assert card.locator(".record-texts li").count() == 50
    while card.get_by_role("button", name="Show more").count():
        card.get_by_role("button", name="Show more").click()
        inspector.settle()
    assert card.locator(".record-texts li").count() == count
    body = {"user_id": "anna", "retraction": retracted["id"]}
    assert request("POST", "/api/records/restore", body=body).status == 200


def check_review(browser):
    [pending] = waiting("lin")
    inspector = browser.open("undo", user_id="lin", tab="review")
    page = inspector.page
    card = page.locator(f'article[data-id="{pending["id"]}"]')
    assert pending["text"] in card.inner_text()
    card.get_by_role("button", name="Reject").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("one cat is enough")
    dialog.get_by_role("button", name="Reject").click()
    inspector.settle()
    assert waiting("lin") == []
    assert [retraction["reason"] for retraction in retractions("lin")] == ["one cat is enough"]

    page.get_by_role("button", name="Undo the rejection").click()
    inspector.settle()
    assert [memory["id"] for memory in waiting("lin")] == [pending["id"]]
    assert retractions("lin") == []

    page.get_by_label("Select all on this page").check()
    page.get_by_role("button", name="Accept selected").click()
    inspector.settle()
    assert waiting("lin") == []
    assert page.get_by_text("Nothing waits for a review").is_visible()


def check_edit(browser):
    """A key of one user need not name them, and reviews in Chinese."""
    [pending] = waiting("anna")
    inspector = browser.open("undo", url=KEYED_URL, key=KEY_ANNA, tab="review", language="zh")
    page = inspector.page
    page.locator(f'article[data-id="{pending["id"]}"]').get_by_role("button", name="修改").click()
    text = page.get_by_role("dialog").get_by_role("textbox")
    assert text.input_value() == pending["text"]
    text.fill("Anna wants to run a marathon")
    page.get_by_role("dialog").get_by_role("button", name="接受此文本").click()
    inspector.settle()
    assert waiting("anna") == []
    assert page.get_by_text("没有待审核的记忆").is_visible()
    facts = request("GET", "/api/inspector/timeline?user_id=anna&kind=fact&limit=200").json["entries"]
    states = [fact["state"] for fact in facts if "marathon" in fact["text"] and "half" not in fact["text"]]
    assert states == ["active"], facts


def check_branches(browser):
    inspector = browser.open("undo", user_id="lin", tab="branches")
    card = inspector.page.locator('article[data-branch="hand-over"]')
    text = card.inner_text()
    assert "2026-04-04-night" in text and "after message 6" in text and "2 records of its own" in text, text
    [branch] = request("GET", "/api/inspector/undo/branches?user_id=lin").json["branches"]
    assert branch["last_shared"]["text"] in text and branch["at"] == 6, branch
    href = card.get_by_role("link", name="Its memories").get_attribute("href")
    assert "branch=hand-over" in href and "session_id=2026-04-04-night" in href, href
    assert request("GET", "/api/inspector/undo/branches?user_id=anna").json["branches"] == []


def check_merges(browser):
    """Conflicts are not stored, and the page says so. The tabs work with the arrow keys."""
    inspector = browser.open("undo", user_id="lin", tab="branches")
    page = inspector.page
    page.get_by_role("tab", name="Branches").focus()
    page.keyboard.press("ArrowRight")
    inspector.settle()
    assert page.get_by_role("tab", name="Merges").get_attribute("aria-selected") == "true"
    assert "tab=merges" in page.url
    assert page.get_by_text("Conflicts of a merge are not stored").is_visible()
    assert page.get_by_text("No merge in the audit log").is_visible()
    grouped = page.evaluate("""async () => {
      const { mergesOf } = await import('/ui/views/undo.js');
      const entry = (sequence, at, more) => ({ sequence, at, key: 'cli:mo', operation: 'merge', count: 500, ...more });
      return mergesOf([
        entry(9, '2026-04-20T10:07:00Z', { count: 20 }), entry(8, '2026-04-20T10:04:00Z'),
        entry(7, '2026-04-20T10:00:00Z', { operation: 'import' }),
        entry(6, '2026-04-20T09:00:00Z', { outcome: 'failed', error: 'conflict' }), entry(5, '2026-04-20T09:00:00Z'),
      ]);
    }""")
    figures = [(merge["sequence"], merge["entries"], merge["records"], merge["error"]) for merge in grouped]
    assert figures == [(8, 2, 520, None), (5, 2, 500, "conflict")], figures


def check_access():
    """A key of one user reads neither records nor branches of another."""
    [lins] = request("GET", "/api/inspector/undo/branches?user_id=lin").json["branches"]
    for path in (f"records?user_id=lin&ids={lins['last_shared']['id']}", "branches?user_id=lin"):
        response = request("GET", f"/api/inspector/undo/{path}", key=KEY_ANNA, url=KEYED_URL)
        assert response.status == 403, response
    own = request("GET", f"/api/inspector/undo/records?ids={lins['last_shared']['id']}", key=KEY_ANNA, url=KEYED_URL)
    assert own.json == {"records": [], "missing": [lins["last_shared"]["id"]]}, own
    for path, problem in [
        ("records?user_id=lin&ids=", "from 1 to 500"), ("records?user_id=lin&ids=x", "id"),
        ("records?user_id=lin", "ids"), ("branches?user_id=lin&limit=0", "from 1 to 100"),
        ("branches?user=lin", "user"), ("branches?user_id=lin&cursor=x", "cursor"),
    ]:
        response = request("GET", f"/api/inspector/undo/{path}")
        assert response.status == 400 and problem in response.json["detail"], (path, response)


check_access()
with Browser() as browser:
    check_restore(browser)
    check_large_retraction(browser)
    check_review(browser)
    check_edit(browser)
    check_branches(browser)
    check_merges(browser)
    # Without a user, the page says what to do.
    assert browser.open("undo").page.get_by_text("Choose a user").is_visible()
