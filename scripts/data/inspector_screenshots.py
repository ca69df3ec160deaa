"""Takes the screenshots of docs/images/inspector. scripts/inspector-screenshots runs it."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "crates/memory-server/tests/browser"))

from support.page import LOCALES, ROUTES, Browser  # noqa: E402

USERS = {"en": "anna", "zh": "lin"}
DARK = {"overview": "en", "graph": "zh"}
PARAMETERS = {
    ("search", "en"): {"q": "Where does Anna live?"},
    ("search", "zh"): {"q": "小林对什么过敏"},
    ("undo", "en"): {"tab": "review"},
}


def take(browser, route, language, scheme="light", suffix=""):
    inspector = browser.open(language=language, scheme=scheme)
    inspector.visit("facts" if route == "record" else route, user_id=USERS[language], **PARAMETERS.get((route, language), {}))
    if route == "context":
        inspector.page.get_by_role("textbox").first.fill(
            {"en": "Should I run this week?", "zh": "晚上吃什么好？"}[language])
    if route == "deletion":
        inspector.page.get_by_role("checkbox", name={"en": "fact", "zh": "事实"}[language]).check()
    if route in ("context", "deletion"):
        inspector.page.locator("main button[type=submit]").first.click()
    if route == "record":
        # A fact that has superseded another one, or the first one.
        links = inspector.page.locator("main .fact-link")
        links.filter(has_text={"en": "Lisbon", "zh": "过敏"}[language]).first.click()
    inspector.settle(quiet_ms=800)
    print(inspector.screenshot(f"{route}.{language}{suffix}"))
    inspector.context.close()


with Browser() as browser:
    for language in LOCALES:
        # The view of the server shows a path of this machine.
        for route in [*ROUTES, "record"]:
            if route == "server":
                continue
            take(browser, route, language)
    for route, language in DARK.items():
        take(browser, route, language, "dark", ".dark")
