"""HTTP client for a memory-engine server, with a time limit for each whole request."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import urllib.parse

# Time limit of a whole request, from the look-up of the name to the last byte of the answer.
REQUEST_TIMEOUT_SECONDS = 2.0
# Maximum size of an answer.
MAX_ANSWER_BYTES = 1_000_000
# Maximum number of characters of a refusal that a message cites.
MAX_REFUSAL_CHARACTERS = 200


class ServerError(Exception):
    """The server did not answer with a JSON object in time. The message says why."""


def is_valid_address(address):
    """Returns true for an http or https address with a host."""
    try:
        parts = urllib.parse.urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


class Client:
    """Sends requests to a server in the name of `user`, the user whose memories are read and written."""

    def __init__(self, address, user, key):
        self.address = address
        self.user = user
        self._key = key

    def post(self, path, body):
        """Returns the JSON object that the server answers.

        It takes at most REQUEST_TIMEOUT_SECONDS. Every failure is a `ServerError`.
        """
        request = _Request(self.address, path, json.dumps(body).encode(), self._headers())
        # The timeout of a socket starts again with each byte, and the look-up of a name has none.
        thread = threading.Thread(target=request.run, name="memory-engine-request", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            raise ServerError(f"the request was not sent: {error}") from error
        thread.join(REQUEST_TIMEOUT_SECONDS)
        if thread.is_alive():
            request.abort()
            raise ServerError(f"no complete answer within {REQUEST_TIMEOUT_SECONDS:g} s")
        if request.error is not None:
            raise ServerError(str(request.error) or type(request.error).__name__) from request.error
        return _parse_object(request.status, request.answer)

    def _headers(self):
        user = urllib.parse.quote(self.user, safe="", errors="replace")
        headers = {"Content-Type": "application/json", "X-User-Id": user}
        if self._key:
            # http.client would cite the key in its own message.
            if not (self._key.isascii() and self._key.isprintable()):
                raise ServerError("the key contains a character that a header cannot contain; check MEMORY_TOKEN")
            headers["X-Memory-Key"] = self._key
        return headers


class _Request:
    """One request. A thread calls `run`; another one may call `abort`, which makes `run` end soon."""

    def __init__(self, address, path, body, headers):
        self._address = address
        self._path = path
        self._body = body
        self._headers = headers
        self._socket = None
        self._is_aborted = False
        self.status = 0
        self.answer = b""
        self.error = None

    def run(self):
        try:
            self._exchange()
        except Exception as error:  # The caller gets it: nothing may end this thread in silence.
            self.error = error

    def abort(self):
        self._is_aborted = True
        if self._socket is not None:
            try:
                self._socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # The server has closed the connection already.

    def _exchange(self):
        if not is_valid_address(self._address):
            raise ServerError(f"the address {self._address!r} is not valid; write one such as http://127.0.0.1:8765")
        parts = urllib.parse.urlsplit(self._address)
        is_encrypted = parts.scheme == "https"
        connect = http.client.HTTPSConnection if is_encrypted else http.client.HTTPConnection
        connection = connect(parts.hostname, parts.port, timeout=REQUEST_TIMEOUT_SECONDS)
        try:
            connection.connect()
            self._socket = connection.sock
            if self._is_aborted:
                return
            connection.request("POST", f"{parts.path.rstrip('/')}/{self._path}", self._body, self._headers)
            response = connection.getresponse()
            self.status = response.status
            self.answer = response.read(MAX_ANSWER_BYTES + 1)
        finally:
            connection.close()


def _parse_object(status, answer):
    if not 200 <= status < 300:
        text = answer.decode(errors="replace")[:MAX_REFUSAL_CHARACTERS].strip()
        raise ServerError(f"HTTP status {status}: {text}" if text else f"HTTP status {status}")
    if len(answer) > MAX_ANSWER_BYTES:
        raise ServerError(f"the answer has more than {MAX_ANSWER_BYTES} bytes")
    try:
        parsed = json.loads(answer)
    except (ValueError, RecursionError) as error:
        raise ServerError(f"the answer is not JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise ServerError("the answer is not a JSON object")
    return parsed
