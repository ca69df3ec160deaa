"""Memory provider for Hermes Agent: sends prompts and replies to a memory-engine server (`memory serve`).

It needs the standard library only. A server that fails or is slow never stops a turn: it is logged, and the agent
continues without memory.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import threading
import urllib.parse
import urllib.request

from agent.memory_provider import MemoryProvider

logger = logging.getLogger(__name__)

DEFAULT_SERVER = "http://127.0.0.1:8765"
DEFAULT_USER = "default"
# Time limit of a request, in seconds.
TIMEOUT = 2.0
# Time limit for the replies that are not stored yet when the agent stops, in seconds.
SHUTDOWN_TIMEOUT = 5.0
# Maximum number of events that wait for the server.
MAX_WAITING = 1000

SEARCH_TOOL = {
    "name": "memory_search",
    "description": "Searches what earlier conversations said, in any language. Use it when the user refers to "
    "something from before that is not in the context. If nothing relevant is found, say so.",
    "parameters": {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "A question or a few words, such as: my sister's job"}},
        "required": ["query"],
    },
}


class MemoryEngineProvider(MemoryProvider):
    """Recalls before a turn, and stores the turn after it."""

    def __init__(self):
        self._server = os.environ.get("MEMORY_SERVER") or DEFAULT_SERVER
        self._key = os.environ.get("MEMORY_TOKEN")
        self._user = os.environ.get("MEMORY_USER") or DEFAULT_USER
        self._session = ""
        self._turn = 0
        # Sub-agents and scheduled tasks read, but what they say is not from the user.
        self._writes = True
        self._opening = ""
        # The turn of each session whose prompt is stored.
        self._asked = {}
        self._events = queue.Queue(MAX_WAITING)
        self._worker = None

    @property
    def name(self):
        return "memory_engine"

    def is_available(self):
        return urllib.parse.urlsplit(self._server).scheme in ("http", "https")

    def get_config_schema(self):
        return [
            {"key": "server", "description": "Address of memory serve", "default": DEFAULT_SERVER, "env_var": "MEMORY_SERVER"},
            {"key": "user", "description": "User of the memories", "default": DEFAULT_USER, "env_var": "MEMORY_USER"},
            {"key": "key", "description": "Key of the server, if it needs one", "secret": True, "env_var": "MEMORY_TOKEN"},
        ]

    def initialize(self, session_id, **kwargs):
        self._writes = kwargs.get("agent_context", "primary") == "primary" and kwargs.get("platform") != "cron"
        if kwargs.get("user_id"):
            self._user = f"{kwargs.get('platform', 'platform')}:{kwargs['user_id']}"
        self._begin(session_id)
        self._worker = threading.Thread(target=self._send_events, name="memory-engine", daemon=True)
        self._worker.start()

    def _begin(self, session_id):
        self._session = session_id
        answer = self._send({"event": "session_start", "session_id": session_id, "source": "user"})
        self._opening = answer.get("context", "")

    def system_prompt_block(self):
        return self._opening

    def on_turn_start(self, turn_number, message, **kwargs):
        self._turn = turn_number

    def prefetch(self, query, *, session_id=""):
        session = session_id or self._session
        if not query.strip():
            return ""
        if not self._writes:
            return "\n".join(self._search(query))
        turn = str(self._turn)
        self._asked[session] = turn
        event = {"event": "user_prompt", "session_id": session, "turn_id": turn, "prompt": query}
        return self._send(event).get("context", "")

    def sync_turn(self, user_content, assistant_content, *, session_id="", messages=None):
        session = session_id or self._session
        if not self._writes or not assistant_content.strip():
            return
        turn = self._asked.pop(session, None)
        if turn is None:
            # A turn without a prefetch: its prompt is not stored yet.
            turn = str(self._turn)
            self._put({"event": "user_prompt", "session_id": session, "turn_id": turn, "prompt": user_content})
        self._put({"event": "stop", "session_id": session, "turn_id": turn, "reply": assistant_content})

    def on_session_switch(self, new_session_id, *, parent_session_id="", reset=False, rewound=False, **kwargs):
        self._put({"event": "session_end", "session_id": self._session})
        self._session = new_session_id
        self._turn = 0

    def on_session_end(self, messages):
        self._put({"event": "session_end", "session_id": self._session})

    def get_tool_schemas(self):
        return [SEARCH_TOOL]

    def handle_tool_call(self, tool_name, args, **kwargs):
        if tool_name != SEARCH_TOOL["name"]:
            return json.dumps({"error": f"unknown tool {tool_name}"})
        query = str(args.get("query") or "").strip()
        if not query:
            return json.dumps({"error": "query is missing; write a question or a few words"})
        return json.dumps({"memories": self._search(query)}, ensure_ascii=False)

    def shutdown(self):
        self._put(None)
        if self._worker:
            self._worker.join(SHUTDOWN_TIMEOUT)

    def _search(self, query):
        answer = self._request("search", {"query": query, "user_id": self._user, "top_k": 5})
        return [memory["memory"] for memory in answer.get("results", [])]

    def _put(self, event):
        try:
            self._events.put_nowait(event)
        except queue.Full:
            logger.warning("memory-engine: %d events wait for the server; this one is dropped", MAX_WAITING)

    def _send_events(self):
        while (event := self._events.get()) is not None:
            self._send(event)

    def _send(self, event):
        answer = self._request("hooks/generic", event)
        if answer.get("degraded"):
            logger.warning("memory-engine: %s: %s", event["event"], ", ".join(answer["degraded"]))
        return answer

    def _request(self, path, body):
        """Returns the answer of the server, or an empty one if the server fails."""
        headers = {"Content-Type": "application/json", "X-User-Id": urllib.parse.quote(self._user, safe="")}
        if self._key:
            headers["X-Memory-Key"] = self._key
        url = f"{self._server.rstrip('/')}/{path}"
        try:
            request = urllib.request.Request(url, json.dumps(body).encode(), headers)
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                return json.load(answer)
        except (OSError, ValueError) as error:
            logger.warning("memory-engine: %s failed, the agent continues without memory: %s", path, error)
            return {}


def register(ctx):
    """Registers the provider."""
    ctx.register_memory_provider(MemoryEngineProvider())
