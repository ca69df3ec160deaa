"""A deletion is previewed, confirmed, certified and verified, and nothing else is deleted."""

import json
import re

from support.api import request
from support.page import KEY_ANNA, KEYED_URL, OUTPUT, Browser

SESSION = "2026-04-04-night"


def counts(user):
    """Returns the number of records of each user's conversation."""
    addresses = request("GET", f"/api/inspector/addresses?user_id={user}").json["addresses"]
    return {(address.get("session_id"), address.get("branch")): address["records"] for address in addresses}


def preview(**body):
    return request("POST", "/api/inspector/deletion-preview", body=body)


def confirm(inspector, typed):
    """Types the name of the user, and confirms."""
    dialog = inspector.page.get_by_role("dialog")
    dialog.get_by_role("textbox").fill(typed)
    button = dialog.get_by_role("button", name=re.compile("Delete for good|永久删除"))
    if button.is_enabled():
        button.click()
        inspector.settle()
        return True
    return False


def check_ids(browser):
    """A turn goes with the fact that was derived from it; the certificate is downloaded, verified, and uploaded."""
    turns = request("GET", "/api/inspector/timeline?user_id=anna&kind=turn&limit=200").json["entries"]
    turn = next(entry for entry in turns if entry["derived"])
    missing = "0198c0de-0000-7000-8000-000000000000"
    inspector = browser.open("deletion", user_id="anna", ids=f"{turn['id']},{missing}")
    page = inspector.page
    page.get_by_role("button", name="Show what would go").click()
    inspector.settle()
    expected = preview(user_id="anna", ids=[turn["id"], missing]).json
    shown = page.locator(".deletion-preview")
    assert turn["text"] in shown.inner_text() and missing in shown.inner_text()
    for record in expected["derived_sample"]:
        assert record["text"] in shown.inner_text(), record
    assert expected["selected"] == {"turn": 1} and sum(expected["derived"].values()) >= 1, expected

    # A changed choice needs another preview.
    button = shown.get_by_role("button", name=re.compile("Delete .* for good"))
    page.get_by_label("Ids, one on each line").fill(missing)
    assert button.is_disabled()
    page.get_by_label("Ids, one on each line").fill(f"{turn['id']}\n{missing}")
    page.get_by_role("button", name="Show what would go").click()
    inspector.settle()

    # The name has to be typed exactly.
    button.click()
    assert not confirm(inspector, "Anna") and not confirm(inspector, "")
    assert preview(user_id="anna", ids=[turn["id"]]).json["records"] == expected["records"]
    assert confirm(inspector, "anna")
    report = page.locator(".report")
    assert report.evaluate("element => element === document.activeElement")
    assert f"{expected['records']} records were deleted" in report.inner_text(), report.inner_text()
    assert preview(user_id="anna", ids=[turn["id"]]).json["records"] == 0

    with page.expect_download() as download:
        report.get_by_role("button", name="Download certificate").click()
    assert re.fullmatch(r"deletion-certificate-[0-9TZ]+\.json", download.value.suggested_filename)
    file = OUTPUT / "certificate.json"
    download.value.save_as(file)
    certificate = json.loads(file.read_text())
    assert turn["text"] not in file.read_text()
    assert {record["id"] for record in certificate["records"]} >= {turn["id"]}
    assert request("POST", "/api/deletions/verify", body=certificate).json["passed"]

    report.get_by_role("button", name="Verify against the store").click()
    inspector.settle()
    assert report.get_by_text("Every check has passed").is_visible()
    check_upload(inspector, file, certificate)


def check_upload(inspector, file, certificate):
    panel = inspector.page.locator(".verify-certificate")
    upload = panel.locator("input[type=file]")
    changed = OUTPUT / "changed.json"
    changed.write_text(json.dumps({**certificate, "residue": 5}))
    for path, outcome in [(file, "Every check has passed"), (changed, "checks have failed")]:
        upload.set_input_files(path)
        panel.get_by_role("button", name="Verify against the store").click()
        inspector.settle()
        assert outcome in panel.inner_text(), panel.inner_text()
    text = OUTPUT / "text.json"
    text.write_text("no certificate")
    upload.set_input_files(text)
    panel.get_by_text("text.json is not a JSON file").wait_for()
    # An object that is no certificate: the server says so.
    text.write_text("{}")
    inspector.expect_fault("status of 400")
    upload.set_input_files([])
    upload.set_input_files(text)
    panel.get_by_role("button", name="Verify against the store").click()
    inspector.settle()
    assert "not a deletion certificate" in panel.inner_text(), panel.inner_text()


def check_filter(browser):
    """Kinds and times restrict the choice. Nothing is deleted without a choice."""
    inspector = browser.open("deletion", user_id="lin", language="zh")
    page = inspector.page
    page.get_by_role("button", name="查看将删除的内容").click()
    assert page.get_by_text("请选择类型或时间").is_visible()
    page.get_by_label("按 ID").check()
    page.get_by_label("ID，每行一个").fill("0198c0de-0000-7000-8000-000000000000 12345")
    page.get_by_role("button", name="查看将删除的内容").click()
    problem = page.get_by_role("alert").inner_text()
    assert "12345" in problem and "0198c0de" not in problem, problem
    page.get_by_label("按类型和时间").check()
    before = counts("lin")
    page.get_by_label("摘要").check()
    page.get_by_label("止（不含）").fill("2026-04-05T00:00")
    page.get_by_role("button", name="查看将删除的内容").click()
    inspector.settle()
    condition = [{"field": "kind", "in": ["summary"]},
                 {"field": "occurred_at", "op": "lt", "value": "2026-04-04T16:00:00Z"}]
    expected = preview(user_id="lin", filter={"and": condition}).json
    everything = preview(user_id="lin", filter={"and": condition[:1]}).json
    assert 0 < expected["selected"]["summary"] < everything["selected"]["summary"], (expected, everything)
    assert expected["selected_sample"][0]["text"] in page.locator(".deletion-preview").inner_text()
    assert page.get_by_role("button", name=f"永久删除 {expected['records']} 条记录").is_enabled()
    assert counts("lin") == before
    page.get_by_label("起（含）").fill("2026-05-01T00:00")
    page.get_by_role("button", name="查看将删除的内容").click()
    assert page.get_by_text("“起”必须早于“止”").is_visible()


