"""A page of another origin reaches nothing: neither on the open server, nor on the one with keys, whose page is open.

The other page is on another port of this machine, and on another host, which has the address of this machine.
"""

import http.server
import itertools
import json
import threading
import urllib.parse

from support.api import request
from support.page import KEY, KEYED_URL, URL, Browser

# Requests that a page of any origin can send without asking the server first, and some for which the browser asks.
ATTACK = """async ([target, paths]) => {
  const outcomes = {};
  for (const [method, path, body] of paths) {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/json']) {
      for (const mode of ['no-cors', 'cors']) {
        const options = { method, mode, headers: { 'content-type': type }, credentials: 'include' };
        if (method !== 'GET') options.body = body;
        const name = `${method} ${path} ${type} ${mode}`;
        try {
          const response = await fetch(target + path, options);
          outcomes[name] = response.type === 'opaque' ? 'opaque' : `${response.status} ${await response.text()}`;
        } catch (error) {
          outcomes[name] = error.name;
        }
      }
    }
  }
  return outcomes;
}"""
# Submits a form into a new frame, and waits until the frame shows the answer or why there is none.
FORM = """([action, text]) => new Promise((done, fail) => {
  const form = document.createElement('form');
  const target = `answer ${document.forms.length}`;
  Object.assign(form, { method: 'post', action, enctype: 'text/plain', target });
  const field = document.createElement('input');
  const [name, ...rest] = text.split(':');
  Object.assign(field, { name: `${name}:`, value: rest.join(':') });
  form.append(field);
  const frame = Object.assign(document.createElement('iframe'), { name: target });
  document.body.append(frame, form);
  // The empty document of a new frame has loaded by now.
  frame.onload = () => done();
  setTimeout(() => fail(new Error(`the form to ${action} has no answer`)), 60_000);
  form.submit();
})"""
FRAME = """address => new Promise(done => {
  const frame = Object.assign(document.createElement('iframe'), { src: address, onload: () => done(true) });
  document.body.append(frame);
})"""


class OtherOrigin(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Other</title><body>Another origin")

    def log_message(self, *_):
        pass


def stored_records():
    """Returns text, state and pin of every record of both users."""
    found = {}
    for user in ("anna", "lin"):
        cursor = ""
        while cursor is not None:
            query = f"user_id={user}&inactive=true&limit=100&cursor={urllib.parse.quote(cursor)}"
            answer = request("GET", f"/api/inspector/timeline?{query}", key=KEY, url=KEYED_URL)
            assert answer.status == 200, answer
            records = answer.json["entries"] + answer.json["derived"]
            found.update((record["id"], (user, record["text"], record["state"], record["pinned"])) for record in records)
            cursor = answer.json["next_cursor"]
    return found


before = stored_records()
assert len(before) > 100, len(before)
record_id = next(id for id, (user, _, state, is_pinned) in before.items()
                 if (user, state, is_pinned) == ("anna", "active", False))
OWNED = {"user_id": "anna", "ids": [record_id]}
REQUESTS = [
    ("POST", "/v1/memories/", json.dumps({"messages": [{"role": "user", "content": "forged"}], "user_id": "anna"})),
    ("POST", "/api/records/patch", json.dumps({**OWNED, "pinned": True})),
    ("POST", "/api/records/retract", json.dumps({**OWNED, "reason": "forged"})),
    ("POST", "/api/records/edit", json.dumps({"user_id": "anna", "id": record_id, "text": "forged"})),
    ("POST", "/api/deletions", json.dumps({"user_id": "anna", "everything": True})),
    ("DELETE", "/v1/memories/?user_id=anna", ""),
    ("GET", "/api/inspector/timeline?user_id=anna", ""),
    ("GET", "/api/inspector/users", ""),
]

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), OtherOrigin)
threading.Thread(target=server.serve_forever, daemon=True).start()
origins = [f"http://{host}:{server.server_port}" for host in ("127.0.0.1", "localhost", "attacker.example")]

with Browser(["--host-resolver-rules=MAP attacker.example 127.0.0.1"]) as browser:
    # The victim has the page open, with a key, in the same browser.
    victim = browser.open("overview", url=KEYED_URL, key=KEY)
    assert victim.context.cookies() == [], "the page uses cookies, which other pages can send"
    page = victim.context.new_page()
    answers = []
    page.on("response", lambda response: answers.append((response.request.method, response.url, response.status)))

    for origin, target in itertools.product(origins, (URL, KEYED_URL)):
        page.goto(origin)
        outcomes = page.evaluate(ATTACK, [target, REQUESTS])
        assert len(outcomes) == len(REQUESTS) * 6
        readable = {name: outcome for name, outcome in outcomes.items() if outcome not in ("opaque", "TypeError")}
        assert not readable, f"{origin} reads {readable}"
        for method, path, body in REQUESTS:
            if method == "POST":
                page.evaluate(FORM, [target + path, body])
        page.evaluate(FRAME, f"{target}/ui/#/deletion?user_id=anna")
        page.wait_for_timeout(300)
        framed = [frame for frame in page.frames[1:] if frame.evaluate("document.getElementById('app') !== null")]
        assert len(page.frames) > 1 and not framed, f"{origin} shows the page of {target} in a frame"
    servers = (URL + "/", KEYED_URL + "/")
    reached = [answer for answer in answers if answer[1].startswith(servers) and "/ui/" not in answer[1]]
    assert len(reached) > 20, f"only {len(reached)} requests reached a server"
    accepted = [answer for answer in reached if answer[2] < 400]
    assert not accepted, f"requests of another origin were accepted: {accepted}"

assert stored_records() == before, "another origin has changed something"

# Without a key, the other server does nothing for its own page either.
for method, path, body in REQUESTS:
    refused = request(method, path, body=body.encode() or None, url=KEYED_URL, headers={"content-type": "application/json"})
    assert refused.status == 401, f"{method} {path}: {refused}"
# The requests are valid: the same one of the page's own origin does something.
patched = request("POST", "/api/records/patch", body={**OWNED, "pinned": True}, headers={"origin": URL})
assert patched.json == {"changed": 1}, patched
assert stored_records() != before

# A name that an attacker points at the loopback address (DNS rebinding) is refused, also for the files of the page.
for path in ("/ui/", "/api/inspector/users", "/api/inspector/timeline?user_id=anna"):
    refused = request("GET", path, headers={"host": "attacker.example"})
    assert refused.status in (403, 421), f"{path}: {refused}"
