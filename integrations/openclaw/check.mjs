// Checks the plugin with a double of OpenClaw's plugin API against a server (MEMORY_SERVER).
import assert from "node:assert/strict";
import plugin from "./index.js";

function load(pluginConfig) {
  const hooks = {};
  const warnings = [];
  const api = {
    pluginConfig,
    logger: { warn: (message) => warnings.push(message), info() {}, debug() {}, error() {} },
    on: (name, handler) => (hooks[name] = handler),
  };
  plugin.register(api);
  return { hooks, warnings };
}

const server = process.env.MEMORY_SERVER;
const { hooks, warnings } = load({ server, user: "lin" });
assert.deepEqual(Object.keys(hooks).sort(), ["after_compaction", "agent_end", "before_prompt_build", "session_end"]);

async function turn(sessionId, runId, prompt, reply, extra = {}) {
  const ctx = { sessionId, runId, trigger: "user", ...extra };
  const added = await hooks.before_prompt_build({ prompt, messages: [] }, ctx);
  const messages = [
    { role: "user", content: prompt },
    { role: "assistant", content: [{ type: "text", text: reply }] },
  ];
  await hooks.agent_end({ runId, success: true, messages }, ctx);
  return added?.prependContext ?? "";
}

assert.equal(await turn("monday", "1", "The office printer is called Marvin.", "Noted."), "");
await turn("monday", "2", "我们的测试数据库在 5544 端口。", "记住了。");
const context = await turn("friday", "1", "测试数据库的端口是多少？", "5544");
assert.match(context, /5544/);
assert.match(context, /Marvin/);
// What the session contains is not added again.
assert.equal(await turn("friday", "2", "What is the printer called?", "It has a name."), "");
// The prompt of a schedule is neither answered nor stored.
assert.equal(await turn("cron", "1", "The secret word is Zaphod.", "ok", { trigger: "cron" }), "");
assert.doesNotMatch(await turn("sunday", "1", "What is the secret word?", "?"), /Zaphod/);
assert.deepEqual(warnings, []);

// Another user sees nothing.
const mei = load({ server, user: "梅" });
const seen = await mei.hooks.before_prompt_build({ prompt: "What is the printer called?", messages: [] }, { sessionId: "m", runId: "1" });
assert.equal(seen, undefined);

// Without a server a turn takes little time, and a warning says so.
const lost = load({ server: "http://127.0.0.1:9" });
const started = Date.now();
assert.equal(await lost.hooks.before_prompt_build({ prompt: "hello", messages: [] }, { sessionId: "l", runId: "1" }), undefined);
assert.ok(Date.now() - started < 3000 && lost.warnings.some((warning) => warning.includes("continues without memory")));
assert.throws(() => load({ server: "ftp://x" }), /must begin with http/);
console.log("openclaw: ok");
