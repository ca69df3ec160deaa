"""The official openai client against the chat gateway."""

import os

import openai

base, key = os.environ["MEMORY_URL"], os.environ["MEMORY_KEY"]
client = openai.OpenAI(base_url=f"{base}/v1", api_key=key, max_retries=0, timeout=20)
assert client.base_url, "the client has an address"
