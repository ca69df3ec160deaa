"""Turns whose prompt has been sent and whose reply has not."""

from __future__ import annotations

import threading
import uuid
from dataclasses import dataclass, field


@dataclass
class Turn:
    """A prompt, and the id that it shares with its reply.

    The host's turn numbers are not ids: they start again when a session is resumed.
    """

    session: str
    prompt: str
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    # True if the server has stored the prompt.
    is_stored: bool = False


class OpenTurns:
    """The turns without a reply, oldest first. The host calls a provider from several threads."""

    def __init__(self):
        self._lock = threading.Lock()
        self._turns = []

    def open(self, session, prompt):
        """Adds a turn."""
        turn = Turn(session, prompt)
        with self._lock:
            self._turns.append(turn)
        return turn

    def close(self, session, prompt):
        """Removes and returns the latest turn with this prompt, or returns a new one if there is none.

        A turn of this session takes precedence. The session may also have changed during the turn, when the host
        compressed it; then the reply belongs to the session of the prompt.
        """
        with self._lock:
            matches = [turn for turn in self._turns if turn.prompt.strip() == prompt.strip()]
            if not matches:
                return Turn(session, prompt)
            closed = ([turn for turn in matches if turn.session == session] or matches)[-1]
            # Replies arrive in the order of their turns. Thus an older turn was interrupted, and gets none.
            position = next(index for index, turn in enumerate(self._turns) if turn is closed)
            del self._turns[: position + 1]
            return closed

    def forget_interrupted(self):
        """Removes all turns but the latest. Its reply may be on its way: the host delivers it in the background."""
        with self._lock:
            del self._turns[:-1]

    def clear(self):
        with self._lock:
            self._turns.clear()
