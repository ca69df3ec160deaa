"""The page is usable with the keyboard alone: every control can be reached and shows its focus, and dialogs hold it."""

from support.page import ROUTES, Browser

# Controls that Tab reaches. The arrow keys move within tabs and radio buttons; one of each group is enough.
REACHABLE = """() => {
  const controls = [...document.querySelectorAll(
    'a[href], button, input, select, textarea, summary, [tabindex="0"]')].filter(element =>
    !element.disabled && element.tabIndex >= 0 && element.checkVisibility({ visibilityProperty: true })
    && !element.closest('dialog:not([open])')
    && !(element.type === 'radio' && !element.checked));
  controls.forEach((element, index) => element.setAttribute('data-control', index));
  return controls.map(element => element.outerHTML.slice(0, 160));
}"""
FOCUSED = """() => {
  const element = document.activeElement;
  if (!element || element === document.body) return null;
  const style = getComputedStyle(element);
  const hasOutline = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1;
  const box = element.getBoundingClientRect();
  return {
    control: element.getAttribute('data-control'), html: element.outerHTML.slice(0, 160),
    isMarked: hasOutline || style.boxShadow !== 'none', isOnScreen: box.bottom > 0 && box.top < innerHeight,
    isInDialog: element.closest('dialog') !== null,
  };
}"""
MAX_CONTROLS = 600


def focused(page):
    return page.evaluate(FOCUSED)


def walk(inspector, place):
    """Presses Tab from the start of the page to its end, and returns the controls in order."""
    page = inspector.page
    # A new document: Tab starts at its first control.
    page.reload()
    inspector.settle()
    controls = page.evaluate(REACHABLE)
    assert 10 < len(controls) < MAX_CONTROLS, f"{place} has {len(controls)} controls"
    reached = []
    for _ in range(2 * len(controls) + 20):
        page.keyboard.press("Tab")
        current = focused(page)
        if current is not None and reached and current["control"] == reached[-1]:
            continue  # A date has several fields of its own.
        if current is None or current["control"] in reached:
            break
        assert current["isMarked"], f"{place}: the focus is not visible on {current['html']}"
        assert current["isOnScreen"], f"{place}: the focus is off the screen on {current['html']}"
        reached.append(current["control"])
    missed = [html for index, html in enumerate(controls) if str(index) not in reached]
    assert not missed, f"{place}: Tab does not reach {missed[:5]}"
    return reached


def tab_to(page, locator):
    """Presses Tab until this element has the focus."""
    for _ in range(MAX_CONTROLS):
        if locator.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach {locator}")


def check_dialog(inspector, opener, place):
    """Opens a dialog with the keyboard. It holds the focus, closes with Escape, and gives the focus back."""
    page = inspector.page
    tab_to(page, opener)
    page.keyboard.press("Enter")
    dialog = page.locator("dialog[open]")
    dialog.wait_for()
    assert focused(page)["isInDialog"], f"{place}: the dialog does not take the focus"
    for _ in range(12):
        page.keyboard.press("Tab")
        current = focused(page)
        # Chromium moves from the end of a dialog to its own controls, where the page has no focus.
        assert current is None or current["isInDialog"], f"{place}: Tab leaves the dialog to {current['html']}"
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    assert opener.evaluate("element => element === document.activeElement"), f"{place}: the focus is not given back"


with Browser() as browser:
    inspector = browser.open("overview", user_id="anna")
    page = inspector.page

    # The skip link is first, and leads to the content.
    page.keyboard.press("Tab")
    assert "skip" in focused(page)["html"], focused(page)
    page.keyboard.press("Enter")
    assert page.locator("main").evaluate("element => element === document.activeElement")

    for route in ROUTES:
        parameters = {"q": "Lisbon"} if route == "search" else {}
        inspector.visit(route, user_id="anna", **parameters)
        print(f"{route}: {len(walk(inspector, route))} controls")

    # Navigation and language without a pointer.
    inspector.visit("overview", user_id="anna")
    tab_to(page, page.get_by_role("link", name="Facts", exact=True))
    page.keyboard.press("Enter")
    inspector.settle()
    assert page.locator("h1").inner_text() == "Facts"
    assert "user_id=anna" in page.url, "the navigation has lost the user"
    tab_to(page, page.get_by_label("Language"))
    page.keyboard.press("ArrowDown")
    inspector.settle()
    assert page.locator("h1").inner_text() == "事实"

    # Dialogs, in Chinese: to choose a record, and to correct or retract one.
    inspector.visit("search", user_id="anna", q="Lisbon")
    check_dialog(inspector, page.get_by_role("button", name="从列表中选择"), "search")
    inspector.visit("facts", user_id="anna")
    tab_to(page, page.locator("main .fact-link").first)
    page.keyboard.press("Enter")
    inspector.settle()
    check_dialog(inspector, page.locator("main .fact-buttons button.danger").first, "facts")

    # Back and forward of the browser.
    inspector.visit("overview", user_id="anna")
    inspector.visit("undo", user_id="anna")
    page.go_back()
    inspector.settle()
    assert page.locator("h1").inner_text() == "概览"
    page.go_forward()
    inspector.settle()
    assert page.locator("h1").inner_text() == "撤销"
