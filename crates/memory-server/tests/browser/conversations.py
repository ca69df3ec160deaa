"""Conversations: the list with titles, one of them as a chat, and its deletion."""

from support.api import request
from support.page import KEY_ANNA, KEYED_URL, Browser


def get(path):
    response = request("GET", path)
    assert response.status == 200, response
    return response.json


def sessions(user):
    return [one for one in get(f"/api/inspector/addresses?user_id={user}")["addresses"] if one.get("session_id")]


def turns(user, place):
    query = "".join(f"&{name}={place[name]}" for name in ("agent_id", "session_id", "branch") if place.get(name))
    return get(f"/api/inspector/timeline?user_id={user}&kind=turn&order=oldest&limit=200{query}")["entries"]


def check_list(browser):
    """Each conversation has the first words of the user, its date and the number of its messages."""
    for user, language, width, word in (("anna", "en", 1280, "messages"), ("lin", "zh", 390, "条消息")):
        inspector = browser.open("conversations", user_id=user, language=language, width=width)
        page = inspector.page
        expected = sessions(user)
        rows = page.locator(".conversation")
        assert rows.count() == min(len(expected), 15)
        for number, place in enumerate(expected[:15]):
            row, stored = rows.nth(number), turns(user, place)
            first = next(turn for turn in stored if turn["role"] == "user")
            title = row.locator(".conversation-title").inner_text()
            assert first["text"].startswith(title.rstrip("…")) and len(title) > 5, (title, first["text"])
            if not place.get("branch"):
                assert f"{len(stored)}" in row.inner_text() and word in row.inner_text(), row.inner_text()
            assert place["session_id"] in row.inner_text() and (place.get("agent_id") or "") in row.inner_text()
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        inspector.screenshot(f"conversations-{language}-{width}")


def check_chat(browser):
    """The messages are in reading order, with what was learned from each."""
    inspector = browser.open("conversations", user_id="anna", width=390)
    page = inspector.page
    page.locator(".conversation-title", has_text="Anna Weber").click()
    inspector.settle()
    [place] = [one for one in sessions("anna") if one["session_id"] in page.url]
    stored = turns("anna", place)
    bubbles = page.locator(".bubble")
    assert bubbles.evaluate_all("all => all.map(one => one.dataset.id)") == [turn["id"] for turn in stored]
    times = [turn["occurred_at"] for turn in stored]
    assert times == sorted(times) and len(times) > 3
    allergy = bubbles.filter(has_text="peanuts").first
    allergy.locator(".learned a").first.click()
    inspector.settle()
    assert page.locator("h1").inner_text() == "Memory"
    assert "peanuts" in page.locator(".fact-heading").inner_text()
    page.go_back()
    inspector.settle()
    page.get_by_role("link", name="All conversations").click()
    inspector.settle()
    assert page.locator(".conversation").count() == len(sessions("anna"))


def check_start_at_a_message(browser):
    """A list that begins at a message has the earlier ones above it on demand."""
    place = sessions("lin")[-1]
    stored = turns("lin", place)
    middle = stored[len(stored) // 2]
    inspector = browser.open("conversations", user_id="lin", session_id=place["session_id"], agent_id=place["agent_id"],
                             at=middle["occurred_at"], turn=middle["id"], language="zh")
    page = inspector.page
    bubbles = page.locator(".bubble")
    assert bubbles.first.get_attribute("data-id") == middle["id"]
    assert "chosen" in bubbles.first.get_attribute("class")
    page.get_by_role("button", name="更早的消息").click()
    inspector.settle()
    assert bubbles.count() == len(stored)
    assert bubbles.first.get_attribute("data-id") == stored[0]["id"]


def check_live(browser):
    """A conversation that begins while the list is open appears in it, and its next message in the open chat."""
    def say(text):
        body = {"messages": [{"role": "user", "content": text}], "user_id": "live", "run_id": "ferry"}
        assert request("POST", "/memories", body=body).status == 200

    inspector = browser.open("conversations", user_id="live", language="zh")
    page = inspector.page
    assert page.get_by_text("还没有对话").is_visible()
    say("Which ferry goes to Hydra?")
    page.locator(".conversation-title").click()
    page.locator(".bubble").wait_for()
    say("And when does it come back?")
    page.locator(".bubble", has_text="come back").wait_for()


def check_retract(browser):
    inspector = browser.open("conversations", user_id="lin", session_id="2026-03-02-evening", language="zh")
    page = inspector.page
    bubble = page.locator(".bubble").nth(1)
    bubble.locator("summary").click()
    bubble.get_by_role("button", name="撤回").click()
    page.get_by_role("dialog").get_by_role("button", name="撤回").click()
    inspector.settle()
    assert bubble.locator(".memory-text.struck").count() == 1


def check_delete_message(browser):
    """A message is deleted for good where it stands, with what was learned from it."""
    inspector = browser.open("conversations", user_id="lin", session_id="2026-03-02-evening", language="zh", width=390)
    page = inspector.page
    bubble = page.locator(".bubble", has=page.locator(".learned")).first
    id, learned = bubble.get_attribute("data-id"), bubble.locator(".learned a").first.inner_text()
    bubble.locator("summary").click()
    bubble.get_by_role("button", name="永久删除").click()
    page.get_by_role("dialog").get_by_role("button", name="永久删除").click()
    page.locator(f'.bubble[data-id="{id}"]').wait_for(state="detached")
    facts = get("/api/inspector/facts?user_id=lin&state=all&limit=500")["facts"]
    assert facts and learned not in [fact["text"] for fact in facts]


def check_delete(browser):
    """Only the chosen conversation is deleted, after a dialog that says how much goes."""
    place = sessions("anna")[-1]
    others = [one["session_id"] for one in sessions("anna")[:-1]]
    inspector = browser.open("conversations", user_id="anna", session_id=place["session_id"])
    page = inspector.page
    page.get_by_role("button", name="Delete", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("are deleted").wait_for()
    body = {"user_id": "anna", "session_id": place["session_id"], "everything": True}
    preview = request("POST", "/api/inspector/deletion-preview", body=body).json
    assert f"{preview['records']} records" in dialog.inner_text()
    dialog.get_by_role("button", name="Cancel").click()
    assert len(sessions("anna")) == len(others) + 1
    page.get_by_role("button", name="Delete", exact=True).click()
    dialog.get_by_role("button", name="Delete for good").click()
    page.get_by_text("The conversation was deleted").wait_for()
    inspector.settle()
    assert [one["session_id"] for one in sessions("anna")] == others
    assert page.locator(".conversation").count() == len(others)
    assert not turns("anna", place)


def check_owners(browser):
    inspector = browser.open("conversations")
    inspector.page.locator("main").get_by_role("link", name="lin").click()
    inspector.settle()
    assert inspector.page.locator(".conversation").count() > 5
    own = browser.open("conversations", url=KEYED_URL, key=KEY_ANNA)
    shown = own.page.locator(".conversation").evaluate_all("all => all.map(one => one.dataset.session)")
    assert sorted(shown) == sorted(one["session_id"] for one in sessions("anna"))
    own.page.get_by_role("link", name="outside of conversations").click()
    own.settle()
    assert own.page.locator("h1").inner_text() == "Memories" and own.page.locator(".turn").count() > 5
    empty = browser.open("conversations", user_id="nobody", language="zh")
    assert empty.page.get_by_text("还没有对话").is_visible()


with Browser() as browser:
    check_list(browser)
    check_chat(browser)
    check_start_at_a_message(browser)
    check_owners(browser)
    check_live(browser)
    check_retract(browser)
    check_delete_message(browser)
    check_delete(browser)
