"""The inspector in Chromium. A test fails on every fault of the page, unless it expects the fault.

    from support.page import Browser

    with Browser() as browser:
        inspector = browser.open("search", user_id="anna", q="Lisbon", language="zh", scheme="dark", width=390)
        inspector.page.get_by_role("button", name="…").click()
        inspector.settle()

Faults: an error or a security warning on the console, an exception, a violation of the Content-Security-Policy or of
Trusted Types, a response with a status from 500, and a request to another origin. `expect_fault(pattern)` allows those
that match a regular expression; each pattern must match at least once. Faults are reported when the page is closed, or
by `check()`.
"""

import os
import pathlib
import re
import time
import urllib.parse

from playwright.sync_api import sync_playwright

URL = os.environ["MEMORY_URL"]
KEYED_URL = os.environ["MEMORY_KEYED_URL"]
KEY = os.environ["MEMORY_KEY"]
KEY_ANNA = os.environ["MEMORY_KEY_ANNA"]
KEY_LIN = os.environ["MEMORY_KEY_LIN"]
NOW = os.environ["MEMORY_NOW"]
OUTPUT = pathlib.Path(os.environ["BROWSER_OUTPUT"])

ROUTES = [
    "about", "conversations", "memories", "search", "facts", "graph", "context", "companion", "undo", "deletion",
    "overview", "operations", "audit", "server",
]
LOCALES = {"en": "en-GB", "zh": "zh-CN"}
SECURITY_WARNING = re.compile(r"content.security.policy|trusted.?type|refused to|blocked", re.IGNORECASE)
# A violation is an event of the document. Only some are on the console.
REPORT_VIOLATIONS = """
document.addEventListener('securitypolicyviolation', event => {
  console.error(`policy violation: ${event.violatedDirective}, ${event.blockedURI}, ${event.sample}`);
});
"""


class Browser:
    """A Chromium for one test. Leaving the `with` block checks and closes all pages."""

    def __init__(self, arguments=()):
        """Starts Chromium with these arguments of the command line as well."""
        self.arguments = arguments

    def __enter__(self):
        self.playwright = sync_playwright().start()
        # Chromium's sandbox does not start as root.
        arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        self.chromium = self.playwright.chromium.launch(
            executable_path=os.environ["CHROMIUM"], args=[*arguments, *self.arguments, "--force-color-profile=srgb"])
        self.inspectors = []
        return self

    def __exit__(self, kind, error, traceback):
        try:
            if kind is None:
                for inspector in self.inspectors:
                    inspector.check()
            else:
                for number, inspector in enumerate(self.inspectors, 1):
                    inspector.show_failure(number)
        finally:
            self.chromium.close()
            self.playwright.stop()

    def open(self, route=None, *, url=URL, key=None, language="en", scheme="light", width=1280, height=800,
             is_time_fixed=True, scripts=(), **parameters):
        """Opens a page with its own session, and the given route of it. `key` is stored as the key form stores it.
        `scripts` run before those of the page.
        """
        context = self.chromium.new_context(
            locale=LOCALES[language], timezone_id="Asia/Shanghai", color_scheme=scheme, reduced_motion="reduce",
            viewport={"width": width, "height": height})
        # Only reached if something hangs.
        context.set_default_timeout(60_000)
        inspector = Inspector(context, url)
        self.inspectors.append(inspector)
        context.add_init_script(REPORT_VIOLATIONS)
        for script in scripts:
            context.add_init_script(script)
        if is_time_fixed:
            # The clock of the memory is not that of the machine.
            inspector.page.clock.set_fixed_time(NOW)
        if key is not None:
            inspector.store_key(key)
        if route is not None:
            inspector.visit(route, **parameters)
        return inspector


