"""A double of a memory-engine server. It records requests, and misbehaves on demand."""

import http.server
import json
import threading
import time

# Interval between two bytes of an answer that trickles. Each byte is in time for a timeout of the socket alone.
TRICKLE_INTERVAL_SECONDS = 0.2
TRICKLE_MAX_SECONDS = 10.0
STORED = {"context": "", "memories": [], "stored": True, "degraded": []}


def http_answer(body, status="200 OK", length=None):
    """Returns the bytes of an answer. `length` is the promised length, by default the real one."""
    length = len(body) if length is None else length
    return f"HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n".encode() + body


# Answers that no server should give. None closes the connection without an answer.
BAD_ANSWERS = {
    "half of the promised JSON": http_answer(b'{"context": "Mar', length=1000),
    "half JSON": http_answer(b'{"context": "Mar'),
    "a JSON list": http_answer(b"[1, 2]"),
    "a JSON text": http_answer(b'"context"'),
    "null": http_answer(b"null"),
    "an empty answer": http_answer(b""),
    "deeply nested JSON": http_answer(b"[" * 200_000),
    "fields of other types": http_answer(b'{"context": 5, "stored": "no", "degraded": 7, "results": {"memory": 1}}'),
    "lists of other types": http_answer(b'{"context": [], "degraded": [1, {}], "results": [1, null, {"memory": 5}]}'),
    "text that is not UTF-8": http_answer(b'{"context": "\xff\xfe"}'),
    "HTTP status 500": http_answer(b'{"detail": "the disk is full"}', "500 Internal Error"),
    "HTTP status 500 without a text": http_answer(b"", "500 Internal Error"),
    "another protocol": b"220 mail.example.org ESMTP\r\n",
    "a header without an end": b"HTTP/1.1 200 OK\r\nX-Header: " + b"x" * 100_000,
    "a closed connection": None,
}


class ServerDouble:
    """`with ServerDouble() as server:` listens on a free port.

    `answer(path, body)` decides on each answer: an object, bytes to send as they are, or None for none.
    `gate` holds all answers while it is cleared. `trickles` sends answers byte by byte.
    """

    def __init__(self):
        self.requests = []
        self.gate = threading.Event()
        self.gate.set()
        self.trickles = False
        self.reset()
        double = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                double.requests.append((self.path.strip("/"), body))
                double.gate.wait()
                answer = double.answer(self.path.strip("/"), body)
                if isinstance(answer, dict):
                    answer = http_answer(json.dumps(answer).encode())
                double.write(self.wfile, answer)
                self.close_connection = True

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):
                pass  # The client has closed the connection.

        self.server = Server(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.gate.set()
        self.server.shutdown()
        self.server.server_close()

    def reset(self):
        """Makes the server behave."""
        self.trickles = False
        self.answer = lambda path, body: {"results": []} if path == "search" else STORED

    def write(self, stream, answer):
        if not self.trickles:
            stream.write(answer or b"")
            return
        deadline = time.monotonic() + TRICKLE_MAX_SECONDS
        for byte in answer:
            if time.monotonic() > deadline:
                return
            stream.write(bytes([byte]))
            time.sleep(TRICKLE_INTERVAL_SECONDS)

    def events(self, kind):
        """Returns the events of a kind, oldest first."""
        return [body for _, body in list(self.requests) if body.get("event") == kind]
