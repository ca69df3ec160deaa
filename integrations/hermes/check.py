"""Checks the provider with the real Hermes Agent against a server, and against a double that misbehaves.

Environment: MEMORY_SERVER, HERMES_HOME with the folder plugins/memory_engine.
"""

import json
import os
import sys
import time
import unittest

from agent.memory_manager import MemoryManager
from plugins.memory import discover_memory_providers, load_memory_provider

names = {name: available for name, _, available in discover_memory_providers()}
assert names.get("memory_engine") is True, names


def provider(session, **kwargs):
    loaded = load_memory_provider("memory_engine")
    manager = MemoryManager()
    manager.add_provider(loaded)
    loaded.initialize(session, hermes_home=os.environ["HERMES_HOME"], platform="cli", **kwargs)
    return loaded, manager


def turn(manager, loaded, number, prompt, reply, session):
    loaded.on_turn_start(number, prompt)
    context = manager.prefetch_all(prompt, session_id=session)
    loaded.sync_turn(prompt, reply, session_id=session)
    return context


first, manager = provider("monday")
assert turn(manager, first, 1, "The office printer is called Marvin.", "Noted.", "monday") == ""
turn(manager, first, 2, "我们的测试数据库在 5544 端口。", "记住了。", "monday")
first.shutdown()

second, manager = provider("friday")
opening = second.system_prompt_block()
assert "Marvin" in opening and "5544" in opening, opening
# What the session contains is not added again.
assert turn(manager, second, 1, "测试数据库的端口是多少？", "5544", "friday") == ""
found = json.loads(manager.handle_tool_call("memory_search", {"query": "What is the printer called?"}))
assert any("Marvin" in memory for memory in found["memories"]), found
assert "error" in json.loads(manager.handle_tool_call("memory_search", {}))
second.shutdown()

# A resumed session does not overwrite its earlier turns, although the host counts from 1 again.
resumed, manager = provider("monday")
turn(manager, resumed, 1, "The fax machine is called Trillian.", "Noted as well.", "monday")
# A new session within the same process (/new) begins with everything that was said before.
resumed.on_session_end([])
resumed.on_session_switch("tuesday", parent_session_id="monday", reset=True)
opening = resumed.system_prompt_block()
assert all(word in opening for word in ["Marvin", "5544", "Trillian"]), opening
resumed.shutdown()

# A sub-agent reads, and stores nothing.
helper, manager = provider("helper", agent_context="subagent")
assert "Marvin" in turn(manager, helper, 1, "What is the printer called?", "It is called Zaphod.", "helper")
helper.shutdown()
third, manager = provider("sunday")
assert "Marvin" in third.system_prompt_block(), third.system_prompt_block()
assert "Zaphod" not in third.system_prompt_block(), third.system_prompt_block()
third.shutdown()

# Without a server a turn takes little time and fails nothing.
os.environ["MEMORY_SERVER"] = "http://127.0.0.1:9"
started = time.monotonic()
lost, manager = provider("lost")
assert lost.system_prompt_block() == ""
assert turn(manager, lost, 1, "hello", "hi", "lost") == ""
lost.shutdown()
assert time.monotonic() - started < 5

tests = unittest.defaultTestLoader.loadTestsFromName("test_provider")
if not unittest.TextTestRunner().run(tests).wasSuccessful():
    sys.exit("hermes: the tests with a double of the server failed")
print("hermes: ok")
