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

from agent.memory_provider import MemoryProvider

from .client import Client, ServerError, is_valid_address
from .turns import OpenTurns

logger = logging.getLogger(__name__)

DEFAULT_SERVER = "http://127.0.0.1:8765"
DEFAULT_USER = "default"
# Time limit for the replies that are not stored yet when the agent stops.
SHUTDOWN_TIMEOUT_SECONDS = 5.0
# Maximum number of turns that wait for the server.
MAX_WAITING_TURNS = 1000
# Maximum number of memories that the tool returns.
MAX_SEARCH_HITS = 5

SEARCH_TOOL = {
    "name": "memory_search",
    "description": "Searches what earlier conversations said, in any language. Use it when the user refers to "
    "something from before that is not in the context. If nothing relevant is found, say so.",
    "parameters": {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "A question or a few words, such as: my sister's job"},
        },
        "required": ["query"],
    },
}

CONFIG_SCHEMA = [
    {
        "key": "server",
        "description": "Address of memory serve",
        "default": DEFAULT_SERVER,
        "env_var": "MEMORY_SERVER",
    },
    {
        "key": "user",
        "description": "User of the memories",
        "default": DEFAULT_USER,
        "env_var": "MEMORY_USER",
    },
    {
        "key": "key",
        "description": "Key of the server, if it needs one",
        "secret": True,
        "env_var": "MEMORY_TOKEN",
    },
]


class MemoryEngineProvider(MemoryProvider):
    """Recalls before a turn, and stores the turn after it."""

    def __init__(self):
        address = os.environ.get("MEMORY_SERVER") or DEFAULT_SERVER
        user = os.environ.get("MEMORY_USER") or DEFAULT_USER
        self._client = Client(address, user, os.environ.get("MEMORY_TOKEN"))
        self._session = ""
        # Sub-agents and scheduled tasks read, but what they say is not from the user.
        self._writes = True
        # Profile, facts and latest messages for the system prompt of the session; None until they are loaded.
        self._opening = None
        self._turns = OpenTurns()
        # Lists of events, which the worker sends in this order, and None, which ends the worker. The size is not
        # limited by the queue itself, so that None always has room.
        self._waiting = queue.Queue()
        self._worker = None

    @property
    def name(self):
        return "memory_engine"

    def is_available(self):
        return is_valid_address(self._client.address)

    def get_config_schema(self):
        return CONFIG_SCHEMA

    def initialize(self, session_id, **kwargs):
        self._writes = kwargs.get("agent_context", "primary") == "primary" and kwargs.get("platform") != "cron"
        if kwargs.get("user_id"):
            self._client.user = f"{kwargs.get('platform', 'platform')}:{kwargs['user_id']}"
        self._session = session_id
        self._worker = threading.Thread(target=self._send_waiting, name="memory-engine", daemon=True)
        self._worker.start()

    def system_prompt_block(self):
        # A resumed session keeps its earlier system prompt, so that the host does not call this. Therefore the server
        # gets session_start here: it never counts an opening as part of a session that does not contain it.
        if self._opening is None:
            answer = self._send({"event": "session_start", "session_id": self._session, "source": "user"})
            self._opening = _context(answer) if answer else None
        return self._opening or ""

    def on_turn_start(self, turn_number, message, **kwargs):
        self._turns.forget_interrupted()

    def prefetch(self, query, *, session_id=""):
        if not query.strip():
            return ""
        if not self._writes:
            return self._recall(query)
        turn = self._turns.open(session_id or self._session, query)
        answer = self._send(_prompt_event(turn))
        turn.is_stored = answer.get("stored") is True
        return _context(answer)

    def sync_turn(self, user_content, assistant_content, *, session_id="", messages=None):
        if not self._writes or not user_content.strip() or not assistant_content.strip():
            return
        turn = self._turns.close(session_id or self._session, user_content)
        reply = {"event": "stop", "session_id": turn.session, "turn_id": turn.id, "reply": assistant_content}
        self._put([reply] if turn.is_stored else [_prompt_event(turn), reply])

    def on_session_switch(self, new_session_id, *, parent_session_id="", reset=False, rewound=False, **kwargs):
        self._session = new_session_id
        self._opening = None
        if reset or rewound:
            self._turns.clear()
        if rewound:
            # Memories that were added to the removed turns are no longer part of the session.
            self._put([{"event": "session_end", "session_id": new_session_id}])

    def on_session_end(self, messages):
        self._put([{"event": "session_end", "session_id": self._session}])

    def get_tool_schemas(self):
        return [SEARCH_TOOL]

    def handle_tool_call(self, tool_name, args, **kwargs):
        if tool_name != SEARCH_TOOL["name"]:
            return _tool_error(f"unknown tool {tool_name}")
        query = str(args.get("query") or "").strip()
        if not query:
            return _tool_error("query is missing; write a question or a few words")
        try:
            return json.dumps({"memories": self._search(query)}, ensure_ascii=False)
        except ServerError as error:
            logger.warning("memory-engine: search failed: %s", error)
            return _tool_error(f"the memory server did not answer, so that nothing was searched: {error}")

    def shutdown(self):
        if not self._worker:
            return
        self._waiting.put(None)
        self._worker.join(SHUTDOWN_TIMEOUT_SECONDS)
        if self._worker.is_alive():
            logger.warning("memory-engine: the agent stops while the server is slow; the latest turns may be lost")

    def _recall(self, query):
        try:
            return "\n".join(self._search(query))
        except ServerError as error:
            logger.warning("memory-engine: search failed, the agent continues without memory: %s", error)
            return ""

    def _search(self, query):
        """Returns the texts of the memories. Raises `ServerError` if the server does not answer."""
        request = {"query": query, "user_id": self._client.user, "top_k": MAX_SEARCH_HITS}
        results = self._client.post("search", request).get("results")
        if not isinstance(results, list):
            raise ServerError("the answer has no list of results")
        memories = [result.get("memory") for result in results if isinstance(result, dict)]
        return [memory for memory in memories if isinstance(memory, str)]

    def _put(self, events):
        if self._waiting.qsize() >= MAX_WAITING_TURNS:
            logger.warning("memory-engine: %d turns wait for the server; this one is dropped", MAX_WAITING_TURNS)
            return
        self._waiting.put(events)

    def _send_waiting(self):
        while (events := self._waiting.get()) is not None:
            for event in events:
                self._send(event)

    def _send(self, event):
        """Returns the answer of the server to an event, or an empty one if the server fails."""
        try:
            answer = self._client.post("hooks/generic", event)
        except ServerError as error:
            name = event["event"]
            logger.warning("memory-engine: %s failed, the agent continues without memory: %s", name, error)
            return {}
        if answer.get("degraded"):
            logger.warning("memory-engine: %s: %s", event["event"], answer["degraded"])
        return answer


def _prompt_event(turn):
    return {"event": "user_prompt", "session_id": turn.session, "turn_id": turn.id, "prompt": turn.prompt}


def _context(answer):
    text = answer.get("context")
    return text if isinstance(text, str) else ""


def _tool_error(message):
    return json.dumps({"error": message}, ensure_ascii=False)


def register(ctx):
    """Registers the provider."""
    ctx.register_memory_provider(MemoryEngineProvider())
