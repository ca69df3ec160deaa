// Checks the plugin: runs the commands of its hooks as Claude Code does, against a server (MEMORY_SERVER). `memory` must be
// on the PATH.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const json = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url)));
const { hooks } = json("hooks/hooks.json");
const plugin = json(".claude-plugin/plugin.json");
const market = json(".claude-plugin/marketplace.json");
assert.equal(market.plugins[0].name, plugin.name);
assert.equal(json(".mcp.json").mcpServers.memory.type, "http");

function run(event, input) {
  const { command } = hooks[event][0].hooks[0];
  const options = { input: JSON.stringify({ hook_event_name: event, ...input }), encoding: "utf8" };
  return JSON.parse(execFileSync("sh", ["-c", command], options));
}

const added = (answer) => answer.hookSpecificOutput?.additionalContext ?? "";
assert.equal(added(run("SessionStart", { session_id: "monday", source: "startup" })), "");
run("UserPromptSubmit", { session_id: "monday", prompt: "The office printer is called Marvin." });
run("Stop", { session_id: "monday", last_assistant_message: "Noted." });
run("SessionEnd", { session_id: "monday" });
assert.match(added(run("SessionStart", { session_id: "friday", source: "startup" })), /Marvin/);
assert.match(added(run("UserPromptSubmit", { session_id: "tuesday", prompt: "What is the printer called?" })), /Marvin/);
console.log("claude-code: ok");