class Inspector:
    """A page of the inspector, and the faults that it had so far."""

    def __init__(self, context, url):
        self.context, self.url = context, url
        self.page = context.new_page()
        self.faults, self.expected, self.matched = [], [], set()
        self.running, self.last_change = set(), 0.0
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self._fault(f"exception: {error}"))
        self.page.on("request", self._see_request)
        self.page.on("response", self._see_response)
        self.page.on("requestfinished", self._end_request)
        self.page.on("requestfailed", self._see_failure)

    def _fault(self, text):
        matching = [pattern for pattern in self.expected if re.search(pattern, text)]
        self.matched.update(matching)
        if not matching:
            self.faults.append(text)

    def _hear(self, message):
        is_warning = message.type == "warning" and SECURITY_WARNING.search(message.text)
        if message.type == "error" or is_warning:
            self._fault(f"console {message.type}: {message.text} ({message.location.get('url', '')})")

    def _see_request(self, request):
        self.running.add(request)
        self.last_change = time.monotonic()
        is_own = request.url.startswith((self.url + "/", "data:", "blob:" + self.url)) or request.url == self.url
        if not is_own:
            self._fault(f"request to another origin: {request.url}")

    def _see_response(self, response):
        if response.status >= 500:
            self._fault(f"status {response.status}: {response.request.method} {response.url}")

    def _end_request(self, request):
        self.running.discard(request)
        self.last_change = time.monotonic()

    def _see_failure(self, request):
        self._end_request(request)
        # A request that the page itself ends, because a newer one replaces it, is no fault.
        if request.failure and "ERR_ABORTED" not in request.failure:
            self._fault(f"request failed: {request.failure}, {request.method} {request.url}")

    def expect_fault(self, pattern):
        """Allows faults that this regular expression matches, and requires at least one."""
        self.expected.append(pattern)
        return self

    def check(self):
        """Fails if there were faults, or if an expected one is missing."""
        missing = [pattern for pattern in self.expected if pattern not in self.matched]
        if self.faults or missing:
            lines = [*self.faults, *(f"expected, but missing: {pattern}" for pattern in missing)]
            raise AssertionError(f"faults of {self.page.url}:\n  " + "\n  ".join(lines))

    def store_key(self, key):
        """Stores a key as the key form does."""
        self.context.add_init_script(f"sessionStorage.setItem('memory-engine.key', {key!r});")

    def visit(self, route, **parameters):
        """Opens a route of the page, such as `search` with `user_id` and `q`, and waits for its data."""
        query = urllib.parse.urlencode({name: value for name, value in parameters.items() if value is not None})
        address = f"{self.url}/ui/#/{route}" + (f"?{query}" if query else "")
        self.page.goto(address)
        self.settle()
        return self

    def settle(self, quiet_ms=120, timeout_ms=60_000):
        """Waits until the page has had no request, and shown no loading state, for a moment."""
        deadline = time.monotonic() + timeout_ms / 1000
        self.last_change = time.monotonic()
        while True:
            # This wait handles the events of the page.
            self.page.wait_for_timeout(20)
            if self.page.locator('main [aria-busy="true"], main .loading').count():
                self.last_change = time.monotonic()
            is_quiet = (time.monotonic() - self.last_change) * 1000 >= quiet_ms
            if is_quiet and not self.running:
                return
            if time.monotonic() > deadline:
                urls = [request.url for request in self.running]
                raise AssertionError(f"{self.page.url} still loads after {timeout_ms} ms: {urls}")

    def screenshot(self, name, full_page=False):
        """Saves a screenshot in the test's output folder, and returns its path."""
        path = OUTPUT / f"{name}.png"
        self.page.screenshot(path=path, full_page=full_page, animations="disabled")
        return path

    def show_failure(self, number):
        """Prints the faults, and saves a screenshot of a failed test."""
        for fault in self.faults:
            print(f"fault: {fault}")
        try:
            print(f"{self.page.url}: {self.screenshot(f'failure-{number}')}")
        except Exception as error:  # noqa: BLE001 - the failure of the test is more important
            print(f"{self.page.url}: no screenshot: {error}")
