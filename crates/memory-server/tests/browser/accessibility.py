"""No view breaks a rule of WCAG 2.1 AA that axe-core can check, in either language and scheme; with BROWSER_ALL=1 in each
language with each scheme.
"""

import importlib.util
import itertools
import os
import pathlib

from support.page import KEYED_URL, LOCALES, ROUTES, Browser

# The package contains the script of axe-core. Its own API creates a script element, which the policy of the page blocks.
AXE = next(pathlib.Path(importlib.util.find_spec("axe_playwright_python").origin).parent.rglob("axe.min.js"))
OPTIONS = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
COMBINATIONS = [*(itertools.product if os.environ.get("BROWSER_ALL") else zip)(LOCALES, ["light", "dark"])]

violations = []


def check(inspector, place):
    page = inspector.page
    page.evaluate(AXE.read_text(encoding="utf-8"))
    result = page.evaluate("options => axe.run(document, options)", OPTIONS)
    assert len(result["passes"]) > 10, f"axe-core checked only {len(result['passes'])} rules: {place}"
    for violation in result["violations"]:
        nodes = violation["nodes"]
        example = f"{nodes[0]['target']} {nodes[0]['html'][:200]} {nodes[0]['failureSummary'][:300]}"
        violations.append(f"{place}: {violation['id']} ({violation['impact']}), {len(nodes)} times: {example}")


with Browser() as browser:
    for language, scheme in COMBINATIONS:
        inspector = browser.open(language=language, scheme=scheme)
        for route in ROUTES:
            parameters = {"q": "Lisbon"} if route == "search" else {}
            inspector.visit(route, user_id="anna", **parameters)
            check(inspector, f"{route}, {language}, {scheme}")
        inspector.check()
        inspector.context.close()
    # The refusal is an error on the console.
    inspector = browser.open(url=KEYED_URL).expect_fault("401")
    inspector.visit("overview")
    check(inspector, "form for the key")

assert not violations, "\n".join(violations)
