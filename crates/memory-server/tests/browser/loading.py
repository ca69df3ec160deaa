"""The first load is small and fast: less than 200 kB, and the first contentful paint within 200 ms on loopback."""

import statistics

from support.page import Browser

MAX_BYTES = 200_000
MAX_PAINT_MS = 200
RUNS = 5
PAINT = """() => new Promise(done => {
  const read = () => performance.getEntriesByName('first-contentful-paint')[0];
  if (read()) done(read().startTime);
  else new PerformanceObserver((list, observer) => {
    if (read()) { observer.disconnect(); done(read().startTime); }
  }).observe({ type: 'paint', buffered: true });
})"""

paints, sizes = [], []
with Browser() as browser:
    for _ in range(RUNS):
        # A new context has an empty cache.
        inspector = browser.open(is_time_fixed=False)
        transferred = []
        session = inspector.context.new_cdp_session(inspector.page)
        session.send("Network.enable")
        session.on("Network.loadingFinished", lambda event: transferred.append(event["encodedDataLength"]))
        inspector.visit("overview", user_id="anna")
        paints.append(inspector.page.evaluate(PAINT))
        sizes.append(sum(transferred))
        requests = len(transferred)
        assert requests > 5, f"only {requests} requests were measured"
        names = inspector.page.evaluate("performance.getEntriesByType('resource').map(entry => entry.name)")
        assert not [name for name in names if "cytoscape" in name], "the overview loads the library of the graph"
        inspector.context.close()

paint, size = statistics.median(paints), max(sizes)
print(f"first load: {size} bytes in {requests} requests; first contentful paint: median {paint:.0f} ms of "
      f"{', '.join(f'{value:.0f}' for value in paints)}")
assert size < MAX_BYTES, f"the first load transfers {size} bytes; less than {MAX_BYTES} are allowed"
assert paint < MAX_PAINT_MS, f"the first contentful paint takes {paint:.0f} ms; less than {MAX_PAINT_MS} are allowed"
