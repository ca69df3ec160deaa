"""What it knows: the sentences about a person by topic, where they come from, and how to correct and forget them."""

from support.api import request
from support.page import KEY_ANNA, KEYED_URL, Browser

FACTS = "/api/inspector/facts"


def get(path):
    response = request("GET", path)
    assert response.status == 200, response
    return response.json


def facts(user, state="current"):
    return get(f"{FACTS}?user_id={user}&state={state}&limit=500")["facts"]


def sentence(page, text):
    found = page.locator(".sentence").filter(has_text=text)
    assert found.count() == 1, f"{found.count()} sentences contain {text}"
    return found


def show_all(page):
    while page.locator(".topic > button").count():
        page.locator(".topic > button").first.click()


def check_sentences(browser):
    """Every current fact is shown once, below its topic, with those of the core marked."""
    for user, language, width in (("anna", "en", 1280), ("lin", "zh", 390)):
        inspector = browser.open("about", user_id=user, language=language, width=width)
        page = inspector.page
        show_all(page)
        shown = page.locator(".sentence").evaluate_all("all => all.map(one => one.dataset.id)")
        assert len(shown) == len(set(shown)), "a sentence is shown twice"
        assert {fact["id"] for fact in facts(user)} <= set(shown)
        core = get(f"/api/records/core?user_id={user}")["memories"]
        label = {"en": "in every prompt", "zh": "每次提示都有"}[language]
        marked = page.locator(".sentence", has=page.locator(".badge.info", has_text=label))
        ids = marked.evaluate_all("all => all.map(one => one.dataset.id)")
        assert set(ids) == {memory["id"] for memory in core if memory["included"]}, user
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        inspector.screenshot(f"about-{language}-{width}", full_page=True)


def check_topics(browser):
    page = browser.open("about", user_id="anna").page
    show_all(page)
    topics = {topic.locator("h2").inner_text(): topic.inner_text() for topic in page.locator(".topic").all()}
    for topic, value in [("Health", "peanuts"), ("Home", "Cascais"), ("People and animals", "violinist"),
                         ("Work and studies", "nurse"), ("Likes and habits", "coffee")]:
        assert value in topics[topic], (topic, topics[topic])
    text = page.locator(".topics").inner_text()
    assert "Porto." not in text.replace("boyfriend lives in Porto.", ""), "a home of the past is shown"


def check_source(browser):
    """A sentence shows the words that state it, and leads to the message in its conversation."""
    inspector = browser.open("about", user_id="lin", language="zh")
    page = inspector.page
    [allergy] = [fact for fact in facts("lin") if fact["attribute"] == "allergy"]
    one = sentence(page, allergy["text"])
    one.get_by_role("button", name=allergy["text"]).press("Enter")
    inspector.settle()
    [source] = get(f"{FACTS}/{allergy['id']}?user_id=lin")["sources"]
    assert source["quote"] in one.locator("mark").inner_text()
    one.get_by_role("link", name="打开对话").click()
    inspector.settle()
    assert page.locator("h1").inner_text() == "对话"
    chosen = page.locator(".bubble.chosen")
    assert chosen.get_attribute("data-id") == source["id"] and allergy["text"] in chosen.inner_text()


def waiting(page):
    count = page.locator("nav .count")
    return int(count.locator("[aria-hidden]").inner_text()) if count.count() else 0


def check_review(browser):
    """What waits is on top, and its number in the navigation of every view."""
    [pending] = facts("anna", "pending")
    inspector = browser.open("facts", user_id="anna")
    assert waiting(inspector.page) == 1
    inspector.visit("about", user_id="anna")
    page = inspector.page
    panel = page.locator(".waiting")
    assert pending["text"] in panel.inner_text()
    panel.get_by_role("button", name="Reject").click()
    page.get_by_role("dialog").get_by_role("button", name="Reject").click()
    page.get_by_text("1 memory was rejected").wait_for()
    inspector.settle()
    assert page.locator(".waiting").count() == 0 and waiting(page) == 0
    page.get_by_role("button", name="Undo the rejection").click()
    inspector.settle()
    assert waiting(page) == 1
    page.locator(".waiting").get_by_role("button", name="Accept").click()
    inspector.settle()
    assert sentence(page, pending["text"]).is_visible() and waiting(page) == 0
    assert pending["id"] in [fact["id"] for fact in facts("anna")]


