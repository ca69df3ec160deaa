"""The companion: figures, stages, the curve with its table, key moments, and the empty state."""

from support.api import request
from support.page import KEY_ANNA, KEYED_URL, Browser

PATH = "/api/inspector/companion"


def report(user, **params):
    query = "".join(f"&{name}={value}" for name, value in params.items())
    response = request("GET", f"{PATH}?user_id={user}{query}")
    assert response.status == 200, response
    return response.json


def check_report():
    """The days end at the affection of the state, and each begins where the one before it ends."""
    lin = report("lin")
    companion, selected = lin["companions"][0], lin["selected"]
    assert len(lin["companions"]) == 1 and companion["agent_id"] == "aicy" and companion["id"] == selected["id"]
    days = selected["days"]
    assert [day["day"] for day in days] == [f"2026-04-{number}" for number in range(10, 18)]
    assert days[0]["before"] == 0 and days[-1]["after"] == companion["affection"]
    for earlier, later in zip(days, days[1:]):
        assert earlier["after"] == later["before"], (earlier, later)
    assert sum(day["messages"] for day in days) * 2 == companion["messages"]
    reasons = [change["reason"] for change in selected["changes"]]
    assert "streak" in reasons and "moment" in reasons and "message" not in reasons, reasons
    streak = next(change for change in selected["changes"] if change["reason"] == "streak")
    assert (streak["days"], streak["delta"], streak["day"]) == (7, 50, "2026-04-16"), streak
    stages = selected["stages"]
    assert stages[0]["from"] == 0 and [stage["from"] for stage in stages] == sorted(stage["from"] for stage in stages)
    current = [stage for stage in stages if stage["is_current"]]
    assert len(current) == 1 and stages.index(current[0]) + 1 == companion["chapter"]
    assert len(selected["moments"]) == companion["moments"] > 0 and not selected["deleted_moments"]
    gained = sum(moment["affection"] for moment in selected["moments"])
    assert gained == sum(change["delta"] for change in selected["changes"] if change["reason"] == "moment")
    assert selected["is_complete"]

    both = request("GET", PATH).json
    assert [one["user_id"] for one in both["companions"]] == ["anna", "lin"], "the one that was active last is first"
    other = request("GET", f"{PATH}?id={companion['id']}").json
    assert other["selected"]["id"] == companion["id"]
    own = request("GET", PATH, key=KEY_ANNA, url=KEYED_URL).json
    assert [one["user_id"] for one in own["companions"]] == ["anna"]
    foreign = request("GET", f"{PATH}?id={companion['id']}", key=KEY_ANNA, url=KEYED_URL)
    assert foreign.status == 404, foreign
    assert request("GET", f"{PATH}?id=x").status == 400


def check_view(browser):
    lin = report("lin")
    for language, table in [("en", "Show as a table"), ("zh", "以表格显示")]:
        inspector = browser.open("companion", user_id="lin", language=language)
        page = inspector.page
        values = page.locator(".figure .value").all_inner_texts()
        assert values[0] == str(lin["companions"][0]["affection"]), values
        assert page.locator(".stages li").count() == len(lin["selected"]["stages"])
        current = next(stage for stage in lin["selected"]["stages"] if stage["is_current"])
        assert current["name"] in page.locator(".stages [aria-current=step]").inner_text()
        page.locator(".plot canvas").wait_for()
        page.get_by_role("button", name=table).click()
        rows = page.locator(".chart tbody tr")
        assert rows.count() == len(lin["selected"]["days"]) + 1
        assert rows.last.locator("td").last.inner_text() == str(lin["companions"][0]["affection"])
        moment = page.locator(".record").first
        assert lin["selected"]["moments"][0]["topic"] in moment.inner_text()
        assert moment.locator(".memory-text").count() == 0
        moment.get_by_role("button").first.click()
        assert lin["selected"]["moments"][0]["text"].splitlines()[0] in moment.inner_text()


def check_choice(browser):
    """Of several companions one is chosen, and the choice is part of the address."""
    inspector = browser.open("companion")
    picker = inspector.page.get_by_role("combobox", name="Companion", exact=True)
    assert "anna" in picker.locator("option:checked").inner_text()
    picker.select_option(label="lin · aicy")
    inspector.settle()
    assert f"id={report('lin')['selected']['id']}" in inspector.page.url
    assert inspector.page.locator(".figure .value").first.inner_text() == str(report("lin")["companions"][0]["affection"])


def check_empty(browser):
    inspector = browser.open("companion", user_id="nobody")
    assert inspector.page.get_by_text("memory-engine-companion").is_visible()


with Browser() as browser:
    check_report()
    check_view(browser)
    check_choice(browser)
    check_empty(browser)
