// Searches for the memories of a reply: with the message, then with the dialogue before it, then with a question that
// the model rewrites.

import { chatMessages, messagesInPrompt } from "./messages.js";
import { request } from "./server.js";
import { HASH_KEY, chatState, staleHashes } from "./turns.js";

const HEADING = "Relevant long-term memory:";
const MAX_QUERY_CHARS = 2000;
/** Maximum number of characters of the second query: the dialogue with the message. */
const MAX_CONTEXT_CHARS = 1200;
const MAX_DIALOGUE_MESSAGES = 6;
/** Part of the prompt that the messages of the chat may have; the rest is for the character, examples and the like. */
const HISTORY_SHARE = 0.8;
/** Maximum number of values in a filter of the server. */
const MAX_FILTER_VALUES = 1000;
const REWRITE_LIMIT_MS = 2500;
const MAX_REWRITE_CHARS = 300;
/** Factor for the minimum score of the second query: no memory has the words of the dialogue and of the message. */
const CONTEXT_THRESHOLD_FACTOR = 0.5;

export const DEFAULT_REWRITE_PROMPT = [
  "You turn the last message of a chat into a search query for a memory of earlier chats.",
  "The input is JSON with user_name, char_name, user_question and recent_conversation.",
  'Replace every pronoun and every "that" by what it stands for in the conversation, and name the topic.',
  "Write the query in the language of user_question, as one line that can be understood by itself.",
  "Output this line only: no explanation, no quotation marks, no markdown.",
].join("\n");

/** Resolves to undefined if the promise fails or takes longer than `limit` milliseconds. */
function within(promise, limit) {
  const timer = new Promise((resolve) => setTimeout(resolve, limit));
  return Promise.race([promise, timer]).catch(() => undefined);
}

/** Returns the question in a form that can be searched for without the dialogue, or undefined. */
async function rewrite(context, settings, question, dialogue) {
  const input = {
    user_name: context.name1,
    char_name: context.name2,
    user_question: question,
    recent_conversation: dialogue.map(({ name, text }) => `${name}: ${text}`),
  };
  const systemPrompt = settings.rewritePrompt.trim() || DEFAULT_REWRITE_PROMPT;
  const answer = await within(context.generateRaw({ systemPrompt, prompt: JSON.stringify(input) }), REWRITE_LIMIT_MS);
  const line = String(answer ?? "")
    .trim()
    .replace(/^["'“「]+|["'”」]+$/g, "");
  return line.includes("\n") || line.length > MAX_REWRITE_CHARS ? undefined : line;
}

/** Returns the text for the prompt, empty without memories. */
function memoryBlock(rows, maxChars) {
  let block = HEADING;
  for (const { memory, outdated } of rows) {
    const note = /\p{Script=Han}/u.test(memory) ? "（已不再成立）" : " (no longer true)";
    const line = `\n- ${memory.replace(/\s+/g, " ")}${outdated ? note : ""}`;
    if (block.length + line.length <= maxChars) block += line;
  }
  return block === HEADING ? "" : block;
}

/** Returns the dialogue with the question, in the form that the server recognises; the oldest text is cut off. */
function contextQuery(dialogue, question) {
  const before = dialogue.map(({ role, text }) => `${role}: ${text.replace(/\n+/g, " ")}\n`).join("");
  const asked = `User question: ${question}`;
  return before.slice(-Math.max(1, MAX_CONTEXT_CHARS - asked.length)) + asked;
}

/** Searches the memories of an owner, without the messages with these hashes and what was derived from them. */
class Search {
  constructor(settings, owner, hiddenHashes) {
    this.settings = settings;
    this.fixed = { top_k: settings.limit, filters: { ...owner, [HASH_KEY]: { nin: hiddenHashes } } };
    this.deadline = Date.now() + settings.timeLimit;
  }

  send(query, options = {}) {
    const limit = Math.max(1, this.deadline - Date.now());
    const body = { ...this.fixed, threshold: this.settings.threshold, query, ...options };
    return request(this.settings, "POST", "search", body, limit);
  }

  /** Searches with the message. Without a topic or a result, the server searches with the dialogue, strictly. */
  withQuestion(question, dialogue) {
    return this.send(question, { messages: dialogue.map(({ role, text }) => ({ role, content: text })) });
  }

  /** Searches with the dialogue. Most of its words are of other topics: only the best of doubtful results stays. */
  async withDialogue(question, dialogue) {
    const threshold = this.settings.threshold * CONTEXT_THRESHOLD_FACTOR;
    const { results } = await this.send(contextQuery(dialogue, question), { threshold, explain: true });
    const relevant = results.filter((row) => row.score_details?.relevant);
    return relevant.length ? relevant : results.slice(0, 1);
  }
}

/**
 * Returns the memories for the reply to the latest message of the user: `block` for the prompt, and `form`, the query
 * that found them. Text that the prompt contains anyway is left out.
 */
export async function recall(context, settings, owner, maxTokens) {
  const messages = chatMessages(context, false);
  const visible = messages.filter((message) => !message.isHidden);
  const last = visible.findLastIndex((message) => message.role === "user");
  if (last < 0) return { block: "", form: "none" };
  const question = visible[last].text.slice(0, MAX_QUERY_CHARS);
  const dialogue = visible.slice(0, last).slice(-MAX_DIALOGUE_MESSAGES);
  const shown = messagesInPrompt(visible, maxTokens * HISTORY_SHARE).map((message) => message.hash);
  const stale = staleHashes(chatState(context, owner), messages);
  const hidden = [...new Set([...stale, ...shown])].slice(-MAX_FILTER_VALUES);

  const search = new Search(settings, owner, hidden);
  let { results, form } = await search.withQuestion(question, dialogue);
  if (!results.length && dialogue.length) {
    results = await search.withDialogue(question, dialogue);
    form = "context";
  }
  if (!results.length && settings.rewrite) {
    const rewritten = await rewrite(context, settings, question, dialogue);
    form = "rewritten";
    if (rewritten) ({ results } = await new Search(settings, owner, hidden).send(rewritten));
  }
  return { block: memoryBlock(results, settings.maxChars), form };
}
