"""The graph: a picture of entities and relations, the same as lists, and the records behind each of them."""

import json
import time
import urllib.parse

from support.api import request
from support.large_graph import NODES, large_graph
from support.page import KEY_ANNA, KEY_LIN, KEYED_URL, Browser

PATH = "/api/inspector/graph"


def graph(query, **options):
    response = request("GET", f"{PATH}?{query}", **options)
    assert response.status == 200, response
    return response.json


def wait_for_picture(inspector):
    inspector.page.locator(".graph-picture[aria-busy=false]").wait_for()
    inspector.settle()


def click_node(page, node):
    """Clicks on a node of the picture."""
    at = page.evaluate(
        "id => document.querySelector('.graph-canvas')._cyreg.cy.getElementById(id).renderedPosition()", node["id"])
    box = page.locator(".graph-canvas").bounding_box()
    page.mouse.click(box["x"] + at["x"], box["y"] + at["y"])


def check_picture(browser):
    """A click on a node or on a line shows its records; the list does the same."""
    found = graph("user_id=lin")
    node, names = found["nodes"][0], {node["id"]: node["name"] for node in found["nodes"]}
    assert node["degree"] >= 1
    inspector = browser.open("graph", user_id="lin", language="zh", scheme="dark")
    page = inspector.page
    wait_for_picture(inspector)
    click_node(page, node)
    page.wait_for_url(f"**entity={node['id']}**")
    inspector.settle()
    side = page.locator(".graph-side")
    assert side.get_by_role("heading", name=node["name"]).is_visible()
    evidence = request("GET", f"{PATH}/evidence?user_id=lin&entity={node['id']}").json
    assert len(evidence["records"]) == node["mentions"]
    assert [record["text"] for record in evidence["records"]] == side.locator(".memory-text").all_inner_texts()
    assert all(node["name"] in record["text"] for record in evidence["records"])
    page.get_by_role("button", name="返回列表").click()
    inspector.settle()
    edge = found["edges"][0]
    page.get_by_role("tab", name="关系").click()
    line = side.get_by_role("listitem").filter(has_text=names[edge["source"]]).filter(has_text=names[edge["target"]])
    line.first.get_by_role("link").click()
    page.wait_for_url(f"**source={edge['source']}**")
    inspector.settle()
    texts = side.locator(".memory-text").all_inner_texts()
    assert texts and all(names[edge["source"]] in text and names[edge["target"]] in text for text in texts), texts
    side.get_by_role("link", name="打开这条记忆").first.click()
    inspector.settle()
    assert page.locator("main").get_by_text(texts[0][:12]).first.is_visible()


def check_search(browser):
    found = graph("user_id=lin")
    name = found["nodes"][0]["name"]
    inspector = browser.open("graph", user_id="lin")
    page = inspector.page
    wait_for_picture(inspector)
    field = page.get_by_label("Find an entity")
    field.fill(name)
    matching = [node for node in found["nodes"] if name in [node["name"], *node["aliases"]]]
    assert page.locator(".graph-side li").count() == len(matching)
    marked = "() => document.querySelector('.graph-canvas')._cyreg.cy.nodes('.found').map(node => node.data('name'))"
    # The page marks them in its next frame, which may be late on a busy machine.
    page.wait_for_function(f"name => JSON.stringify(({marked})()) === JSON.stringify([name])", arg=name)
    field.press("Enter")
    page.wait_for_url("**about=**")
    wait_for_picture(inspector)
    near = graph("user_id=lin&" + urllib.parse.urlencode({"about": name}))
    assert 1 < len(near["nodes"]) < len(found["nodes"])
    assert page.locator(".graph-side li").count() == len(near["nodes"])
    page.get_by_label("Find an entity").fill("Nobody Of That Name")
    page.get_by_role("button", name="Search").click()
    page.wait_for_url("**Nobody**")
    inspector.settle()
    assert page.get_by_text("No entity is called").is_visible()
    page.get_by_role("link", name="Show the whole graph").click()
    wait_for_picture(inspector)
    assert page.locator(".graph-side li").count() == len(found["nodes"])


