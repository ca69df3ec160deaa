"""The official openai client against the chat gateway: plain and streamed, and what goes wrong."""

import os
import time

import openai

BASE, KEY = os.environ["MEMORY_URL"], os.environ["MEMORY_KEY"]
OURS = {"X-User-Id": "lin", "X-Session-Id": "monday"}


def client(path="/v1", **options):
    options = {"max_retries": 0, "timeout": 60, "default_headers": OURS, **options}
    return openai.OpenAI(base_url=BASE + path, api_key=KEY, **options)


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


chat = client().chat.completions

# Plain: the answer, what the client does not know, and what was injected.
first = chat.with_raw_response.create(model="echo", messages=[user("我对海鲜过敏，住在柏林")])
check("rule", first.headers["x-memory-rule"], "nothing")
check("answer", first.parse().choices[0].message.content, "好的: 我对海鲜过敏，住在柏林")
check("unknown fields", first.parse().model_extra["x_unknown"], 1.5)

# What was said is remembered when the answer is there, in another session of the same user.
other = client("/u/lin/s/tuesday/v1", default_headers={}).chat.completions
asked = [user("你好"), {"role": "assistant", "content": "你好"}, user("上次说过：我对海鲜过敏，住在柏林")]
recalled = other.with_raw_response.create(model="echo", messages=asked)
check("recall", recalled.headers["x-memory-rule"], "recall")
assert recalled.headers["x-memory-ids"] and recalled.headers["x-memory-session"] == "tuesday"
stranger = client(default_headers={"X-User-Id": "mei"}).chat.completions
assert "x-memory-ids" not in stranger.with_raw_response.create(model="echo", messages=asked).headers

# Streams: pieces, thoughts, calls of tools, several choices, odd but proper ones.
pieces = list(chat.create(model="echo", messages=[user("hello")], stream=True, stream_options={"include_usage": True}))
check("stream", "".join(p.choices[0].delta.content or "" for p in pieces if p.choices), "好的: hello")
check("end", pieces[-1].choices[0].finish_reason, "stop")
thoughts = list(chat.create(model="thinker", messages=[user("好累")], stream=True))
check("thoughts", "".join(getattr(p.choices[0].delta, "reasoning_content", None) or "" for p in thoughts), "她累了")
tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
with client().chat.completions.stream(model="tools", messages=[user("柏林天气")], tools=[tool]) as stream:
    for _ in stream:
        pass
    call = stream.get_final_completion().choices[0].message.tool_calls[0]
check("tool", (call.function.name, call.function.arguments), ("weather", '{"city":"柏林"}'))
answered = [user("柏林天气"), {"role": "assistant", "content": None, "tool_calls": [call.model_dump(exclude={"parsed"})]}]
answered.append({"role": "tool", "tool_call_id": call.id, "content": "sunny"})
check("after the tool", chat.create(model="tools", messages=answered).choices[0].message.content, "好的: 柏林天气")
two = list(chat.create(model="echo", messages=[user("two")], n=2, stream=True))
check("choices", sorted({c.index for p in two for c in p.choices}), [0, 1])
odd = list(chat.create(model="odd", messages=[user("odd")], stream=True))
check("odd", "".join((p.choices[0].delta.content or "") if p.choices and p.choices[0].delta else "" for p in odd), "你好😀")

# What ends early is an error for the client, and not an answer.
for model in ["cut", "break", "fails"]:
    refused(openai.APIError, lambda: list(chat.create(model=model, messages=[user("x")], stream=True)))

# Refusals come as they are, and the client's own retries see them.
limited = refused(openai.RateLimitError, lambda: chat.create(model="limited", messages=[user("x")]))
check("retry-after", (limited.response.headers["retry-after"], limited.code), ("7", "rate_limit_exceeded"))
check("page", refused(openai.InternalServerError, lambda: chat.create(model="html", messages=[user("x")])).status_code, 502)
wrong = openai.OpenAI(base_url=f"{BASE}/v1", api_key="wrong", max_retries=0).chat.completions
refused(openai.AuthenticationError, lambda: wrong.create(model="echo", messages=[user("x")]))
refused(openai.NotFoundError, lambda: client().completions.create(model="echo", prompt="x"))

# The end of patience is the client's affair.
impatient = client(timeout=0.3).chat.completions
refused(openai.APITimeoutError, lambda: impatient.create(model="silent", messages=[user("x")]))

# Models and embeddings pass through; a stream that the client leaves does not stop the server.
check("models", [model.id for model in client().models.list()], ["echo", "odd"])
check("vector", client().embeddings.create(model="e", input="a", encoding_format="float").data[0].embedding, [0.25, 0.5])
left = chat.create(model="drip", messages=[user("drip")], stream=True)
next(iter(left))
left.close()
time.sleep(0.1)
check("still there", chat.create(model="echo", messages=[user("bye")]).choices[0].message.content, "好的: bye")
print("ok")
