"""Every view opens in both languages, light and dark, on a wide and on a narrow screen, without a fault."""

from support.page import LOCALES, ROUTES, Browser

SIZES = [(1280, 800), (390, 844)]

with Browser() as browser:
    for language in LOCALES:
        for scheme in ("light", "dark"):
            for width, height in SIZES:
                name = f"{language}, {scheme}, {width} px"
                inspector = browser.open(language=language, scheme=scheme, width=width, height=height)
                page = inspector.page
                headings = {}
                for route in ROUTES:
                    inspector.visit(route, user_id="lin" if language == "zh" else "anna")
                    headings[route] = page.locator("h1").inner_text()
                    assert page.locator("main .notice.error").count() == 0, f"{route} shows an error: {name}"
                    assert len(page.locator("main").inner_text()) > len(headings[route]), f"{route} is empty: {name}"
                    overflow = page.evaluate("document.documentElement.scrollWidth - innerWidth")
                    assert overflow <= 0, f"{route} is {overflow} px wider than the screen: {name}"
                    current = page.locator("nav [aria-current=page] .view-name")
                    assert current.inner_text() == headings[route], f"{route} is not marked in the navigation"
                assert len(set(headings.values())) == len(ROUTES), f"views share a heading: {headings}"
                is_chinese = all(any("\u4e00" <= letter <= "\u9fff" for letter in text) for text in headings.values())
                assert is_chinese == (language == "zh"), f"headings are in another language: {headings}"
                assert page.locator("html").get_attribute("lang").startswith(language)
                inspector.check()
                inspector.context.close()
    inspector = browser.open("no-such-view")
    assert inspector.page.get_by_text("There is no such view").is_visible()
