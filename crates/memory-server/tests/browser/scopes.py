"""The key of one user reaches nothing of another one: in no answer of the server, and in no view.

Every route of the inspector that the server documents is called as Anna, with no owner and with each name and id of Lin.
A route without entry in `PARAMETERS` or `BODIES` fails the test, so that a new one is added here.
"""

import json
import re
import urllib.parse

from support.api import request
from support.page import KEY, KEY_ANNA, KEY_LIN, KEYED_URL, ROUTES, Browser

# Parameters of the routes besides the owner's. `{id}` is an id of Lin.
PARAMETERS = {
    "/api/inspector/users": {},
    "/api/inspector/addresses": {},
    "/api/inspector/overview": {},
    "/api/inspector/overview/growth": {},
    "/api/inspector/timeline": {},
    "/api/inspector/search": {"query": "{text}"},
    "/api/inspector/facts": {},
    "/api/inspector/facts/{id}": {},
    "/api/inspector/graph": {},
    "/api/inspector/graph/evidence": {},
    "/api/inspector/companion": {},
    "/api/inspector/operations": {},
    "/api/inspector/undo/records": {"ids": "{id}"},
    "/api/inspector/undo/branches": {},
}
# Routes that name no owner: they answer for the key.
OWNERLESS = {"/api/inspector/users"}
BODIES = {
    "/api/inspector/context": {"path": "gateway", "message": "{text}"},
    "/api/inspector/deletion-preview": {"ids": ["{id}"]},
}
# Fields of the answers for keys of all users only.
HIDDEN = {"/api/inspector/overview": {"storage"}, "/api/inspector/operations": {"metrics", "process"}}
OWNER = ("user_id", "agent_id", "session_id", "branch")


def get(path, key, **parameters):
    query = urllib.parse.urlencode(parameters)
    return request("GET", f"{path}?{query}" if query else path, key=key, url=KEYED_URL)


def timeline(user):
    records, cursor = [], ""
    while cursor is not None:
        answer = get("/api/inspector/timeline", KEY, user_id=user, inactive="true", limit=100, cursor=cursor)
        assert answer.status == 200, answer
        records += answer.json["entries"] + answer.json["derived"]
        cursor = answer.json["next_cursor"]
    return records


def names_of(user):
    """Returns sessions, agents and branches of a user."""
    addresses = get("/api/inspector/addresses", KEY, user_id=user).json["addresses"]
    return {address[name] for address in addresses for name in OWNER[1:] if address.get(name)}


def secrets_of(user, shared):
    """Returns names, ids and texts that only this user has."""
    records = timeline(user)
    entities = re.findall(r'"name": ?"([^"]+)"', get("/api/inspector/graph", KEY, user_id=user).text)
    texts = {record["text"][:40] for record in records if len(record["text"]) >= 12}
    assert len(records) > 30 and len(texts) > 20 and len(entities) > 5, (len(records), len(texts), len(entities))
    return ({record["id"] for record in records} | texts | names_of(user) | set(entities)) - shared


