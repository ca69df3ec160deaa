// Requests to the server. The key is kept for this browser tab only, and is sent in a header: there are no cookies, so
// that no other page can use it.

import { useCallback, useEffect, useRef, useState } from './ui.js';

const STORED = 'memory-engine.key';
const refusedListeners = new Set();
const writtenListeners = new Set();
const storedListeners = new Set();

/** A refusal or failure, with the HTTP status (0 if the server did not answer) and the server's message. */
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Returns the key of this tab, or null. */
export function storedKey() {
  return sessionStorage.getItem(STORED);
}

/** Keeps the key for this tab, or forgets it if it is empty. */
export function storeKey(key) {
  if (key) sessionStorage.setItem(STORED, key);
  else sessionStorage.removeItem(STORED);
}

/** Calls a function whenever the server asks for a key or refuses it. Returns a function that ends this. */
export function onKeyRefused(listener) {
  refusedListeners.add(listener);
  return () => refusedListeners.delete(listener);
}

/** Calls a function after each request that changed memories. Returns a function that ends this. */
export function onWritten(listener) {
  writtenListeners.add(listener);
  return () => writtenListeners.delete(listener);
}

/** Calls a function when another program has written something. Returns a function that ends this. */
export function onStored(listener) {
  storedListeners.add(listener);
  return () => storedListeners.delete(listener);
}

/** Says that another program has written something. */
export function announceStored() {
  storedListeners.forEach((listener) => listener());
}

/** Returns a path with parameters. Missing and empty parameters are left out. */
export function withParams(path, params = {}) {
  const present = Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== '');
  const query = new URLSearchParams(present.map(([name, value]) => [name, String(value)])).toString();
  return query ? `${path}?${query}` : path;
}

/** Reads JSON from a path of the server. */
export function get(path, params, options = {}) {
  return request('GET', withParams(path, params), undefined, options);
}

/** Sends JSON to a path of the server, and returns the answer. */
export function post(path, body, options = {}) {
  return request('POST', path, body, options);
}

/** Sends a request with any method. */
export async function request(method, path, body, { signal } = {}) {
  const headers = { accept: 'application/json', 'x-memory-agent': 'inspector' };
  if (body !== undefined) headers['content-type'] = 'application/json';
  const key = storedKey();
  if (key) headers['x-memory-key'] = key;
  const content = body === undefined ? undefined : JSON.stringify(body);
  let response;
  try {
    response = await fetch(path, { method, headers, body: content, signal, credentials: 'omit' });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError(0, 'the server does not answer');
  }
  const text = await response.text();
  const answer = parseJson(text);
  if (response.ok) {
    if (method !== 'GET' && !path.startsWith('/api/inspector/')) writtenListeners.forEach((listener) => listener());
    return answer;
  }
  if (response.status === 401) refusedListeners.forEach((listener) => listener());
  const message = answer?.detail ?? answer?.error?.message ?? answer?.error ?? `HTTP ${response.status}`;
  throw new ApiError(response.status, message);
}

function parseJson(text) {
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}

/**
 * Reads a path with parameters, and again when they change or when another program has written something. Returns
 * `{ data, error, loading, reload }`. While it loads again, the earlier data stays. A null path reads nothing.
 */
export function useGet(path, params = {}) {
  const address = path === null ? null : withParams(path, params);
  const [state, setState] = useState({ data: null, error: null, loading: address !== null });
  const running = useRef(null);
  const load = useCallback(() => {
    running.current?.abort();
    if (address === null) {
      setState({ data: null, error: null, loading: false });
      return;
    }
    const controller = new AbortController();
    running.current = controller;
    setState((earlier) => ({ ...earlier, error: null, loading: true }));
    request('GET', address, undefined, { signal: controller.signal }).then(
      (data) => setState({ data, error: null, loading: false }),
      (error) => {
        if (error.name !== 'AbortError') setState({ data: null, error, loading: false });
      },
    );
  }, [address]);
  useEffect(() => {
    load();
    const end = onStored(load);
    return () => {
      end();
      running.current?.abort();
    };
  }, [load]);
  return { ...state, reload: load };
}
