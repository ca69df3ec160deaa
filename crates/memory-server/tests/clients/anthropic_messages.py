"""The official anthropic client against the chat gateway: an upstream that speaks its dialect, and one that does not."""

import os

import anthropic

BASE, KEY = os.environ["MEMORY_URL"], os.environ["MEMORY_KEY"]


def client(session, **options):
    headers = {"X-User-Id": "lin", "X-Session-Id": session}
    options = {"api_key": KEY, "max_retries": 0, "timeout": 60, "default_headers": headers, **options}
    return anthropic.Anthropic(base_url=BASE, **options)


def user(text):
    return {"role": "user", "content": text}


def check(name, found, expected):
    assert found == expected, f"{name}: {found!r} instead of {expected!r}"


def refused(kind, ask):
    try:
        ask()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was expected")


weather = {"name": "weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}

# The same calls, passed through (native) and converted to chat completions.
for prefix in ["native-", ""]:
    messages = client(f"monday-{prefix}").messages
    common = {"model": f"{prefix}echo", "max_tokens": 100}

    said = messages.create(**common, messages=[user("我对海鲜过敏，住在柏林")])
    check("answer", [block.text for block in said.content], ["好的: 我对海鲜过敏，住在柏林"])
    check("end", (said.role, said.stop_reason), ("assistant", "end_turn"))

    # What was said is remembered in another session of the same user, and not by another user.
    asked = [user("hello"), {"role": "assistant", "content": "hi"}, user("上次说过：我对海鲜过敏吗")]
    other = client(f"tuesday-{prefix}").messages.with_raw_response.create(**common, messages=asked)
    check("recall", other.headers["x-memory-rule"], "recall")
    assert other.headers["x-memory-ids"]
    stranger = client("wednesday", default_headers={"X-User-Id": "mei"}).messages.with_raw_response
    assert "x-memory-ids" not in stranger.create(**common, messages=asked).headers

    with messages.stream(**common, messages=[user("hello")]) as stream:
        check("pieces", "".join(stream.text_stream), "好的: hello")
        check("whole", stream.get_final_message().stop_reason, "end_turn")

    with messages.stream(**{**common, "model": f"{prefix}tools"}, messages=[user("柏林天气")], tools=[weather]) as stream:
        called = stream.get_final_message()
    call = called.content[0]
    check("call", (called.stop_reason, call.name, call.input), ("tool_use", "weather", {"city": "柏林"}))
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "sunny"}
    history = [user("柏林天气"), {"role": "assistant", "content": [call.model_dump()]}, user([result])]
    answered = messages.create(**{**common, "model": f"{prefix}tools"}, messages=history, tools=[weather])
    check("after the tool", answered.content[0].text, "好的: 柏林天气")

    limited = lambda: messages.create(**{**common, "model": f"{prefix}limited"}, messages=[user("x")])
    check("limit", refused(anthropic.RateLimitError, limited).response.headers["retry-after"], "7")
    broken = lambda: list(messages.create(**{**common, "model": f"{prefix}fails"}, messages=[user("x")], stream=True))
    refused(anthropic.APIError, broken)
    assert messages.count_tokens(model=common["model"], messages=[user("hello")]).input_tokens > 0

refused(anthropic.AuthenticationError, lambda: client("x", api_key="wrong").messages.create(**common, messages=[user("x")]))
image = {"type": "image", "source": {"type": "url", "url": "https://pictures.example/cat.png"}}
seen = client("pictures").messages.create(**common, messages=[user([image, {"type": "text", "text": "a cat?"}])])
# The scripted upstream repeats the parts that it got.
assert "https://pictures.example/cat.png" in seen.content[0].text and "a cat?" in seen.content[0].text, seen
thinking = {"type": "enabled", "budget_tokens": 1024}
ask = lambda: client("x").messages.create(**common, thinking=thinking, messages=[user("x")])
message = refused(anthropic.BadRequestError, ask)
assert "thinking" in str(message), message
print("ok")