def check_session(browser):
    """Everything of a session, and nothing of another one or of another user."""
    before, annas = counts("lin"), counts("anna")
    inspector = browser.open("deletion", user_id="lin", agent_id="kai", session_id=SESSION)
    page = inspector.page
    page.get_by_label("Everything here").check()
    page.get_by_role("button", name="Show what would go").click()
    inspector.settle()
    expected = preview(user_id="lin", agent_id="kai", session_id=SESSION, everything=True).json
    page.get_by_role("button", name=f"Delete {expected['records']} records for good").click()
    assert confirm(inspector, "lin")
    assert "No trace" in page.locator(".report").inner_text(), page.locator(".report").inner_text()
    after = counts("lin")
    assert not any(session == SESSION for session, _ in after), after
    others = {place: number for place, number in before.items() if place[0] not in (SESSION, None)}
    assert {place: number for place, number in after.items() if place[0] is not None} == others
    assert counts("anna") == annas


def check_text(browser):
    """The records that contain a text are previewed and deleted. A redaction replaces it, and a standing one stays."""
    request("POST", "/memories", body={"user_id": "anna", "infer": False, "messages": [
        {"role": "user", "content": "The locksmith Zubrowski changed the lock"},
        {"role": "user", "content": "Zubrowskians is a word of its own"},
        {"role": "user", "content": "my old parcel number is 4471-9023"}]})
    inspector = browser.open("deletion", user_id="anna")
    page = inspector.page
    page.get_by_label("By text").check()
    show = page.get_by_role("button", name="Show what would go")
    show.click()
    assert page.get_by_text("Enter the text that the records contain").is_visible()
    field = page.get_by_label("Text in the records")
    field.fill("ok")
    inspector.expect_fault("status of 400")
    show.click()
    inspector.settle()
    assert "at least 3" in page.locator(".notice.error").inner_text()
    field.fill("zubrowski")
    show.click()
    inspector.settle()
    shown = page.locator(".deletion-preview")
    assert "Zubrowski changed" in shown.inner_text() and "Zubrowskians" not in shown.inner_text(), shown.inner_text()
    shown.get_by_role("button", name="Delete 1 record for good").click()
    assert confirm(inspector, "anna")
    assert "1 record was deleted" in page.locator(".report").inner_text()
    assert page.locator(".report").get_by_role("button", name="Download certificate").is_visible()
    assert preview(user_id="anna", text="zubrowski").json["records"] == 0

    chinese = browser.open("deletion", user_id="anna", language="zh")
    page = chinese.page
    page.get_by_label("按文字").check()
    page.get_by_label("记录中的文字").fill("44719023")
    page.get_by_label("只把这段文字替换为").check()
    page.get_by_label("今后不再存储这段文字").check()
    page.get_by_role("button", name="查看将删除的内容").click()
    chinese.settle()
    page.get_by_role("button", name="替换 1 条记录中的文字").click()
    assert "今后存储的每条记录" in page.get_by_role("dialog").inner_text()
    assert confirm(chinese, "anna")
    assert "已替换 1 条记录" in page.locator(".report").inner_text(), page.locator(".report").inner_text()
    assert len(request("GET", "/api/deletions/standing?user_id=anna").json["standing"]) == 1
    texts = [entry["text"] for entry in
             request("GET", "/api/inspector/timeline?user_id=anna&limit=200").json["entries"]]
    assert "my old parcel number is [deleted]" in texts, texts


def check_access():
    """A key of one user previews only their memories; wrong requests are explained."""
    for user, status in [("anna", 200), ("lin", 403)]:
        response = request("POST", "/api/inspector/deletion-preview", key=KEY_ANNA, url=KEYED_URL,
                           body={"user_id": user, "everything": True})
        assert response.status == status, response
    [lins] = request("GET", "/api/inspector/undo/branches?user_id=lin").json["branches"]
    hidden = request("POST", "/api/inspector/deletion-preview", key=KEY_ANNA, url=KEYED_URL,
                     body={"ids": [lins["last_shared"]["id"]]}).json
    assert (hidden["records"], hidden["selected_sample"]) == (0, []), hidden
    for body, problem in [
        ({"user_id": "lin"}, "exactly one"), ({"everything": True}, "user_id"),
        ({"user_id": "lin", "ids": ["x"]}, "id"), ({"user": "lin", "everything": True}, "unknown field"),
    ]:
        response = preview(**body)
        assert response.status == 400 and problem in response.json["detail"], response


check_access()
with Browser() as browser:
    check_filter(browser)
    check_ids(browser)
    check_session(browser)
    check_text(browser)
    assert browser.open("deletion").page.get_by_text("Choose a user").is_visible()
