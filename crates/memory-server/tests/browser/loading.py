"""The first load is small: less than 200 kB, without the library of the graph. `speed.py` measures its time."""

from support.page import Browser

MAX_BYTES = 200_000

with Browser() as browser:
    for route in ("about", "overview"):
        # A new context has an empty cache.
        inspector = browser.open(is_time_fixed=False)
        transferred = []
        session = inspector.context.new_cdp_session(inspector.page)
        session.send("Network.enable")
        session.on("Network.loadingFinished", lambda event: transferred.append(event["encodedDataLength"]))
        inspector.visit(route, user_id="anna")
        size, requests = sum(transferred), len(transferred)
        names = inspector.page.evaluate("performance.getEntriesByType('resource').map(entry => entry.name)")
        assert not [name for name in names if "cytoscape" in name], f"{route} loads the library of the graph"
        print(f"first load of {route}: {size} bytes in {requests} requests")
        assert requests > 5, f"only {requests} requests were measured"
        assert size < MAX_BYTES, f"the first load transfers {size} bytes; less than {MAX_BYTES} are allowed"
