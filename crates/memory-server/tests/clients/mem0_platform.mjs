// The official mem0ai client for JavaScript against mem0's routes, in the platform's dialect.

import assert from "node:assert/strict";
import { createRequire } from "node:module";

// The client lies where the one who runs this has installed it.
const { default: MemoryClient } = createRequire(`${process.env.CLIENTS_NODE}/`)("mem0ai");
const client = new MemoryClient({ apiKey: process.env.MEMORY_KEY, host: process.env.MEMORY_URL });
const said = (text) => [{ role: "user", content: text }];

const [first] = (await client.add(said("I live in Porto."), { userId: "lin", agentId: "kai" })).results;
assert.equal(first.event, "ADD");
const [moved] = (await client.add(said("I live in Lisbon now."), { userId: "lin", agentId: "kai" })).results;
assert.equal(moved.event, "UPDATE");
await client.add(said("我对海鲜过敏。"), { userId: "lin" });
// The keys of filters come as they are written, in either spelling.
for (const filters of [{ user_id: "lin" }, { userId: "lin" }]) {
  const { results } = await client.search("海鲜", { filters });
  assert.equal(results[0].memory, "用户对海鲜过敏。");
  assert.equal((await client.getAll({ filters })).results.length, 2);
}
const note = (await client.add(said("I like oolong."), { userId: "mei", infer: false })).results[0].id;
assert.equal((await client.get(note)).memory, "I like oolong.");
await client.update(note, { text: "I like puerh." });
assert.deepEqual((await client.history(note)).map((event) => event.event), ["ADD", "UPDATE"]);
await client.batchUpdate([{ memoryId: note, text: "I like white tea." }]);
assert.equal((await client.get(note)).memory, "I like white tea.");
await client.feedback({ memoryId: note, feedback: "POSITIVE" });
await client.delete(note);
await assert.rejects(client.get(note));
assert.equal((await client.users()).results.length, 2);
await client.deleteAll({ userId: "lin" });
assert.equal((await client.getAll({ filters: { user_id: "lin" } })).results.length, 0);
