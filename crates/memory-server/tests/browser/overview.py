"""The overview: its figures agree with each other and with the key, in both languages and without overflow."""

import json

from support.api import request
from support.page import KEY, KEY_ANNA, KEYED_URL, Browser

OVERVIEW = "/api/inspector/overview"
GROWTH = "/api/inspector/overview/growth"
# The names of kinds that have another one on the page.
NAMES = {"turn": "message", "chunk": "part of a message", "key_moment": "key moment"}
HOSTILE = "<img src=x onerror=alert(1)> **reason**"


def get(path, **parameters):
    response = request("GET", path, **parameters)
    assert response.status == 200, response
    return response.json


def check_sums():
    """The figures of all users are the sums of those of each user."""
    whole = get(OVERVIEW)
    of_users = [get(f"{OVERVIEW}?user_id={user}") for user in ("anna", "lin")]
    for name in ("records", "tombstones", "addresses"):
        assert whole["totals"][name] == sum(figures["totals"][name] for figures in of_users), name
    for kind, records in whole["totals"]["kinds"].items():
        assert records == sum(figures["totals"]["kinds"].get(kind, 0) for figures in of_users), kind
    growth = get(GROWTH)
    assert {kind: sum(counts) for kind, counts in growth["kinds"].items()} == whole["totals"]["kinds"]
    assert len({len(counts) for counts in growth["kinds"].values()} | {len(growth["starts"])}) == 1
    users = get("/api/inspector/users")["users"]
    assert {user["user_id"]: user["records"] for user in users} == {
        "anna": of_users[0]["totals"]["records"], "lin": of_users[1]["totals"]["records"]}
    assert whole["storage"]["database_bytes"] > 100_000 and whole["server"]["backend"] == "sqlite", whole


def check_access():
    """A key of one user gets the figures of this user, and nothing of the process."""
    assert get("/api/inspector/users", key=KEY, url=KEYED_URL)["database"].endswith("memory.db")
    assert "database" not in get("/api/inspector/users", key=KEY_ANNA, url=KEYED_URL), "a key of one user sees a path"
    own = get(OVERVIEW, key=KEY_ANNA, url=KEYED_URL)
    assert own["totals"] == get(f"{OVERVIEW}?user_id=anna", key=KEY, url=KEYED_URL)["totals"]
    assert "storage" not in own and "lin" not in json.dumps(own["failures"])
    for path in (OVERVIEW, GROWTH):
        assert request("GET", path, url=KEYED_URL).status == 401
        assert request("GET", f"{path}?user_id=lin", key=KEY_ANNA, url=KEYED_URL).status == 403


def check_figures(browser):
    whole = get(OVERVIEW)["totals"]
    inspector = browser.open("overview")
    page = inspector.page
    assert f"{whole['records']:,}" in page.locator(".figure", has_text="Records").first.inner_text()
    kinds = page.locator(".panel", has=page.get_by_role("heading", name="By kind"))
    for kind, records in whole["kinds"].items():
        name = NAMES.get(kind, kind.replace("ledger/", "internal: "))
        assert f"{records:,} ·" in kinds.locator(".bar", has_text=name).first.inner_text(), kind

    # The table has the same figures as the chart: the last row of the totals, and all rows of the new records.
    page.get_by_role("button", name="Show as a table").click()
    chart = page.get_by_role("region", name="Total number of records")
    shown = [row.split("\t") for row in chart.locator("tbody tr").all_inner_texts()]
    numbers = [int(cell.replace(",", "")) for cell in shown[-1][1:]]
    assert sum(numbers) == whole["records"] and sorted(numbers, reverse=True)[0] == max(whole["kinds"].values()), shown
    page.get_by_role("tab", name="New").click()
    rows = page.locator(".chart tbody tr").all_inner_texts()
    assert sum(int(cell.replace(",", "")) for row in rows for cell in row.split("\t")[1:]) == whole["records"]

    page.get_by_role("link", name="anna").click()
    inspector.settle()
    assert page.url.endswith("#/about?user_id=anna"), page.url


def check_one_user(browser):
    inspector = browser.open("overview", url=KEYED_URL, key=KEY_ANNA)
    text = inspector.page.locator("main").inner_text()
    records = get(OVERVIEW, key=KEY_ANNA, url=KEYED_URL)["totals"]["records"]
    assert f"{records:,}" in text and "lin" not in text.split(), text
    assert "not known for this database" in text, "the size of the database is that of all users"


def check_failures(browser):
    """Failed jobs, failing services and their texts. The answers of the server are replaced."""
    inspector = browser.open()
    page = inspector.page
    overview = get(OVERVIEW)
    overview["queue"] = [{"job": "embedding", "waiting": 1200, "dead_letters": 3, "waiting_since": "2026-04-20T11:00:00Z"}]
    overview["indexes"][1].update(waiting=7, dead_letters=3)
    overview["failures"] = [
        {"id": "0", "user_id": HOSTILE, "job": "embedding", "attempts": 5, "reason": HOSTILE},
        {"id": "1", "user_id": "lin", "job": "facts", "attempts": 1, "reason": "late", "retry_at": "2026-04-20T12:05:00Z"},
    ]
    page.route("**/api/inspector/overview", lambda route: route.fulfill(json=overview))
    page.route("**/ready", lambda route: route.fulfill(json={"status": "ok", "database": "ok", "embedder": "failing",
                                                             "queue": "some jobs failed"}))
    inspector.visit("overview")
    queue = page.locator(".panel", has=page.get_by_role("heading", name="Background jobs"))
    text = queue.inner_text()
    assert "1,200" in text and "memory reindex --failed" in text and HOSTILE in text, text
    assert page.locator("main img").count() == 0, "a reason became an element"
    done = overview["indexes"][1]["records"] - 10
    assert f"{done:,} of" in queue.locator(".bar", has_text="Vector index").inner_text()
    services = page.locator(".panel", has=page.get_by_role("heading", name="Services")).inner_text()
    assert "search uses keywords only" in services and "jobs failed for good" in services, services

    page.unroute("**/ready")
    page.route("**/ready", lambda route: route.fulfill(status=503, json={"status": "unavailable"}))
    inspector.expect_fault("503")
    page.reload()
    inspector.settle()
    services = page.locator(".panel", has=page.get_by_role("heading", name="Services")).inner_text()
    assert "does not answer" in services, services


def check_empty(browser):
    inspector = browser.open("overview", user_id="stranger")
    text = inspector.page.locator("main").inner_text()
    assert "No memories yet" in text and "memory import" in text, text


def check_layout(browser):
    for language, width, word in [("zh", 390, "按类型"), ("en", 390, "By kind"), ("zh", 1280, "概览")]:
        inspector = browser.open("overview", language=language, width=width, scheme="dark")
        assert word in inspector.page.locator("main").inner_text()
        overflow = inspector.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert overflow <= 0, (language, width, overflow)


check_sums()
check_access()
with Browser() as browser:
    check_figures(browser)
    check_one_user(browser)
    check_failures(browser)
    check_empty(browser)
    check_layout(browser)
