// A force-directed layout of a graph (Fruchterman and Reingold 1991), in slices that leave time for the page. The same
// graph always gets the same picture.

/** Time that one slice may take, in milliseconds. */
const SLICE_MS = 12;
/** Number of iterations, and for graphs with many nodes. */
const ITERATIONS = 320;
const LARGE_GRAPH_ITERATIONS = 180;
const LARGE_GRAPH_NODES = 250;
/** Strength of the pull of a link. */
const LINK_PULL = 0.3;
/** Strength of the pull to the centre, which keeps unconnected parts together. */
const GRAVITY = 0.06;
/** Nodes push each other away only up to this many times the wanted length of a link. */
const MAX_PUSH_LENGTHS = 5;
/** The angle between two starting points, in radians: the golden angle spreads them evenly. */
const GOLDEN_ANGLE = 2.399963;

/**
 * Computes the positions of `count` nodes. `links` are pairs of indexes, `distance` is the wanted length of a link.
 * Returns a promise of `{ x, y }`, two arrays; null if `isCancelled()` returns true before the end.
 */
export async function forceLayout(count, links, { distance = 60, isCancelled = () => false } = {}) {
  const layout = new Layout(count, links, distance);
  while (!layout.isDone()) {
    const end = performance.now() + SLICE_MS;
    while (!layout.isDone() && performance.now() < end) layout.step();
    if (layout.isDone()) break;
    await new Promise((resolve) => setTimeout(resolve));
    if (isCancelled()) return null;
  }
  return { x: layout.x, y: layout.y };
}

class Layout {
  constructor(count, links, distance) {
    this.count = count;
    this.links = links;
    this.distance = distance;
    this.x = new Float64Array(count);
    this.y = new Float64Array(count);
    this.forceX = new Float64Array(count);
    this.forceY = new Float64Array(count);
    this.iterations = count > LARGE_GRAPH_NODES ? LARGE_GRAPH_ITERATIONS : ITERATIONS;
    this.done = 0;
    this.start();
  }

  isDone() {
    return this.done >= this.iterations || this.count < 2;
  }

  /** Places the nodes on a spiral, the first in the middle. */
  start() {
    for (let node = 0; node < this.count; node += 1) {
      const radius = this.distance * 0.7 * Math.sqrt(node);
      this.x[node] = radius * Math.cos(node * GOLDEN_ANGLE);
      this.y[node] = radius * Math.sin(node * GOLDEN_ANGLE);
    }
  }

  /** Moves every node once. The largest move shrinks with each step. */
  step() {
    this.forceX.fill(0);
    this.forceY.fill(0);
    this.repel();
    this.attract();
    const cooling = 1 - this.done / this.iterations;
    const maxMove = this.distance * (0.02 + 0.9 * cooling * cooling);
    for (let node = 0; node < this.count; node += 1) {
      const forceX = this.forceX[node] - this.x[node] * GRAVITY;
      const forceY = this.forceY[node] - this.y[node] * GRAVITY;
      const length = Math.hypot(forceX, forceY) || 1;
      const move = Math.min(length, maxMove) / length;
      this.x[node] += forceX * move;
      this.y[node] += forceY * move;
    }
    this.done += 1;
  }

  /** Every node pushes the others near it away. */
  repel() {
    const { count, x, y, forceX, forceY } = this;
    const strength = this.distance * this.distance;
    const maxSquare = strength * MAX_PUSH_LENGTHS * MAX_PUSH_LENGTHS;
    for (let one = 0; one < count; one += 1) {
      for (let other = one + 1; other < count; other += 1) {
        const deltaX = x[one] - x[other] || 0.01;
        const deltaY = y[one] - y[other] || 0.01;
        const square = deltaX * deltaX + deltaY * deltaY;
        if (square > maxSquare) continue;
        const share = strength / square;
        forceX[one] += deltaX * share;
        forceY[one] += deltaY * share;
        forceX[other] -= deltaX * share;
        forceY[other] -= deltaY * share;
      }
    }
  }

  /** Linked nodes pull each other. Nodes with many links pull less on each, so that dense parts spread. */
  attract() {
    const { x, y, forceX, forceY, distance } = this;
    this.degrees ??= this.countLinks();
    for (const [source, target] of this.links) {
      const deltaX = x[source] - x[target];
      const deltaY = y[source] - y[target];
      const length = Math.hypot(deltaX, deltaY);
      const weight = LINK_PULL / Math.sqrt(this.degrees[source] * this.degrees[target]);
      const pull = (length / distance) * weight;
      forceX[source] -= deltaX * pull;
      forceY[source] -= deltaY * pull;
      forceX[target] += deltaX * pull;
      forceY[target] += deltaY * pull;
    }
  }

  countLinks() {
    const degrees = new Float64Array(this.count);
    for (const [source, target] of this.links) {
      degrees[source] += 1;
      degrees[target] += 1;
    }
    return degrees;
  }
}
