// The pages of the timeline that were loaded, and the records of each.

import { useCallback, useEffect, useMemo, useRef, useState } from './ui.js';
import { get } from './api.js';

const PATH = '/api/inspector/timeline';
const PAGE_ENTRIES = 50;
const NONE = { pages: [], derived: new Map(), loading: true, error: null };

/**
 * Loads the timeline page by page. `params` are those of the request; other parameters begin a new list. Returns
 * `{ entries, derived, loading, error, hasMore, hasBefore, loadMore, loadBefore, refresh }`.
 */
export function useTimeline(params) {
  const [state, setState] = useState(NONE);
  const running = useRef(null);
  const address = JSON.stringify(params);
  const load = useCallback((request, place) => {
    if (running.current) return;
    const controller = new AbortController();
    running.current = controller;
    setState((earlier) => ({ ...earlier, loading: true, error: null }));
    get(PATH, { ...request, limit: PAGE_ENTRIES }, { signal: controller.signal }).then(
      (answer) => {
        running.current = null;
        setState((earlier) => place(earlier, { request, ...answer }));
      },
      (error) => {
        if (error.name === 'AbortError') return;
        running.current = null;
        setState((earlier) => ({ ...earlier, loading: false, error }));
      },
    );
  }, []);
  useEffect(() => {
    setState(NONE);
    load(params, append);
    return () => {
      running.current?.abort();
      running.current = null;
    };
  }, [address, load]);

  const first = state.pages[0];
  const last = state.pages[state.pages.length - 1];
  const { from, ...without } = params;
  const loadMore = () => {
    if (!last) load(params, append);
    else if (last.next_cursor) load({ ...without, cursor: last.next_cursor }, append);
  };
  const loadBefore = () => {
    if (first) load({ ...without, order: opposite(params.order), cursor: first.first_cursor }, prepend);
  };
  const refresh = (id) => {
    const page = state.pages.find((one) => one.entries.some((entry) => entry.id === id));
    if (page) load(page.request, (earlier, fresh) => replace(earlier, page, fresh));
  };
  const entries = useMemo(() => state.pages.flatMap((page) => page.entries), [state.pages]);
  return {
    entries, derived: state.derived, loading: state.loading, error: state.error, loadMore, loadBefore, refresh,
    hasMore: Boolean(last?.next_cursor), hasBefore: Boolean(from && first?.first_cursor) && !first.isStart,
  };
}

function opposite(order) {
  return order === 'oldest' ? 'newest' : 'oldest';
}

function append(state, page) {
  return added(state, [...state.pages, page], page);
}

/** Adds a page before the others. It was read in the opposite order: the next one before it begins where it ends. */
function prepend(state, page) {
  const [first, ...rest] = state.pages;
  const isStart = page.next_cursor === null;
  if (page.entries.length === 0) return added(state, [{ ...first, isStart }, ...rest], page);
  const entries = [...page.entries].reverse();
  const before = { ...page, entries, first_cursor: page.next_cursor, isStart, isReversed: true };
  return added(state, [before, ...state.pages], page);
}

/** Replaces the records of a page that was read again, without those that another page shows. */
function replace(state, page, fresh) {
  const others = new Set(state.pages.flatMap((one) => (one === page ? [] : one.entries.map((entry) => entry.id))));
  const entries = fresh.entries.filter((entry) => !others.has(entry.id));
  if (page.isReversed) entries.reverse();
  const pages = state.pages.map((one) => (one === page ? { ...page, entries } : one));
  return added(state, pages, fresh);
}

function added(state, pages, page) {
  const derived = new Map(state.derived);
  page.derived.forEach((record) => derived.set(record.id, record));
  return { pages, derived, loading: false, error: null };
}
