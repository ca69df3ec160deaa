// The pages of the timeline that were loaded, and the records of each.

import { useCallback, useEffect, useMemo, useRef, useState } from './ui.js';
import { get } from './api.js';

const PATH = '/api/inspector/timeline';
const PAGE_ENTRIES = 50;
const EMPTY_STATE = { pages: [], derived: new Map(), loading: true, error: null };

/**
 * Loads the timeline page by page. `params` are those of the request; other parameters begin a new list. Returns
 * - `entries`: the records of all loaded pages, in the order of the list;
 * - `derived`: the records derived from them, by id;
 * - `loading`, `error`: the state of the last request;
 * - `hasMore`, `loadMore()`: the page after the last;
 * - `hasBefore`, `loadBefore()`: the page before the first, if the list began at `params.from`;
 * - `refresh(id)`: reads the page of a record again;
 * - `update()`: shows what was stored since: the list from its start, or the last page if the oldest are first.
 */
export function useTimeline(params) {
  const [state, setState] = useState(EMPTY_STATE);
  const list = useRef(null);
  const requestKey = JSON.stringify(params);
  const read = useCallback((request, merge) => {
    const { signal } = list.current;
    get(PATH, { ...request, limit: PAGE_ENTRIES }, { signal }).then(
      (answer) => signal.aborted || setState((earlier) => merge(earlier, { request, ...answer })),
      (error) => signal.aborted || setState((earlier) => ({ ...earlier, loading: false, error })),
    );
  }, []);
  const load = (request, merge) => {
    if (state.loading) return;
    setState((earlier) => ({ ...earlier, loading: true, error: null }));
    read(request, merge);
  };
  useEffect(() => {
    // Answers for an earlier list are ignored.
    list.current = new AbortController();
    setState(EMPTY_STATE);
    read(params, append);
    return () => list.current.abort();
  }, [requestKey, read]);

  const first = state.pages[0];
  const last = state.pages[state.pages.length - 1];
  const { from, ...withoutFrom } = params;
  const loadMore = () => {
    if (!last) load(params, append);
    else if (last.next_cursor) load({ ...withoutFrom, cursor: last.next_cursor }, append);
  };
  const loadBefore = () => {
    if (first) load({ ...withoutFrom, order: opposite(params.order), cursor: first.first_cursor }, prepend);
  };
  const refresh = (id) => {
    const page = state.pages.find((one) => one.entries.some((entry) => entry.id === id));
    if (page) read(page.request, replace);
  };
  const update = () => {
    const isOldest = params.order === 'oldest';
    if (isOldest && last && !last.next_cursor) read(last.request, replaceLast);
    if (!isOldest && first) read(params, (_, page) => append(EMPTY_STATE, page));
  };
  const entries = useMemo(() => state.pages.flatMap((page) => page.entries), [state.pages]);
  return {
    entries, derived: state.derived, loading: state.loading, error: state.error, loadMore, loadBefore, refresh,
    update,
    hasMore: Boolean(last?.next_cursor), hasBefore: Boolean(from && first?.first_cursor) && !first.isStart,
  };
}

function opposite(order) {
  return order === 'oldest' ? 'newest' : 'oldest';
}

function append(state, page) {
  return withPages(state, [...state.pages, page], page);
}

/** Adds a page before the others. It was read in the opposite order: the next one before it begins where it ends. */
function prepend(state, page) {
  const [first, ...rest] = state.pages;
  const isStart = page.next_cursor === null;
  if (page.entries.length === 0) return withPages(state, [{ ...first, isStart }, ...rest], page);
  const entries = [...page.entries].reverse();
  const before = { ...page, entries, first_cursor: page.next_cursor, isStart, isReversed: true };
  return withPages(state, [before, ...state.pages], page);
}

/** Replaces the records of a page that was read again, without those that another page shows. */
function replace(state, fresh) {
  const isSame = (page) => page.request === fresh.request;
  const others = new Set(state.pages.flatMap((page) => (isSame(page) ? [] : page.entries.map((entry) => entry.id))));
  const entries = fresh.entries.filter((entry) => !others.has(entry.id));
  const replaced = (page) => ({ ...page, entries: page.isReversed ? entries.reverse() : entries });
  const { loading } = state;
  return { ...withPages(state, state.pages.map((page) => (isSame(page) ? replaced(page) : page)), fresh), loading };
}

/** Replaces the last page, which may go on now. */
function replaceLast(state, fresh) {
  return withPages(state, [...state.pages.slice(0, -1), fresh], fresh);
}

function withPages(state, pages, page) {
  const derived = new Map(state.derived);
  page.derived.forEach((record) => derived.set(record.id, record));
  return { pages, derived, loading: false, error: null };
}
