"""Tests of the provider in the real Hermes Agent's memory manager, with a double of the server.

check.py runs them. Environment: HERMES_HOME with the folder plugins/memory_engine.
"""

import json
import logging
import os
import socket
import threading
import time
import unittest

from agent.memory_manager import MemoryManager
from plugins.memory import load_memory_provider
from server_double import BAD_ANSWERS, STORED, ServerDouble, http_answer

WAIT_SECONDS = 10.0
# Above the time limit of a request, which is 2 s.
TURN_MAX_SECONDS = 3.0
# Above the number of turns that may wait, which is 1000.
MANY_TURNS = 1100


def wait_until(is_true, what):
    deadline = time.monotonic() + WAIT_SECONDS
    while not is_true():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {WAIT_SECONDS:g} s: {what}")
        time.sleep(0.01)


def living_threads(name):
    return [thread for thread in threading.enumerate() if thread.name == name]


class ProviderTest(unittest.TestCase):
    def setUp(self):
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.server = self.enterContext(ServerDouble())

    def start(self, session="monday", **kwargs):
        """Returns the provider and its manager, as the host starts them."""
        os.environ["MEMORY_SERVER"] = kwargs.pop("address", self.server.address)
        provider = load_memory_provider("memory_engine")
        manager = MemoryManager()
        manager.add_provider(provider)
        manager.initialize_all(session, platform="cli", **kwargs)
        self.addCleanup(manager.shutdown_all)
        self.addCleanup(self.server.reset)
        self.addCleanup(self.server.gate.set)
        return provider, manager

    def begin_turn(self, manager, number, prompt):
        manager.on_turn_start(number, prompt)
        return manager.prefetch_all(prompt)

    def replies(self, count):
        """Waits for the replies. Returns the prompts of each session with their replies."""
        wait_until(lambda: len(self.server.events("stop")) >= count, f"{count} replies")
        prompts = {(event["session_id"], event["turn_id"]): event for event in self.server.events("user_prompt")}
        pairs = []
        for reply in self.server.events("stop"):
            prompt = prompts.get((reply["session_id"], reply["turn_id"]))
            pairs.append((reply["session_id"], prompt and prompt["prompt"], reply["reply"]))
        return pairs

    def test_stale_prompt_of_an_interrupted_turn_gets_no_reply(self):
        _, manager = self.start()
        self.begin_turn(manager, 1, "Tell me a long story.")
        # The host does not call sync_all for an interrupted turn, and prefetch_all gets no text of an image.
        self.begin_turn(manager, 2, "")
        manager.sync_all("What is this? [1 image]", "A printer.", session_id="monday")
        self.assertEqual(self.replies(1), [("monday", "What is this? [1 image]", "A printer.")])

    def test_stale_prompt_of_a_blank_reply_gets_no_reply(self):
        _, manager = self.start()
        self.begin_turn(manager, 1, "Say nothing.")
        manager.sync_all("Say nothing.", "  \n", session_id="monday")
        self.begin_turn(manager, 2, "")
        manager.sync_all("[1 image]", "A cat.", session_id="monday")
        self.assertEqual(self.replies(1), [("monday", "[1 image]", "A cat.")])

    def test_prompt_that_is_repeated_after_an_interruption_gets_the_reply(self):
        _, manager = self.start()
        self.begin_turn(manager, 1, "Go on.")
        self.begin_turn(manager, 2, "Go on.")
        manager.sync_all("Go on.", "Done.", session_id="monday")
        self.replies(1)
        ids = [event["turn_id"] for event in self.server.events("user_prompt")]
        self.assertEqual(len(set(ids)), 2)
        self.assertEqual(self.server.events("stop")[0]["turn_id"], ids[1])

    def test_late_reply_is_paired_with_its_own_prompt(self):
        _, manager = self.start()
        self.begin_turn(manager, 1, "one")
        self.begin_turn(manager, 2, "two")
        manager.sync_all("one", "first", session_id="monday")
        manager.sync_all("two", "second", session_id="monday")
        self.assertEqual(self.replies(2), [("monday", "one", "first"), ("monday", "two", "second")])
        self.assertEqual(len(self.server.events("user_prompt")), 2)

    def test_turn_ids_are_unique_when_a_session_is_resumed(self):
        for prompt in ["one", "two"]:
            _, manager = self.start("monday")
            self.begin_turn(manager, 1, prompt)
            manager.sync_all(prompt, "ok", session_id="monday")
            manager.shutdown_all()
        self.assertEqual(self.replies(2), [("monday", "one", "ok"), ("monday", "two", "ok")])
        self.assertEqual(len({event["turn_id"] for event in self.server.events("user_prompt")}), 2)

    def test_turn_ids_are_unique_without_prefetch(self):
        _, manager = self.start()
        for image in ["cat", "dog"]:
            manager.on_turn_start(1, "")
            manager.sync_all(f"[image of a {image}]", f"A {image}.", session_id="monday")
        self.replies(2)
        self.assertEqual(len({event["turn_id"] for event in self.server.events("stop")}), 2)

    def test_prompt_whose_request_failed_is_sent_with_the_reply(self):
        failures = {
            "status 500": lambda *_: http_answer(b"", "500 Internal Error"),
            "not stored": lambda *_: {**STORED, "stored": False, "degraded": ["not ready after 1000 ms"]},
        }
        for count, (failure, answer) in enumerate(failures.items(), 1):
            with self.subTest(failure):
                _, manager = self.start(failure)
                self.server.answer = answer
                self.begin_turn(manager, 1, "Marvin prints.")
                self.server.reset()
                manager.sync_all("Marvin prints.", "Noted.", session_id=failure)
                self.replies(count)
                sent = [event for _, event in self.server.requests if event.get("session_id") == failure]
                sent = [event for event in sent if event["event"] in ("user_prompt", "stop")]
                self.assertEqual([event["event"] for event in sent], ["user_prompt", "user_prompt", "stop"])
                # The first request may have been stored all the same: the same id does not store it twice.
                self.assertEqual(len({event["turn_id"] for event in sent}), 1)

    def test_bad_answers_neither_raise_nor_end_the_worker(self):
        for number, (name, answer) in enumerate(BAD_ANSWERS.items(), 1):
            with self.subTest(name):
                session = f"session {number}"
                self.server.answer = lambda *_: answer
                provider, manager = self.start(session)
                self.assertEqual(provider.system_prompt_block(), "")
                provider.on_turn_start(1, "one")
                self.assertEqual(provider.prefetch("one"), "")
                provider.sync_turn("one", "first", session_id=session)
                wait_until(lambda: self.reply_arrived(session, "first"), "the first reply")
                self.server.reset()
                provider.sync_turn("two", "second", session_id=session)
                wait_until(lambda: self.reply_arrived(session, "second"), "the second reply")
                manager.shutdown_all()

    def reply_arrived(self, session, reply):
        return any(event["session_id"] == session and event["reply"] == reply for event in self.server.events("stop"))

    def test_bad_answers_to_a_reader_do_not_raise(self):
        provider, _ = self.start(agent_context="subagent")
        for name, answer in BAD_ANSWERS.items():
            with self.subTest(name):
                self.server.answer = lambda *_: answer
                self.assertEqual(provider.prefetch("one"), "")

    def test_bad_settings_do_not_raise(self):
        for address in ["http://[", "http://", "ftp://x", "http://localhost:port"]:
            with self.subTest(address):
                os.environ["MEMORY_SERVER"] = address
                provider = load_memory_provider("memory_engine")
                self.assertFalse(provider.is_available())
        os.environ["MEMORY_TOKEN"] = "secret\nX-Other: 1"
        self.addCleanup(os.environ.pop, "MEMORY_TOKEN")
        provider, manager = self.start()
        answer = json.loads(manager.handle_tool_call("memory_search", {"query": "printer"}))
        self.assertIn("MEMORY_TOKEN", answer["error"])
        self.assertNotIn("secret", answer["error"])

    def test_new_session_begins_with_an_opening_of_its_own(self):
        self.server.answer = lambda _, body: {**STORED, "context": f"opening of {body['session_id']}"}
        _, manager = self.start("monday")
        self.assertEqual(manager.build_system_prompt(), "opening of monday")
        # A second prompt of the same session, such as after a compression, is built without a request.
        self.assertEqual(manager.build_system_prompt(), "opening of monday")
        # /new, with and without a history.
        history = [{"role": "user", "content": "hello"}]
        manager.commit_session_boundary_async(history, new_session_id="tuesday", parent_session_id="monday")
        self.assertTrue(manager.flush_pending(WAIT_SECONDS))
        self.assertEqual(manager.build_system_prompt(), "opening of tuesday")
        manager.on_session_switch("friday", parent_session_id="tuesday", reset=True, reason="new_session")
        self.assertEqual(manager.build_system_prompt(), "opening of friday")
        # /branch
        manager.on_session_switch("branch", parent_session_id="friday", reason="branch")
        self.assertEqual(manager.build_system_prompt(), "opening of branch")
        starts = [event["session_id"] for event in self.server.events("session_start")]
        self.assertEqual(starts, ["monday", "tuesday", "friday", "branch"])

    def test_opening_is_loaded_again_if_the_server_failed(self):
        self.server.answer = lambda *_: None
        _, manager = self.start("monday")
        self.assertEqual(manager.build_system_prompt(), "")
        self.server.answer = lambda *_: {**STORED, "context": "opening"}
        self.assertEqual(manager.build_system_prompt(), "opening")

    def test_new_session_forgets_open_turns(self):
        _, manager = self.start("monday")
        self.begin_turn(manager, 1, "hello")
        manager.on_session_switch("tuesday", parent_session_id="monday", reset=True, reason="new_session")
        manager.sync_all("hello", "Hi.", session_id="tuesday")
        self.assertEqual(self.replies(1), [("tuesday", "hello", "Hi.")])

    def test_rewound_session_forgets_memories_and_turns(self):
        _, manager = self.start("monday")
        self.begin_turn(manager, 1, "hello")
        manager.on_session_switch("monday", rewound=True)
        wait_until(lambda: self.server.events("session_end"), "session_end")
        self.assertEqual([event["session_id"] for event in self.server.events("session_end")], ["monday"])
        manager.sync_all("hello", "Hi.", session_id="monday")
        self.replies(1)
        first, second = self.server.events("user_prompt")
        self.assertNotEqual(first["turn_id"], second["turn_id"])
        self.assertEqual(self.server.events("stop")[0]["turn_id"], second["turn_id"])

    def test_resumed_session_is_not_ended(self):
        _, manager = self.start("monday")
        manager.on_session_switch("friday", parent_session_id="monday", reason="resume")
        self.begin_turn(manager, 1, "hello")
        manager.sync_all("hello", "Hi.", session_id="friday")
        self.assertEqual(self.replies(1), [("friday", "hello", "Hi.")])
        # Its earlier messages contain the memories that were added to them.
        self.assertEqual(self.server.events("session_end"), [])

    def test_reply_of_a_compressed_session_is_stored_with_its_prompt(self):
        _, manager = self.start("monday")
        self.begin_turn(manager, 1, "hello")
        manager.on_session_switch("monday-2", parent_session_id="monday", reason="compression")
        manager.sync_all("hello", "Hi.", session_id="monday-2")
        self.assertEqual(self.replies(1), [("monday", "hello", "Hi.")])
        self.begin_turn(manager, 2, "again")
        self.assertEqual(self.server.events("user_prompt")[-1]["session_id"], "monday-2")

    def test_failed_search_is_an_error_for_the_model(self):
        _, manager = self.start()
        for name in ["HTTP status 500", "a closed connection", "a JSON list", "fields of other types"]:
            with self.subTest(name):
                self.server.answer = lambda *_: BAD_ANSWERS[name]
                answer = json.loads(manager.handle_tool_call("memory_search", {"query": "printer"}))
                self.assertEqual(list(answer), ["error"])
                self.assertIn("the memory server did not answer", answer["error"])
        self.server.reset()
        answer = json.loads(manager.handle_tool_call("memory_search", {"query": "printer"}))
        self.assertEqual(answer, {"memories": []})

    def test_shutdown_ends_the_worker_of_a_full_queue(self):
        wait_until(lambda: not living_threads("memory-engine"), "the workers of other tests end")
        provider, _ = self.start()
        self.server.gate.clear()
        for number in range(MANY_TURNS):
            provider.sync_turn(f"prompt {number}", "reply", session_id="monday")
        timer = threading.Timer(0.5, self.server.gate.set)
        timer.start()
        provider.shutdown()
        wait_until(lambda: not living_threads("memory-engine"), "the worker ends")

    def test_answer_that_trickles_does_not_hold_the_turn(self):
        for answer in [http_answer(json.dumps(STORED).encode()), b"HTTP/1.1 200 OK\r\nX-Header: " + b"x" * 1000]:
            with self.subTest(answer[:40]):
                provider, _ = self.start()
                before = threading.active_count()
                self.server.answer = lambda *_: answer
                self.server.trickles = True
                started = time.monotonic()
                self.assertEqual(provider.prefetch("one"), "")
                self.assertLess(time.monotonic() - started, TURN_MAX_SECONDS)
                wait_until(lambda: not living_threads("memory-engine-request"), "the request ends")
                wait_until(lambda: threading.active_count() <= before, "the server sees that the connection is closed")
                self.server.reset()

    def test_server_that_accepts_and_says_nothing_does_not_hold_the_turn(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            provider, _ = self.start(address=f"http://127.0.0.1:{listener.getsockname()[1]}")
            started = time.monotonic()
            self.assertEqual(provider.prefetch("one"), "")
            self.assertLess(time.monotonic() - started, TURN_MAX_SECONDS)


if __name__ == "__main__":
    unittest.main()
