"""Texts of memories are shown as texts: nothing in them is executed, loaded or laid out.

The user mallory, and users with hostile names, have the texts of `tests/data/hostile.json` in every field of their
records, and a memory of 200,000 characters without a space.
"""

import json
import pathlib

from support.page import ROUTES, Browser

TEXTS = json.loads((pathlib.Path(__file__).parents[1] / "data/hostile.json").read_text(encoding="utf-8"))
# A policy or a filter must not be what stops a script: there must be no element and no attribute of these.
SUSPICIOUS = """() => {
  const found = [];
  for (const element of document.querySelectorAll('*')) {
    const isHostile = ['SCRIPT', 'IFRAME', 'OBJECT', 'EMBED', 'BASE'].includes(element.tagName)
      && !(element.tagName === 'SCRIPT' && new URL(element.src).pathname.startsWith('/ui/'));
    const attributes = [...element.attributes].filter(({ name, value }) => name.startsWith('on')
      || (['href', 'src', 'action', 'formaction', 'srcdoc', 'xlink:href'].includes(name)
        && /^\\s*(javascript|data:text|https?:\\/\\/(192|example))/i.test(value)));
    if (isHostile || attributes.length) found.push(element.outerHTML.slice(0, 300));
  }
  return found;
}"""
# An override of the direction must end where the text of the memory ends.
LEAKING = """() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!/[\\u202a-\\u202e\\u2066-\\u2068]/.test(walker.currentNode.data) || element.tagName === 'OPTION') continue;
    const isolates = ['isolate', 'isolate-override', 'plaintext'];
    if (!isolates.includes(getComputedStyle(element).unicodeBidi)) found.push(element.outerHTML.slice(0, 300));
  }
  return found;
}"""
MAX_TEXT_LENGTH = 150_000
problems = []


def check(inspector, place):
    page = inspector.page
    assert page.evaluate("window.hacked") is None, f"{place}: {page.evaluate('window.hacked')} was executed"
    problems.extend(f"{place}: {element}" for element in page.evaluate(SUSPICIOUS)[:3])
    leaking = page.evaluate(LEAKING)
    problems.extend(f"{place}: the direction of a memory leaks out of {element}" for element in leaking[:8])
    overflow = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    if overflow > 0:
        problems.append(f"{place} is {overflow} px wider than the screen")
    length = page.evaluate("document.body.textContent.length")
    if length > MAX_TEXT_LENGTH:
        problems.append(f"{place} has {length} characters")
    assert page.locator("h1").is_visible() and page.locator("nav.views").is_visible(), place


with Browser() as browser:
    seen = {}
    for width, scheme, language in ((1280, "light", "en"), (390, "dark", "zh")):
        inspector = browser.open(width=width, scheme=scheme, language=language)
        inspector.page.on("dialog", lambda dialog: inspector._fault(f"dialog: {dialog.message}"))
        for route in ROUTES:
            parameters = {"q": TEXTS[0]["text"]} if route == "search" else {}
            inspector.visit(route, user_id="mallory", **parameters)
            check(inspector, f"{route}, {width} px")
            inspector.screenshot(f"{route}-{width}")
            inspector.page.evaluate("document.querySelectorAll('main details').forEach(one => { one.open = true; })")
            shown = inspector.page.locator("main").inner_text()
            seen[route] = [text["name"] for text in TEXTS if text["text"].strip()[:40] in shown]
            if route in ("about", "conversations", "memories", "facts", "search"):
                inspector.page.evaluate(
                    "document.querySelectorAll('main button[aria-expanded=false]').forEach(button => button.click())")
                inspector.settle()
                check(inspector, f"{route} with everything opened, {width} px")
        print({route: len(names) for route, names in seen.items()})
        # The list of memories has only the rows that are on the screen.
        for route, least in (("facts", len(TEXTS)), ("search", 8), ("memories", 1)):
            assert len(seen[route]) >= least, f"{route} shows only {seen[route]}"

    # Hostile names of the owner, of the route and of parameters in the address.
    inspector = browser.open()
    for text in TEXTS:
        hostile = text["text"][:100].strip()
        for route in ("overview", "memories", "search"):
            inspector.visit(route, user_id=hostile, q=hostile)
            check(inspector, f"{route} of the user {text['name']}")
        inspector.visit("memories", user_id="mallory", agent_id=hostile, session_id=hostile)
        check(inspector, f"session {text['name']}")
    inspector.page.goto(inspector.url + "/ui/#/" + "<img src=x onerror=window.hacked='route'>")
    inspector.settle()
    assert inspector.page.evaluate("window.hacked") is None
    inspector.page.goto(inspector.url + "/ui/#javascript:window.hacked='hash'")
    inspector.settle()
    assert inspector.page.evaluate("window.hacked") is None

assert not problems, "\n".join(problems)
