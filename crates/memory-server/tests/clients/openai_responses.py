"""The official openai client's responses against the chat gateway: an upstream that speaks them, and one that does not."""

import os

import openai

BASE, KEY = os.environ["MEMORY_URL"], os.environ["MEMORY_KEY"]


def client(**headers):
    headers = {"X-User-Id": "lin", **headers}
    return openai.OpenAI(base_url=BASE + "/v1", api_key=KEY, max_retries=0, timeout=60, default_headers=headers)


def check(name, found, expected):
    assert found == expected, f"{name}: {found!r} instead of {expected!r}"


def refused(kind, ask):
    try:
        ask()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was expected")


weather = {"type": "function", "name": "weather", "strict": False, "parameters": {"type": "object", "properties": {}}}

# The same calls, passed through (native) and converted to chat completions.
for prefix in ["native-", ""]:
    responses = client(**{"X-Session-Id": f"monday-{prefix}"}).responses
    said = responses.create(model=f"{prefix}echo", input="我对海鲜过敏，住在柏林", instructions="Be brief.")
    check("answer", (said.output_text, said.status), ("好的: 我对海鲜过敏，住在柏林", "completed"))

    asked = [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "hi"},
        {"role": "user", "content": "上次说过：我对海鲜过敏吗"},
    ]
    other = client(**{"X-Session-Id": f"tuesday-{prefix}"}).responses.with_raw_response
    recalled = other.create(model=f"{prefix}echo", input=asked)
    check("recall", recalled.headers["x-memory-rule"], "recall")
    assert recalled.headers["x-memory-ids"]

    with responses.stream(model=f"{prefix}echo", input="hello") as stream:
        pieces = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        check("pieces", pieces, "好的: hello")
        check("whole", stream.get_final_response().output_text, "好的: hello")

    called = responses.create(model=f"{prefix}tools", input="柏林天气", tools=[weather]).output[0]
    check("call", (called.type, called.name), ("function_call", "weather"))
    history = [
        {"role": "user", "content": "柏林天气"},
        {"type": "function_call", "call_id": called.call_id, "name": called.name, "arguments": called.arguments},
        {"type": "function_call_output", "call_id": called.call_id, "output": "sunny"},
    ]
    answered = responses.create(model=f"{prefix}tools", input=history, tools=[weather])
    check("after the tool", answered.output_text, "好的: 柏林天气")
    refused(openai.RateLimitError, lambda: responses.create(model=f"{prefix}limited", input="x"))

# A response that continues another one is in the same session.
chained = client().responses.with_raw_response
first = chained.create(model="native-echo", input="我养猫")
second = chained.create(model="native-echo", input="它叫豆豆", previous_response_id=first.parse().id)
check("session", second.headers["x-memory-session"], first.headers["x-memory-session"])
message = refused(
    openai.BadRequestError, lambda: client().responses.create(model="echo", input="x", previous_response_id="resp_1")
)
assert "previous_response_id" in str(message), message

# Stored responses pass through.
check("stored", client().responses.retrieve("resp_0").id, "resp_0")
client().responses.delete("resp_0")
print("ok")
