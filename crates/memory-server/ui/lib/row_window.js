// Long lists: only the rows near the visible part are elements of the page. Rows may have any height.

import { useCallback, useEffect, useLayoutEffect, useRef, useState } from './ui.js';

/** Height in pixels of a row that has not been shown yet, until some rows were measured. */
const FIRST_ESTIMATE = 110;
/** Pixels above and below the visible part in which rows are shown. */
const MARGIN = 600;
/** The shown rows begin and end at multiples of this number, so that they do not change with every row that passes. */
const BLOCK_ROWS = 5;

/**
 * Chooses the rows of a list that are shown. `ids` are the keys of all rows. The page scrolls, not the list. Returns
 * `start` and `end`, the range of the rows to show; `before` and `after`, the heights of the space for the others;
 * `list`, the ref of the list; `row(id)`, the ref of a row; and `heightOf(id)`, its height.
 */
export function useRowWindow(ids) {
  const list = useRef(null);
  const sizes = useRowSizes();
  const [range, setRange] = useState({ start: 0, end: Math.min(ids.length, 20) });
  const update = useCallback(() => {
    if (!list.current) return;
    const top = -list.current.getBoundingClientRect().top;
    const next = visibleRange(ids, sizes.heightOf, top - MARGIN, top + innerHeight + MARGIN);
    setRange((earlier) => (earlier.start === next.start && earlier.end === next.end ? earlier : next));
  }, [ids, sizes.heightOf]);
  useLayoutEffect(update, [update, sizes.version]);
  useEffect(() => {
    addEventListener('scroll', update, { passive: true });
    addEventListener('resize', update);
    return () => {
      removeEventListener('scroll', update);
      removeEventListener('resize', update);
    };
  }, [update]);
  const start = Math.min(range.start, ids.length);
  const end = Math.min(range.end, ids.length);
  const total = (from, to) => ids.slice(from, to).reduce((sum, id) => sum + sizes.heightOf(id), 0);
  return { start, end, before: total(0, start), after: total(end, ids.length), list, row: sizes.row,
    heightOf: sizes.heightOf };
}

/** Returns the rows between two distances from the top of the list, in pixels. */
export function visibleRange(ids, heightOf, top, bottom) {
  let offset = 0;
  let start = 0;
  while (start < ids.length && offset + heightOf(ids[start]) < top) {
    offset += heightOf(ids[start]);
    start += 1;
  }
  let end = start;
  while (end < ids.length && offset < bottom) {
    offset += heightOf(ids[end]);
    end += 1;
  }
  const blockEnd = Math.ceil(end / BLOCK_ROWS) * BLOCK_ROWS;
  return { start: start - (start % BLOCK_ROWS), end: Math.min(ids.length, blockEnd) };
}

/** Measures rows while they are shown. A row that was never shown has the mean height of the others. */
function useRowSizes() {
  const [version, setVersion] = useState(0);
  const [sizes] = useState(() => newSizes(() => setVersion((n) => n + 1)));
  useEffect(() => () => sizes.observer.disconnect(), [sizes]);
  return { version, heightOf: sizes.heightOf, row: sizes.row };
}

function newSizes(onChange) {
  const heights = new Map();
  const elements = new Map();
  const refs = new Map();
  let sum = 0;
  const measure = (element) => {
    const id = element.dataset.row;
    const height = element.getBoundingClientRect().height;
    const earlier = heights.get(id) ?? 0;
    if (height === 0 || Math.abs(height - earlier) < 0.5) return false;
    sum += height - earlier;
    heights.set(id, height);
    return true;
  };
  const observer = new ResizeObserver((entries) => {
    const changed = entries.filter((entry) => entry.target.isConnected && measure(entry.target));
    if (changed.length > 0) onChange();
  });
  const row = (id) => {
    if (!refs.has(id)) refs.set(id, (element) => follow(id, element));
    return refs.get(id);
  };
  const follow = (id, element) => {
    if (elements.has(id)) observer.unobserve(elements.get(id));
    if (element) {
      elements.set(id, element);
      observer.observe(element);
    } else {
      elements.delete(id);
      refs.delete(id);
    }
  };
  const heightOf = (id) => heights.get(id) ?? (heights.size > 0 ? sum / heights.size : FIRST_ESTIMATE);
  return { observer, row, heightOf };
}