def escaped(text):
    """Returns a text as it may be in JSON."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def check_answer(answer, secrets, sent):
    found = [secret for secret in secrets if escaped(secret) in answer.text and secret not in sent]
    assert not found, f"{sent} reveals {found[:5]} in {answer}"
    assert answer.status < 500, f"{sent}: {answer}"


def filled(value, record_id, text):
    if isinstance(value, dict):
        return {name: filled(item, record_id, text) for name, item in value.items()}
    if isinstance(value, list):
        return [filled(item, record_id, text) for item in value]
    return value.replace("{id}", record_id).replace("{text}", text)


def call(route, method, owner, key, record_id, text):
    """Calls a route with an owner, and with an id and a text as its other parameters."""
    path = route.replace("{id}", record_id)
    if method == "GET":
        return get(path, key, **owner, **filled(PARAMETERS[route], record_id, text))
    body = filled(BODIES[route], record_id, text)
    if "ids" in body:
        return request("POST", path, body={**owner, **body}, key=key, url=KEYED_URL)
    return request("POST", f"{path}?{urllib.parse.urlencode(owner)}", body=body, key=key, url=KEYED_URL)


def comparable(answer, hidden):
    """Returns an answer without times of processing and hidden fields."""
    def rest(value):
        if isinstance(value, dict):
            return {name: rest(item) for name, item in value.items() if not re.fullmatch("(.*_)?ms", name) and name not in hidden}
        return [rest(item) for item in value] if isinstance(value, list) else value

    return rest(answer.json)


def lines(value):
    return json.dumps(value, indent=1, ensure_ascii=False).splitlines()


documented = request("GET", "/openapi.json", url=KEYED_URL).json["paths"]
routes = [(path, method.upper()) for path, methods in documented.items() if path.startswith("/api/inspector/")
          for method in methods if method in ("get", "post", "put", "patch", "delete")]
unknown = [route for route in routes if route[0] not in (PARAMETERS if route[1] == "GET" else BODIES)]
assert not unknown, f"add the parameters of these routes to this test: {unknown}"
assert len(routes) == len(PARAMETERS) + len(BODIES), "a route of this test does not exist"

annas = {record["text"][:40] for record in timeline("anna")} | names_of("anna")
annas |= set(re.findall(r'"name": ?"([^"]+)"', get("/api/inspector/graph", KEY, user_id="anna").text))
secrets = secrets_of("lin", annas)
lins = timeline("lin")
before = [(record["id"], record["text"], record["state"], record["pinned"]) for record in lins]
facts = [record for record in lins if record["kind"] == "fact"]
lin_names = names_of("lin")
foreign = {"lin"} | lin_names
assert {"kai", "aicy", "hand-over"} <= lin_names, lin_names

# Every route, with every way to name Lin.
for route, method in routes:
    sample = facts[:2] if "fact" in route else lins[:2]
    for record in sample:
        arguments = (record["id"], record["text"][:60])
        own = call(route, method, {}, KEY_ANNA, *arguments)
        check_answer(own, secrets | {'"lin"'}, f"{method} {route} {arguments}")
        named = call(route, method, {"user_id": "lin"}, KEY_ANNA, *arguments)
        assert named.status in (401, 403) or route in OWNERLESS, f"{method} {route} as Anna, for Lin: {named}"
        check_answer(named, secrets, f"{method} {route} {arguments}")
        for dimension in OWNER[1:]:
            for name in lin_names:
                for owner in ({dimension: name}, {"user_id": "anna", dimension: name}):
                    answer = call(route, method, owner, KEY_ANNA, *arguments)
                    check_answer(answer, secrets, f"{method} {route} {owner} {arguments}")
    # The key of Anna sees the same as a key of all users that names Anna: no figure includes others.
    arguments = ("00000000-0000-4000-8000-000000000000", "Lisbon")
    if route not in OWNERLESS:
        own = call(route, method, {}, KEY_ANNA, *arguments)
        named = call(route, method, {"user_id": "anna"}, KEY, *arguments)
        assert own.status == named.status, f"{method} {route}: {own} {named}"
        own, named = (comparable(answer, HIDDEN.get(route, set())) for answer in (own, named))
        difference = next((pair for pair in zip(lines(own), lines(named)) if pair[0] != pair[1]), None)
        assert own == named, f"{method} {route} differs for the key of Anna, and for Anna: {difference}"
    # A key of all users of a tenant sees nothing of another tenant.
    everyone = call(route, method, {}, KEY, *arguments)
    check_answer(everyone, {"Annabel", "Reykjavik", "globex"}, f"{method} {route}")

# No write of Anna's key changes a record of Lin.
lin_id, pending = lins[0]["id"], next(record["id"] for record in lins if record["state"] == "pending")
for path, body in [
    ("/api/records/patch", {"ids": [lin_id], "pinned": True}),
    ("/api/records/retract", {"ids": [lin_id], "reason": "not mine"}),
    ("/api/records/edit", {"id": lin_id, "text": "not mine"}),
    ("/api/deletions", {"ids": [lin_id]}),
    ("/api/review/accept", {"ids": [pending]}),
    ("/api/review/reject", {"ids": [pending], "reason": "not mine"}),
]:
    owners = [{}] if path.startswith("/api/review/") else [{}, {"user_id": "anna"}, {"user_id": "lin"}]
    for owner in owners:
        answer = request("POST", path, body={**owner, **body}, key=KEY_ANNA, url=KEYED_URL)
        assert answer.status < 500, f"{path} {owner}: {answer}"
        assert "lin" not in owner.values() or answer.status in (401, 403), f"{path} {owner}: {answer}"
after = [(record["id"], record["text"], record["state"], record["pinned"]) for record in timeline("lin")]
assert after == before, "a write with Anna's key has changed a record of Lin"

with Browser() as browser:
    # The views, with Lin in the address, and without.
    inspector = browser.open(url=KEYED_URL, key=KEY_ANNA)
    inspector.expect_fault(r"status of 40[13]")
    for route in ROUTES:
        for owner in ({"user_id": "lin"}, {"user_id": "lin", "session_id": "2026-04-04-night", "branch": "hand-over"}, {}):
            inspector.visit(route, **owner, **({"q": lins[0]["text"][:20]} if route == "search" else {}))
            shown = inspector.page.locator("main").inner_text() + inspector.page.locator(".owner").inner_text()
            found = [secret for secret in secrets if secret in shown and secret not in lins[0]["text"]]
            found = [secret for secret in found if secret not in owner.values()]
            assert not found, f"{route} with {owner} shows {found[:5]}"
    users = inspector.page.locator(".owner select").first.locator("option").all_inner_texts()
    assert "anna" in users and "lin" not in users, users

    # The key: a wrong one, the right one, and none again.
    inspector = browser.open(url=KEYED_URL).expect_fault("status of 401").visit("overview")
    page = inspector.page
    page.get_by_label("Key", exact=True).fill("mk-not-the-key-of-anyone")
    page.get_by_role("button", name="Open").click()
    inspector.settle()
    assert page.get_by_text("does not accept this key").is_visible()
    page.get_by_label("Key", exact=True).fill(KEY_LIN)
    page.keyboard.press("Enter")
    inspector.settle()
    assert page.locator("h1").inner_text() == "Overview"
    assert KEY_LIN not in page.url and inspector.context.cookies() == []
    kept = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert KEY_LIN not in kept.split("},{")[0], "the key is kept after the tab is closed"
    page.get_by_role("button", name="Forget key").click()
    assert page.get_by_label("Key", exact=True).is_visible()
    assert KEY_LIN not in page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
