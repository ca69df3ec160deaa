// Memory plugin for OpenClaw: sends prompts and replies to `POST /hooks/generic` of a memory-engine server, and adds the
// memories of the answer to the prompt. A failing server never fails a turn: its errors are logged.

const DEFAULT_SERVER = "http://127.0.0.1:8765";
const DEFAULT_USER = "default";
/** Time limit of one prompt, with all its requests, in milliseconds. */
const TIMEOUT_MS = 2000;
/** Maximum number of sessions and of turns that are kept in memory. */
const MAX_ENTRIES = 1000;

/** Removes the oldest entries of a Map or a Set above MAX_ENTRIES. */
function trim(entries) {
  while (entries.size > MAX_ENTRIES) entries.delete(entries.keys().next().value);
}

function readConfig(values = {}) {
  const server = values.server ?? DEFAULT_SERVER;
  let url;
  try {
    url = new URL("hooks/generic", server.endsWith("/") ? server : `${server}/`);
  } catch {
    throw new Error(`memory-engine: server is ${JSON.stringify(server)}; write an address such as ${DEFAULT_SERVER}`);
  }
  if (!["http:", "https:"].includes(url.protocol)) {
    throw new Error(`memory-engine: server is ${JSON.stringify(server)}; it must begin with http:// or https://`);
  }
  return {
    url,
    user: values.user ?? DEFAULT_USER,
    perSender: values.perSender ?? false,
    key: values.key ?? process.env.MEMORY_TOKEN,
  };
}

/** Returns the text of a message: a string, or the text parts of a list. */
function messageText(message) {
  if (typeof message?.content === "string") return message.content;
  if (!Array.isArray(message?.content)) return "";
  return message.content
    .filter((part) => part?.type === "text" && typeof part.text === "string")
    .map((part) => part.text)
    .join("\n");
}

/** Returns the last reply that follows the last message of the user, or "". */
function lastReply(messages) {
  for (const message of [...messages].reverse()) {
    if (message?.role === "user") return "";
    const text = message?.role === "assistant" ? messageText(message).trim() : "";
    if (text) return text;
  }
  return "";
}

/** Returns true if a person wrote the prompt, not a schedule, another session or a sub-agent. */
function isFromUser(ctx) {
  const kind = ctx.inputProvenance?.kind;
  return (kind === undefined || kind === "external_user") && (ctx.trigger === undefined || ctx.trigger === "user");
}

class Memory {
  constructor(config, logger) {
    this.config = config;
    this.logger = logger;
    /** Sessions whose context contains the opening: profile, facts and latest messages. */
    this.opened = new Set();
    /** Answer of each running turn. A prompt that is built twice gets the same memories. */
    this.turns = new Map();
    /** User of each running turn that is stored. */
    this.users = new Map();
  }

  user(ctx) {
    const { user, perSender } = this.config;
    if (!perSender || !ctx.senderId) return user;
    return `${ctx.channel ?? ctx.messageProvider ?? "channel"}:${ctx.senderId}`;
  }

  /** Sends an event. Returns the answer, or an empty one if the server fails or `signal` ends. */
  async send(user, event, signal = AbortSignal.timeout(TIMEOUT_MS)) {
    const headers = { "Content-Type": "application/json", "X-User-Id": encodeURIComponent(user) };
    if (this.config.key) headers["X-Memory-Key"] = this.config.key;
    try {
      const response = await fetch(this.config.url, { method: "POST", headers, body: JSON.stringify(event), signal });
      const text = await response.text();
      if (!response.ok) throw new Error(`status ${response.status}: ${text.slice(0, 200)}`);
      const answer = JSON.parse(text);
      if (answer.degraded?.length) this.logger.warn(`memory-engine: ${event.event}: ${answer.degraded.join(", ")}`);
      return answer;
    } catch (error) {
      const reason = error.cause?.message ?? error.message;
      this.logger.warn(`memory-engine: ${event.event} failed, the agent continues without memory: ${reason}`);
      return {};
    }
  }

  /** Returns the context for a prompt, and stores the prompt. */
  async recall(session, event, ctx) {
    const user = this.user(ctx);
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const parts = [];
    if (!this.opened.has(session)) {
      this.opened.add(session);
      trim(this.opened);
      const source = event.messages?.length ? "resume" : "user";
      const opening = { event: "session_start", session_id: session, source };
      parts.push((await this.send(user, opening, signal)).context);
    }
    const prompt = event.currentUserMessage ?? event.prompt;
    if (prompt?.trim()) {
      const request = { event: "user_prompt", session_id: session, turn_id: ctx.runId, prompt };
      parts.push((await this.send(user, request, signal)).context);
    }
    return parts.filter(Boolean).join("\n\n");
  }

  async beforePrompt(event, ctx) {
    const session = ctx.sessionId ?? ctx.sessionKey;
    if (!session || !isFromUser(ctx)) return undefined;
    const turn = ctx.runId && `${session}\n${ctx.runId}`;
    const context = this.turns.get(turn) ?? this.recall(session, event, ctx);
    if (turn) {
      this.turns.set(turn, context);
      this.users.set(turn, this.user(ctx));
      trim(this.turns);
      trim(this.users);
    }
    const text = await context;
    return text ? { prependContext: text } : undefined;
  }

  async afterTurn(event, ctx) {
    const session = ctx.sessionId ?? ctx.sessionKey;
    const runId = event.runId ?? ctx.runId;
    const turn = `${session}\n${runId}`;
    const user = this.users.get(turn);
    this.turns.delete(turn);
    this.users.delete(turn);
    const reply = event.success ? lastReply(event.messages ?? []) : "";
    // A turn without an entry had no prompt of a person: its reply is not stored either.
    if (user !== undefined && reply) {
      await this.send(user, { event: "stop", session_id: session, turn_id: runId, reply });
    }
  }

  async endSession(session) {
    if (this.opened.delete(session)) {
      await this.send(this.config.user, { event: "session_end", session_id: session });
    }
  }
}

export default {
  id: "memory-engine",
  name: "memory-engine",
  description: "Recalls what earlier conversations said, and stores prompts and replies",
  kind: "memory",
  register(api) {
    const memory = new Memory(readConfig(api.pluginConfig), api.logger);
    // The runner's limit is longer than that of the requests, so that a slow server is reported once.
    const limit = { timeoutMs: TIMEOUT_MS + 500 };
    api.on("before_prompt_build", (event, ctx) => memory.beforePrompt(event, ctx), limit);
    api.on("agent_end", (event, ctx) => memory.afterTurn(event, ctx), limit);
    // The memories that were added are part of what a compaction replaces.
    api.on("after_compaction", (_event, ctx) => memory.endSession(ctx.sessionId ?? ctx.sessionKey), limit);
    api.on("session_end", (event) => memory.endSession(event.sessionId), limit);
  },
};
