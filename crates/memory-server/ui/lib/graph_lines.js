// The lines of the picture of a graph: one for each pair of related entities.

/** Maximum number of lines, for the pairs with the most records. More lines are slow and hide each other. */
const MAX_LINES = 1500;

/** Returns the pairs that are drawn: the strongest, and the strongest of each entity. */
export function linesOf(edges) {
  const pairs = pairsOf(edges).sort((a, b) => b.records - a.records);
  const linked = new Set();
  return pairs.filter((pair, index) => {
    const isFirst = !linked.has(pair.source) || !linked.has(pair.target);
    linked.add(pair.source).add(pair.target);
    return isFirst || index < MAX_LINES;
  });
}

/** Returns each pair of related entities once, with the number of records that state a relation between them. */
export function pairsOf(edges) {
  const pairs = new Map();
  for (const edge of edges) {
    const [source, target] = [edge.source, edge.target].sort();
    const key = `${source}-${target}`;
    const pair = pairs.get(key) ?? { source, target, records: 0 };
    pair.records += edge.records;
    pairs.set(key, pair);
  }
  return [...pairs.values()];
}
