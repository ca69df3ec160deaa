// Links from a record to its own page and to its conversation.

import { routeTo } from './route.js';

/** Returns the address of a record's own page. */
export function pageOf(record, owner = {}) {
  return routeTo('record', { user_id: record.user_id ?? owner.user_id, id: record.id });
}

/** Returns the address of a message in its conversation. One outside of conversations has its own page only. */
export function conversationOf(record, owner) {
  const { agent_id, session_id, branch, id } = record;
  if (!session_id) return pageOf(record, owner);
  const place = { user_id: record.user_id ?? owner.user_id, agent_id, session_id, branch };
  return routeTo('conversations', { ...place, at: record.occurred_at, turn: id });
}
