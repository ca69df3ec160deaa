"""The files of the page: their headers, what they contain, and a server without the inspector."""

import pathlib
import re

from support.api import request
from support.page import KEY, KEYED_URL, ROUTES, URL

import os

WITHOUT_UI = os.environ["MEMORY_WITHOUT_UI_URL"]
UI = pathlib.Path(__file__).parents[2] / "ui"
TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}


def policy_of(response):
    directives = (directive.split() for directive in response.headers["content-security-policy"].split(";"))
    return {name: values for name, *values in directives}


redirect = request("GET", "/ui")
assert redirect.status in (301, 308) and redirect.headers["location"] == "/ui/", redirect

page = request("GET", "/ui/")
assert page.status == 200, page
policy = policy_of(page)
assert policy["default-src"] == ["'none'"] and policy["script-src"] == ["'self'"], policy
assert policy["style-src"] == ["'self'"] and policy["connect-src"] == ["'self'"], policy
for directive in ("base-uri", "form-action", "frame-ancestors"):
    assert policy[directive] == ["'none'"], (directive, policy)
assert policy["require-trusted-types-for"] == ["'script'"] and policy["trusted-types"] == ["'none'"], policy
assert not re.search(r"unsafe-|https?:|\*", page.headers["content-security-policy"]), policy
assert page.headers["x-content-type-options"] == "nosniff"
assert page.headers["referrer-policy"] == "no-referrer"
assert page.headers["cross-origin-opener-policy"] == "same-origin"
assert page.headers["cross-origin-resource-policy"] == "same-origin"
assert "set-cookie" not in page.headers and "access-control-allow-origin" not in page.headers
assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\son\w+=|\sstyle=|https?://", page.text), "the page has inline code"

# The files on the disk are those in the program, and the page needs no key.
files = [path for path in UI.rglob("*") if path.suffix in TYPES]
assert len(files) > len(ROUTES)
for path in files:
    for url in (URL, KEYED_URL):
        served = request("GET", f"/ui/{path.relative_to(UI).as_posix()}", url=url)
        assert served.status == 200 and served.body == path.read_bytes(), f"{path.name} is not embedded, or is older"
        assert served.headers["content-type"].startswith(TYPES[path.suffix]), (path.name, served.headers)
        assert policy_of(served) == policy, path.name
    tag = served.headers["etag"]
    assert request("GET", f"/ui/{path.relative_to(UI).as_posix()}", headers={"if-none-match": tag}).status == 304
    source = path.read_text(encoding="utf-8")
    if "vendor" not in path.parts:
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setHTML", source), path

for missing in ("/ui/missing.js", "/ui/../Cargo.toml", "/ui/%2e%2e/Cargo.toml", "/ui/views/", "/ui//etc/passwd"):
    assert request("GET", missing).status == 404, missing
assert request("POST", "/ui/").status == 405

# Behind keys, every route with data needs one.
documented = request("GET", "/openapi.json").json["paths"]
routes = [(path, method.upper()) for path, methods in documented.items() if path.startswith("/api/inspector/")
          for method in methods if method in ("get", "post", "put", "patch", "delete")]
assert len(routes) >= len(ROUTES), routes
for path, method in routes:
    body = {} if method == "POST" else None
    for key in (None, KEY[:-1] + ("0" if KEY[-1] != "0" else "1")):
        assert request(method, path, body=body, key=key, url=KEYED_URL).status == 401, (method, path)
    answer = request(method, path, body=body)
    assert answer.status != 401 and answer.headers["content-type"].startswith("application/json"), (method, path, answer)

# A server without the inspector has neither the page nor its routes.
without = request("GET", "/openapi.json", url=WITHOUT_UI).json["paths"]
assert len(without) > 20 and not [path for path in without if path.startswith(("/ui", "/api/inspector"))]
for path in ("/ui", "/ui/", "/ui/app.js", *(path for path, _ in routes)):
    assert request("GET", path, url=WITHOUT_UI).status == 404, path
