"""Getting around: keys, colours by choice, a header that fits a phone, and lists of names that are not complete."""

from support.api import request
from support.page import ROUTES, Browser

PHONE = {"width": 390, "height": 844}
FOCUSED = "() => document.activeElement.innerText"


def check_keys(browser):
    inspector = browser.open("about", user_id="anna")
    page = inspector.page
    sentences = page.locator(".sentence-text").all_inner_texts()
    page.keyboard.press("j")
    first = page.evaluate(FOCUSED)
    if first not in sentences:
        # What waits for a review comes first.
        page.keyboard.press("j")
        first = page.evaluate(FOCUSED)
    assert first == sentences[0], first
    page.keyboard.press("j")
    assert page.evaluate(FOCUSED) == sentences[1]
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    inspector.settle()
    assert page.locator(".sentence").first.locator(".origin").is_visible()

    page.keyboard.press("/")
    inspector.settle()
    assert page.locator("h1").inner_text() == "Search" and "user_id=anna" in page.url
    page.keyboard.press("/")
    field = page.get_by_label("Query")
    page.keyboard.type("jk/?")
    assert field.input_value() == "jk/?" and page.get_by_role("dialog").count() == 0
    field.evaluate("field => field.blur()")
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    assert "Next entry of a list" in dialog.inner_text()
    dialog.get_by_label("Use these keys").uncheck()
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    page.reload()
    inspector.settle()
    page.keyboard.press("?")
    page.keyboard.press("/")
    assert page.get_by_role("dialog").count() == 0 and not field.evaluate("field => field === document.activeElement")


def brightness(page):
    color = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(int(part) for part in color.removeprefix("rgb(").removesuffix(")").split(","))


def check_colours(browser):
    for scheme, name, is_dark in (("light", "Dark", True), ("dark", "Light", False)):
        inspector = browser.open("overview", user_id="anna", scheme=scheme)
        page = inspector.page
        assert (brightness(page) < 200) == (scheme == "dark")
        page.get_by_label("Colours").select_option(label=name)
        assert (brightness(page) < 200) == is_dark
        page.reload()
        inspector.settle()
        assert (brightness(page) < 200) == is_dark, "the choice is lost"
        page.get_by_label("Colours").select_option(label="Auto")
        assert (brightness(page) < 200) == (scheme == "dark")


def check_phone(browser):
    for language in ("en", "zh"):
        inspector = browser.open(language=language, **PHONE)
        page = inspector.page
        for route in ROUTES:
            inspector.visit(route, user_id="lin")
            box = page.locator("nav [aria-current=page]").bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"], f"{route} is off the navigation: {box}"
            height = page.locator("nav.views").bounding_box()
            assert height["y"] + height["height"] < 120, f"{route}: header and navigation end at {height}"
    inspector.visit("search", user_id="lin", q="我的猫叫什么")
    hit = page.locator(".hit .memory-text").first.bounding_box()
    assert hit["y"] + hit["height"] < PHONE["height"], f"the first hit is below the screen: {hit}"
    session = page.locator("header").get_by_label("会话")
    assert not session.is_visible()
    page.get_by_role("button", name="更多设置").click()
    assert session.is_visible() and page.get_by_label("语言").is_visible()
    inspector.screenshot("phone")


def check_names(browser):
    """A list that is not complete can be typed into. The file of the database is named."""
    users = request("GET", "/api/inspector/users").json
    answer = {**users, "users": users["users"][:1], "total": 2500, "database": "/srv/data/family.db"}
    inspector = browser.open()
    page = inspector.page
    page.route("**/api/inspector/users", lambda route: route.fulfill(json=answer))
    inspector.visit("overview")
    assert page.locator("header .database").inner_text().endswith("family.db")
    other = next(user["user_id"] for user in users["users"][1:])
    field = page.locator("header").get_by_label("User", exact=True)
    field.fill(other)
    field.press("Enter")
    inspector.settle()
    assert f"user_id={other}" in page.url
    records = request("GET", f"/api/inspector/overview?user_id={other}").json["totals"]["records"]
    assert f"{records:,}" in page.locator(".figure").first.inner_text()


def check_one_day(browser):
    """The chart of a first day has whole numbers, and no other year."""
    inspector = browser.open(language="en")
    page = inspector.page
    day = {"starts": ["2026-04-20T00:00:00Z"], "kinds": {"turn": [2]}, "period_days": 1}
    page.route("**/api/inspector/overview/growth*", lambda route: route.fulfill(json=day))
    page.add_init_script("""
      const drawn = window.drawn = [];
      const fillText = CanvasRenderingContext2D.prototype.fillText;
      CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
        drawn.push(text);
        return fillText.call(this, text, ...rest);
      };""")
    inspector.visit("overview", user_id="anna")
    page.wait_for_function("window.drawn.length > 3")
    labels = page.evaluate("window.drawn")
    assert not any("202" in label or "." in label for label in labels), labels
    assert {"0", "1", "2"} <= set(labels), labels


with Browser() as browser:
    check_keys(browser)
    check_colours(browser)
    check_names(browser)
    check_one_day(browser)
    check_phone(browser)