def check_correction(browser):
    inspector = browser.open("about", user_id="anna")
    page = inspector.page
    [old] = [fact for fact in facts("anna") if fact["attribute"] == "job" and fact["subject"] == "user"]
    sentence(page, old["text"]).get_by_role("button", name="Wrong?").click()
    field = page.get_by_label("The right sentence")
    assert field.input_value() == old["text"]
    field.fill("The user works as a midwife.")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("The sentence was corrected").wait_for()
    inspector.settle()
    assert sentence(page, "midwife").is_visible()
    assert page.locator(".topics").get_by_text(old["text"]).count() == 0
    assert old["id"] in [fact["id"] for fact in facts("anna", "ended")]


def check_retraction(browser):
    """A sentence that is not true does not count any more, and no older one counts in its place."""
    inspector = browser.open("about", user_id="anna", width=390)
    page = inspector.page
    [wrong] = [fact for fact in facts("anna") if fact["attribute"] == "workplace"]
    before = {fact["id"] for fact in facts("anna")}
    sentence(page, wrong["text"]).get_by_role("button", name="Wrong?").click()
    page.get_by_label("It is not true").check()
    page.get_by_label("Reason").fill("never worked there")
    page.get_by_role("dialog").get_by_role("button", name="Retract").click()
    page.get_by_text("It no longer counts").wait_for()
    inspector.settle()
    assert {fact["id"] for fact in facts("anna")} == before - {wrong["id"]}
    page.get_by_role("link", name="Restore it in “Undo”").click()
    inspector.settle()
    assert page.get_by_text("never worked there").is_visible()


def check_forgetting(browser):
    """The dialog names the message that says it; afterwards the fact is gone for good."""
    inspector = browser.open("about", user_id="lin", language="zh", width=390)
    page = inspector.page
    [fact] = [fact for fact in facts("lin") if fact["attribute"] == "home"]
    [source] = get(f"{FACTS}/{fact['id']}?user_id=lin")["sources"]
    one = sentence(page, fact["text"])
    one.get_by_role("button", name="忘掉这条").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text(source["record"]["text"]).wait_for()
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    assert fact["id"] in [one["id"] for one in facts("lin")], "Escape has deleted it"
    one.get_by_role("button", name="忘掉这条").click()
    dialog.get_by_role("button", name="永久删除").click()
    page.get_by_text("已永久删除").wait_for()
    inspector.settle()
    assert request("GET", f"{FACTS}/{fact['id']}?user_id=lin").status == 404
    assert page.get_by_text(fact["text"]).count() == 0


def check_users(browser):
    """With several users one is chosen from a list, also one that the list does not have."""
    inspector = browser.open("about")
    page = inspector.page
    page.locator("main").get_by_role("link", name="anna").click()
    inspector.settle()
    assert "user_id=anna" in page.url and page.locator(".topic").count() > 3
    inspector = browser.open("about", url=KEYED_URL, key=KEY_ANNA)
    assert inspector.page.locator(".topic").count() > 3, "a single user has to be chosen"
    many = get("/api/inspector/users")
    many["users"] = [{**many["users"][0], "user_id": f"user{number:04}"} for number in range(1000)]
    inspector = browser.open()
    page = inspector.page
    page.route("**/api/inspector/users", lambda route: route.fulfill(json={**many, "total": 3000}))
    inspector.visit("about")
    assert "3,000" in page.locator("main").inner_text()
    page.get_by_label("Find a user").fill("anna")
    page.get_by_role("link", name="Open the user “anna”").click()
    inspector.settle()
    assert page.locator(".topic").count() > 3
    empty = browser.open("about", user_id="nobody", language="zh")
    assert empty.page.get_by_text("还没有了解到什么").is_visible()


with Browser() as browser:
    check_sentences(browser)
    check_topics(browser)
    check_source(browser)
    check_users(browser)
    check_review(browser)
    check_correction(browser)
    check_retraction(browser)
    check_forgetting(browser)
