"""The audit log and the server: filters, pages, the check of the log, and what a key of one user sees."""

from support.api import request
from support.page import KEY_ANNA, KEYED_URL, Browser


def get(path, **options):
    response = request("GET", path, **options)
    assert response.status == 200, response
    return response.json


def check_filters(browser):
    deleted = get("/api/audit?user_id=lin&action=delete&limit=50")["entries"]
    assert deleted
    inspector = browser.open("audit", user_id="lin", language="zh", width=390)
    page = inspector.page
    page.get_by_label("操作").select_option(label="删除")
    inspector.settle()
    assert page.locator("tbody tr").count() == len(deleted) and "action=delete" in page.url
    page.get_by_label("操作").select_option(label="全部")
    page.get_by_label("密钥").fill("engine")
    page.keyboard.press("Enter")
    inspector.settle()
    assert "key=engine" in page.url
    cells = page.locator("tbody tr td:nth-child(5)").all_inner_texts()
    assert cells and set(cells) == {"engine"}, set(cells)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    inspector.screenshot("audit-zh-390")


def check_pages(browser):
    """The pages go on at the entry before, and an entry about one record opens it."""
    inspector = browser.open("audit", user_id="anna")
    page = inspector.page
    assert page.locator("tbody tr").count() == 50
    page.get_by_role("button", name="Older").click()
    inspector.settle()
    after = page.url.split("after=")[1]
    second = get(f"/api/audit?user_id=anna&limit=50&after={after}")["entries"]
    assert second and int(after) > second[0]["sequence"]
    assert page.locator("tbody tr").count() == len(second)
    page.get_by_role("button", name="Newest").click()
    inspector.settle()
    assert "after=" not in page.url
    inspector.visit("audit", user_id="anna", action="write")
    stored = next(one for one in get("/api/audit?user_id=anna&action=write")["entries"] if one["count"] == 1)
    page.locator("tbody tr a").first.click()
    inspector.settle()
    assert stored["records"][0] in page.url and page.locator("h1").inner_text() == "Memory"


def check_verification(browser):
    inspector = browser.open("audit")
    inspector.page.get_by_role("button", name="Check the whole log").click()
    inspector.page.get_by_text("Intact").wait_for()


def check_server(browser):
    """The view names the database and the key; a key of one user sees neither the file nor the check of the log."""
    users = get("/api/inspector/users")
    inspector = browser.open("server", user_id="anna")
    text = inspector.page.locator("main").inner_text()
    assert users["database"] in text and "all users" in text and "gateway" in text
    assert inspector.page.get_by_text("Nothing is kept out").is_visible()
    body = {"user_id": "anna", "text": "bacalhau", "redact": True, "standing": True}
    kept = request("POST", "/api/deletions", body=body)
    assert kept.status == 200, kept
    [entry] = get("/api/deletions/standing?user_id=anna")["standing"]
    inspector.page.reload()
    inspector.settle()
    assert entry["id"] in inspector.page.locator("main").inner_text()
    own = browser.open("server", url=KEYED_URL, key=KEY_ANNA, language="zh", width=390)
    text = own.page.locator("main").inner_text()
    assert users["database"] not in text and "anna's key" in text and "lin" not in text.lower().split()
    own.visit("audit")
    assert own.page.locator("tbody tr").count() > 5 and own.page.get_by_role("button", name="检查整个日志").count() == 0


with Browser() as browser:
    check_filters(browser)
    check_pages(browser)
    check_verification(browser)
    check_server(browser)