def check_keyboard(browser):
    """Everything in the picture can be reached without a pointer."""
    inspector = browser.open("graph", user_id="anna")
    page = inspector.page
    wait_for_picture(inspector)
    page.locator(".graph-side li a").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**entity=**")
    inspector.settle()
    assert page.evaluate("document.activeElement.textContent").endswith("Back to the list")
    assert page.locator(".graph-side .memory-text").count() > 0
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "entity=" not in url)
    inspector.settle()
    assert page.locator(".graph-side li a").count() == len(graph("user_id=anna")["nodes"])
    before = page.evaluate("document.querySelector('.graph-canvas')._cyreg.cy.zoom()")
    page.get_by_role("button", name="Enlarge").press("Enter")
    assert page.evaluate("document.querySelector('.graph-canvas')._cyreg.cy.zoom()") > before


def check_large(browser):
    """500 of more entities are drawn, and the page says that there are more."""
    inspector = browser.open(is_time_fixed=False)
    page = inspector.page
    answer = large_graph()
    page.route(f"**{PATH}?*", lambda route: route.fulfill(body=json.dumps(answer), content_type="application/json"))
    inspector.visit("graph", user_id="anna")
    wait_for_picture(inspector)
    cy = "document.querySelector('.graph-canvas')._cyreg.cy"
    assert page.evaluate(f"[{cy}.nodes().length, {cy}.edges().length]") == [NODES, len(answer["edges"])]
    positions = page.evaluate(f"{cy}.nodes().map(node => Object.values(node.position()).map(Math.round))")
    assert len({tuple(position) for position in positions}) > NODES * 0.9, "the entities are drawn on top of each other"
    box = page.locator(".graph-canvas").bounding_box()
    assert all(0 <= x <= box["width"] and 0 <= y <= box["height"] for x, y in positions)
    assert page.get_by_text("The 500 best-connected of 1,234 entities are shown").is_visible()
    page.mouse.move(box["x"] + 4, box["y"] + 4)
    page.mouse.down()
    for step in range(40):
        page.mouse.move(box["x"] + 4 + step * 4, box["y"] + 4 + step * 2)
    # The picture follows the pointer. `tests/browser/speed.py` measures the time of a frame.
    deadline = time.monotonic() + 60
    while page.evaluate(f"{cy}.pan().x") <= 100:
        assert time.monotonic() < deadline, "the picture does not follow the pointer"
        page.wait_for_timeout(20)
    page.mouse.up()


def check_api():
    every = graph("user_id=anna")
    best = graph("user_id=anna&limit=3")
    assert best["total_entities"] == len(every["nodes"]) > 3
    assert [node["id"] for node in best["nodes"]] == [node["id"] for node in every["nodes"][:3]]
    degrees = [node["degree"] for node in every["nodes"]]
    assert degrees == sorted(degrees, reverse=True) and degrees[0] > degrees[-1]
    part = graph("user_id=anna&about=webe")
    assert any("Weber" in node["name"] and node["hops"] == 0 for node in part["nodes"]), part["nodes"]
    of_anna = every["nodes"][0]["id"]
    assert request("GET", f"{PATH}?user_id=anna", key=KEY_LIN, url=KEYED_URL).status == 403
    assert request("GET", f"{PATH}/evidence?entity={of_anna}", key=KEY_LIN, url=KEYED_URL).status == 404
    assert request("GET", f"{PATH}/evidence?entity={of_anna}", key=KEY_ANNA, url=KEYED_URL).status == 200
    own = graph("", key=KEY_LIN, url=KEYED_URL)
    assert own["total_entities"] == graph("user_id=lin")["total_entities"]
    faults = [("?limit=501", "500"), ("?hops=4&about=Anna", "3"), ("/evidence?", "entity"),
              ("/evidence?entity=x", "32")]
    for path, word in faults:
        response = request("GET", f"{PATH}{path}&user_id=anna")
        assert response.status == 400 and word in response.text, f"{path}: {response}"


with Browser() as browser:
    check_picture(browser)
    check_search(browser)
    check_keyboard(browser)
    check_large(browser)
    check_api()
