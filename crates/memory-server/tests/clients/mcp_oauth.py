"""The official mcp client against /mcp with OAuth: a scripted browser enters the key on the page of the server."""

import html
import os
import re
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.oauth2 import AuthorizationCodeResult
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

base, key = os.environ["MEMORY_URL"], os.environ["MEMORY_KEY"]
CALLBACK = "http://localhost:33418/callback"


class Storage:
    """Keeps tokens and registration, as the file of a client does."""

    tokens = client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class Browser:
    """Opens the page, enters a key, and follows the redirect up to the address of the client."""

    pages = 0

    async def open(self, url: str) -> None:
        self.pages += 1
        async with httpx2.AsyncClient(headers={"accept-language": "zh-CN"}) as http:
            page = await http.get(url)
            assert page.status_code == 200, page.text
            assert "Python &amp; &lt;b&gt;" in page.text and "localhost:33418" in page.text, page.text
            request = html.unescape(re.search(r'name="request" value="([^"]*)"', page.text)[1])
            action = re.search(r'<form method="post" action="([^"]*)"', page.text)[1]
            answer = await http.post(f"{base}{action}", data={"request": request, "key": key})
        assert answer.status_code == 303, answer.text
        self.location = answer.headers["location"]

    async def answer(self) -> AuthorizationCodeResult:
        assert self.location.startswith(f"{CALLBACK}?"), self.location
        query = {name: values[0] for name, values in parse_qs(urlsplit(self.location).query).items()}
        return AuthorizationCodeResult(code=query["code"], state=query["state"], iss=query["iss"])


def provider(storage: Storage, browser: Browser) -> OAuthClientProvider:
    metadata = OAuthClientMetadata(client_name="Python & <b>", redirect_uris=[CALLBACK])
    return OAuthClientProvider(f"{base}/mcp", metadata, storage, browser.open, browser.answer)


async def call(auth: OAuthClientProvider, name: str, arguments: dict) -> dict:
    async with httpx2.AsyncClient(auth=auth) as http:
        transport = streamable_http_client(f"{base}/mcp?user_id=lin", http_client=http)
        async with Client(transport) as client:
            result = await client.call_tool(name, arguments)
            assert not result.is_error, result
            return result.structured_content


async def main() -> None:
    storage, browser = Storage(), Browser()
    with anyio.fail_after(60):
        auth = provider(storage, browser)
        await call(auth, "add_memory", {"text": "用户对海鲜过敏"})
        assert browser.pages == 1 and storage.client.client_id, storage.client
        assert storage.client.token_endpoint_auth_method == "none", storage.client

        # With the stored tokens there is no page.
        listed = await call(provider(storage, browser), "list_memories", {})
        assert [one["memory"] for one in listed["results"]] == ["用户对海鲜过敏"], listed
        assert browser.pages == 1

        # The client refreshes a token that has expired by its own clock.
        first = storage.tokens
        auth.context.token_expiry_time = 1
        await call(auth, "list_memories", {})
        assert storage.tokens.access_token != first.access_token, storage.tokens
        assert storage.tokens.refresh_token != first.refresh_token, storage.tokens
        assert browser.pages == 1

        # After the revocation it asks the person again.
        async with httpx2.AsyncClient() as http:
            form = {"token": storage.tokens.refresh_token, "client_id": storage.client.client_id}
            assert (await http.post(f"{base}/oauth/revoke", data=form)).status_code == 200
        await call(provider(storage, browser), "list_memories", {})
        assert browser.pages == 2


anyio.run(main)
