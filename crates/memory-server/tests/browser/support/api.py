"""Requests to the server, without the page.

    from support.api import request

    response = request("GET", "/api/inspector/overview?user_id=anna", key=KEY_ANNA, url=KEYED_URL)
    assert response.status == 200, response
    print(response.json["records"], response.headers["content-type"])
"""

import json
import os
import urllib.error
import urllib.request


class Response:
    """The response of the server, with lower-case names of headers."""

    def __init__(self, response):
        self.status = response.status if hasattr(response, "status") else response.code
        self.headers = {name.lower(): value for name, value in response.headers.items()}
        self.body = response.read()
        self.text = self.body.decode(errors="replace")

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.text[:2000]}"


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects)


def request(method, path, *, body=None, key=None, url=None, headers=None):
    """Sends a request. A body that is not bytes is sent as JSON. Redirects are returned and not followed."""
    sent = dict(headers or {})
    data = body
    if body is not None and not isinstance(body, bytes):
        data = json.dumps(body).encode()
        sent.setdefault("content-type", "application/json")
    if key is not None:
        sent["x-memory-key"] = key
    wanted = urllib.request.Request((url or os.environ["MEMORY_URL"]) + path, data=data, headers=sent, method=method)
    try:
        return Response(_OPENER.open(wanted, timeout=60))
    except urllib.error.HTTPError as error:
        return Response(error)
