// Links from a record to its place in the timeline and in its conversation.

import { routeTo } from './route.js';

/** Returns the address of a record in the timeline: its session, from its day on. */
export function timelineOf(record, owner) {
  const { agent_id, session_id, branch } = record;
  const place = { user_id: record.user_id ?? owner.user_id, agent_id, session_id, branch };
  return routeTo('timeline', { ...place, order: 'oldest', date: localDate(record.occurred_at) });
}

/** Returns the address of a message in its conversation. One outside of conversations is in the timeline only. */
export function conversationOf(record, owner) {
  const { agent_id, session_id, branch, id } = record;
  if (!session_id) return timelineOf(record, owner);
  const place = { user_id: record.user_id ?? owner.user_id, agent_id, session_id, branch };
  return routeTo('conversations', { ...place, at: record.occurred_at, turn: id });
}

/** Returns the date of a time in the time zone of the browser, as the value of a date input. */
function localDate(time) {
  const date = new Date(time);
  const parts = [date.getFullYear(), date.getMonth() + 1, date.getDate()];
  return parts.map((part) => String(part).padStart(2, '0')).join('-');
}
