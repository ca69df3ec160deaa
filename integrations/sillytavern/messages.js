// The messages of a chat that belong into the memory, and the owner of their memories.

/** Shown by SillyTavern in the place of a reply that is being generated. */
const PLACEHOLDER = "...";

/** A 53-bit hash (cyrb53) in base 36. Pages without TLS have no crypto.subtle. */
function textHash(text) {
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    high = Math.imul(high ^ code, 2654435761);
    low = Math.imul(low ^ code, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  return (4294967296 * (2097151 & low) + (high >>> 0)).toString(36);
}

/** Returns user and agent of the memories. A group has memories of its own: no character reads those of others. */
export function chatOwner(context, settings, handle) {
  const group = context.groups.find((group) => group.id === context.groupId);
  const fill = (text) =>
    text
      .replaceAll("{{char}}", () => group?.name ?? context.name2)
      .replaceAll("{{user}}", () => context.name1)
      .trim();
  const agent = fill(settings.character);
  return { user_id: fill(settings.user) || handle, ...(agent && { agent_id: agent }) };
}

/**
 * Returns the messages of the chat from the first one of the user on, without notices of SillyTavern and without the
 * reply that is being generated. `hash` names the text, `key` the message: equal texts of a chat have different keys.
 */
export function chatMessages(context, isGenerating) {
  const counts = new Map();
  const messages = [];
  let hasBegun = false;
  for (const [index, message] of context.chat.entries()) {
    hasBegun ||= message.is_user;
    const text = (message.mes ?? "").trim();
    const isNotice = message.extra?.type || message.extra?.tool_invocations;
    const isPending = isGenerating && !message.is_user && index === context.chat.length - 1;
    if (!hasBegun || !text || text === PLACEHOLDER || isNotice || isPending) continue;
    const role = message.is_user ? "user" : "assistant";
    const hash = textHash(`${role}\n${text}`);
    const count = (counts.get(hash) ?? 0) + 1;
    counts.set(hash, count);
    const key = count === 1 ? hash : `${hash}-${count}`;
    const time = context.timestampToMoment(message.send_date);
    messages.push({ key, hash, role, name: message.name, text, time, isHidden: Boolean(message.is_system) });
  }
  return messages;
}

/** Estimates the number of tokens of a text: one for a character of Chinese, Japanese or Korean, or 3.5 others. */
function estimateTokens(text) {
  const wide = text.match(/[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]/g)?.length ?? 0;
  return wide + (text.length - wide) / 3.5;
}

/** Returns the latest messages that fit into a prompt of this number of tokens: the model reads them anyway. */
export function messagesInPrompt(messages, maxTokens) {
  let tokens = 0;
  const latest = [];
  for (const message of [...messages].reverse()) {
    tokens += estimateTokens(message.text);
    if (tokens > maxTokens) break;
    latest.unshift(message);
  }
  return latest;
}
