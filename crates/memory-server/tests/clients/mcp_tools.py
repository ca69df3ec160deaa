"""The official mcp client against /mcp, in every era of the protocol that it speaks."""

import os

import anyio
import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

base, key = os.environ["MEMORY_URL"], os.environ["MEMORY_KEY"]


async def speak(mode: str, user: str) -> None:
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}) as http:
        transport = streamable_http_client(f"{base}/mcp?user_id={user}", http_client=http)
        async with Client(transport, mode=mode) as client:
            # The new era has no handshake: who adopts it unasked knows the server by its answers only.
            if mode != "2026-07-28":
                assert client.server_info.name == "memory-engine", client.server_info
                assert "init_context" in client.instructions
            newest = "2025-11-25" if mode == "legacy" else "2026-07-28"
            assert client.protocol_version == newest, (mode, client.protocol_version)

            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools][:2] == ["search_memory", "init_context"]
            assert all(tool.output_schema for tool in tools)

            added = await client.call_tool("add_memory", {"text": "用户对海鲜过敏"})
            assert not added.is_error, added
            found = await client.call_tool("search_memory", {"query": "晚饭吃海鲜可以吗", "top_k": 3})
            hits = found.structured_content["results"]
            assert [hit["memory"] for hit in hits] == ["用户对海鲜过敏"], hits
            assert hits[0]["user_id"] == user
            begun = await client.call_tool("init_context", {})
            assert "海鲜" in begun.content[0].text, begun
            assert begun.structured_content["tokens"] <= 1200

            refused = await client.call_tool("search_memory", {"query": "x", "top_k": 1000})
            assert refused.is_error and "from 1 to 100" in refused.content[0].text, refused
            gone = await client.call_tool("delete_memory", {"id": hits[0]["id"]})
            assert gone.structured_content["deleted"] == 1, gone
            assert (await client.call_tool("list_memories", {})).structured_content["results"] == []


async def main() -> None:
    for mode, user in [("auto", "lin"), ("legacy", "mei"), ("2026-07-28", "王芳")]:
        with anyio.fail_after(60):
            await speak(mode, user)
        print(mode, "is fine")
    async with httpx2.AsyncClient() as http:
        answer = await http.post(f"{base}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        assert answer.status_code == 401, answer


anyio.run(main)
