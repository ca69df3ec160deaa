// Requests to `memory serve`. The key is sent in a header; it occurs in no URL, no error and no log line.

/** Time limit of a request that nobody waits for, in milliseconds. The server itself waits up to 1.5 s for facts. */
export const BACKGROUND_LIMIT_MS = 5000;
/** Maximum number of characters of a text of the server in an error. */
const MAX_DETAIL_CHARS = 200;

/** A failed request. `kind` is the same for the same cause; `text` is an English text with places `${0}`, `${1}`. */
export class ServerError extends Error {
  constructor(kind, text, ...values) {
    super(text.replace(/\$\{(\d)\}/g, (_, index) => values[index]));
    this.kind = kind;
    this.text = text;
    this.values = values;
  }
}

function serverUrl(settings, path) {
  let url;
  try {
    url = new URL(settings.url.trim());
  } catch {
    url = null;
  }
  if (!["http:", "https:"].includes(url?.protocol)) {
    throw new ServerError(
      "address",
      'The address of the server is "${0}". Write one such as http://127.0.0.1:8765.',
      settings.url,
    );
  }
  return new URL(path, `${url.origin}${url.pathname.replace(/\/*$/, "/")}`);
}

function requestHeaders(settings) {
  const headers = {
    "Content-Type": "application/json",
    "X-Memory-Agent": "sillytavern",
    "X-Timezone": Intl.DateTimeFormat().resolvedOptions().timeZone,
  };
  const key = settings.key.trim();
  if (!key) return headers;
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new ServerError("key", "The key contains a character that no key has. Copy it again.");
  }
  return { ...headers, "X-Memory-Key": key };
}

/** Says why the browser got no answer: without permission for this page, it hides every answer of a running server. */
async function unreachable(settings, limit) {
  try {
    await fetch(serverUrl(settings, "health"), { mode: "no-cors", signal: AbortSignal.timeout(limit) });
  } catch {
    return new ServerError(
      "unreachable",
      'The server at ${0} cannot be reached. Start it with "memory serve".',
      settings.url,
    );
  }
  const text = 'The server at ${0} does not allow this page. Add "${1}" to cors_origins in its configuration.';
  return new ServerError("origin", text, settings.url, location.origin);
}

function refusal(status, body) {
  const detail = typeof body?.detail === "string" ? body.detail.slice(0, MAX_DETAIL_CHARS) : null;
  if (status === 401) {
    return new ServerError("key", 'The server needs a valid key. "memory keys new NAME --user USER" makes one.');
  }
  if (detail === null) {
    return new ServerError("address", "The program at this address is no memory server (status ${0}).", status);
  }
  return new ServerError(`status-${status}`, "The server answered with status ${0}: ${1}", status, detail);
}

/**
 * Sends a request and returns the JSON of the answer, or null for an unknown record (404 of a GET).
 * Throws a ServerError if the server does not answer within `limit` milliseconds or refuses.
 */
export async function request(settings, method, path, body, limit = BACKGROUND_LIMIT_MS) {
  const url = serverUrl(settings, path);
  const headers = requestHeaders(settings);
  const options = { method, headers, signal: AbortSignal.timeout(limit), cache: "no-store" };
  if (body !== undefined) options.body = JSON.stringify(body);
  let response;
  let answer;
  try {
    response = await fetch(url, options);
    answer = await response.json().catch((error) => {
      if (error.name === "TimeoutError") throw error;
      return undefined;
    });
  } catch (error) {
    if (error.name === "TimeoutError") {
      throw new ServerError("timeout", "The server did not answer within ${0} ms.", limit);
    }
    throw await unreachable(settings, limit);
  }
  if (response.ok && answer !== undefined) return answer;
  if (response.status === 404 && method === "GET" && answer !== undefined) return null;
  throw refusal(response.status, answer);
}
