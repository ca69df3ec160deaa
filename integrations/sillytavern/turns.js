// Keeps the stored messages of a chat equal to the chat: new messages are stored, and those that were edited, swiped
// away or deleted are retracted. What is stored is in the metadata of the chat file, as the id of a record by message.

import { chatMessages } from "./messages.js";
import { request } from "./server.js";

const STATE_KEY = "memory_engine";
/** Key of the metadata of a record that names the text of its message. */
export const HASH_KEY = "sillytavern_message";
/** Marks a message whose request has not been answered: the server may have stored it. */
const UNKNOWN = null;
/** Marks a message that is not to be stored. */
const LEFT_OUT = "";
const LOOKUP_ROWS = 50;
const MINUTE_MS = 60000;

/**
 * Returns what is stored of the open chat, or null without a chat. The messages that it has when it is opened for the
 * first time stay out of the memory. A branch or a checkpoint begins with a copy of the state, whose records are those
 * of the original.
 */
export function chatState(context, owner) {
  const chat = context.getCurrentChatId();
  if (!chat) return null;
  const metadata = context.chatMetadata;
  const ownerKey = JSON.stringify(owner);
  const state = metadata[STATE_KEY];
  if (!state) {
    // Old versions of SillyTavern note the minute of a message only.
    const since = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
    const hasMessages = context.chat.some((message) => message.is_user);
    metadata[STATE_KEY] = { chat, session: chat, owner: ownerKey, since: hasMessages ? since : 0, stored: {} };
    return metadata[STATE_KEY];
  }
  const isCopy = state.chat !== chat && metadata.main_chat === state.chat;
  if (isCopy || state.owner !== ownerKey) {
    for (const key of Object.keys(state.stored)) state.stored[key] = LEFT_OUT;
    state.session = chat;
  }
  // A renamed chat keeps its session.
  return Object.assign(state, { chat, owner: ownerKey });
}

/** Returns the hashes of texts that the chat does not contain any more, and that may still be stored. */
export function staleHashes(state, messages) {
  const hashes = new Set(messages.map((message) => message.hash));
  return Object.keys(state.stored)
    .map((key) => key.split("-")[0])
    .filter((hash) => !hashes.has(hash));
}

/** Makes the next synchronisation store all messages of the chat. */
export function includeEarlier(state) {
  state.since = 0;
  for (const [key, id] of Object.entries(state.stored)) {
    if (id === LEFT_OUT) delete state.stored[key];
  }
}

/** Returns true if the message was sent since the memory has known the chat, or at an unknown time. */
function isInScope(state, { time }) {
  return !time.isValid() || time.valueOf() >= state.since;
}

/** Keeps the messages of the chat as they are now out of the memory. */
export function leaveOut(state, messages) {
  for (const message of messages) {
    if (isInScope(state, message)) state.stored[message.key] ??= LEFT_OUT;
  }
}

/** One synchronisation of the open chat. It ends early if another chat is opened. */
export class ChatSync {
  /** `mayBeStored`: true if an earlier page may have stored messages without saving their ids. */
  constructor(context, settings, owner, { isGenerating, mayBeStored, onProgress }) {
    Object.assign(this, { context, settings, owner, mayBeStored, onProgress });
    this.state = chatState(context, owner);
    this.messages = chatMessages(context, isGenerating);
  }

  isCurrent() {
    return SillyTavern.getContext().chatMetadata[STATE_KEY] === this.state;
  }

  save() {
    if (this.isCurrent()) this.context.saveMetadataDebounced();
  }

  send(method, path, body) {
    return request(this.settings, method, path, body);
  }

  async run() {
    // SillyTavern empties the list of messages while it loads a chat.
    if (!this.context.chat.length) return;
    await this.retractStale();
    const isNew = ({ key }) => (this.state.stored[key] ?? UNKNOWN) === UNKNOWN;
    const added = this.messages.filter((message) => {
      return !message.isHidden && isInScope(this.state, message) && isNew(message);
    });
    for (const [index, message] of added.entries()) {
      if (!this.isCurrent()) return;
      this.onProgress(index, added.length);
      await this.store(message);
    }
    if (added.length) this.onProgress(added.length, added.length);
  }

  async retractStale() {
    const keys = new Set(this.messages.map((message) => message.key));
    const stale = Object.keys(this.state.stored).filter((key) => !keys.has(key));
    if (!stale.length) return;
    const ids = [];
    for (const key of stale) {
      const id = this.state.stored[key];
      ids.push(id === UNKNOWN ? await this.find(key) : id);
    }
    const known = ids.filter(Boolean);
    if (known.length) {
      const body = { ...this.owner, ids: known, reason: "edited or deleted in SillyTavern" };
      await this.send("POST", "api/records/retract", body);
    }
    for (const key of stale) delete this.state.stored[key];
    this.save();
  }

  /** Returns the id of the record of a message, which an unanswered request may have stored. */
  async find(key) {
    const conditions = { ...this.owner, run_id: this.state.session, metadata: { [HASH_KEY]: key.split("-")[0] } };
    const filters = { AND: Object.entries(conditions).map(([name, value]) => ({ [name]: value })) };
    const list = await this.send("POST", "v2/memories/", { filters, include_turns: true, page_size: LOOKUP_ROWS });
    const known = new Set(Object.values(this.state.stored));
    const rows = Array.isArray(list) ? list : list.results;
    return rows.find((row) => row.role && !known.has(row.id))?.id;
  }

  async store(message) {
    const { stored } = this.state;
    if (message.role === "assistant" && !(await this.hasQuestion(message))) {
      stored[message.key] = LEFT_OUT;
      this.save();
      return;
    }
    const mayBeStored = this.mayBeStored || stored[message.key] === UNKNOWN;
    let id = mayBeStored ? await this.find(message.key) : undefined;
    if (!id) {
      stored[message.key] = UNKNOWN;
      try {
        id = (await this.send("POST", "v3/memories/add/", this.addition(message))).event_id;
      } catch (error) {
        // After a timeout, the server goes on and may have stored the message.
        if (error.kind !== "timeout") delete stored[message.key];
        throw error;
      }
    }
    stored[message.key] = id ?? LEFT_OUT;
    this.save();
  }

  /** Returns false for a reply to a message that the server did not store, such as one "off the record". */
  async hasQuestion(reply) {
    const before = this.messages.slice(0, this.messages.indexOf(reply));
    const id = this.state.stored[before.findLast((message) => message.role === "user")?.key];
    return Boolean(id) && (await this.send("GET", `v1/memories/${encodeURIComponent(id)}/`)) !== null;
  }

  addition({ role, name, text, time, hash }) {
    const { characters, characterId, groupId } = this.context;
    const avatar = groupId ? undefined : characters[characterId]?.avatar;
    const metadata = { [HASH_KEY]: hash, chatfile: this.state.chat, ...(avatar && { avatar_url: avatar }) };
    const speaker = role === "assistant" ? { name } : {};
    return {
      messages: [{ role, content: text, ...speaker }],
      ...this.owner,
      run_id: this.state.session,
      metadata,
      ...(time.isValid() && { timestamp: time.format() }),
    };
  }

  /** Deletes everything that was stored of the chat, for good. */
  async forget() {
    const query = new URLSearchParams({ ...this.owner, run_id: this.state.session });
    await this.send("DELETE", `memories?${query}`);
    this.state.stored = {};
    leaveOut(this.state, this.messages);
    this.save();
  }
}
