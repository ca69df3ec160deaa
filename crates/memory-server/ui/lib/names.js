// The names of kinds, states and roles of records in the language of the page. Callers can add kinds: they are shown
// as they are.

import { language } from './texts.js';

const NAMES = {
  en: {
    kind: {
      turn: 'message', chunk: 'part of a message', key_moment: 'key moment', 'ledger/': 'internal: ',
    },
    state: { active: 'current', pending: 'waiting for review', superseded: 'replaced', revoked: 'retracted' },
    role: { user: 'User', assistant: 'Assistant', system: 'System', tool: 'Tool' },
  },
  zh: {
    kind: {
      turn: '消息', chunk: '消息片段', summary: '摘要', fact: '事实', profile: '画像', key_moment: '关键时刻', event: '事件',
      note: '备注', 'ledger/': '内部：',
    },
    state: { active: '当前', pending: '待审核', superseded: '已被取代', revoked: '已撤回', deleted: '已删除' },
    role: { user: '用户', assistant: '助手', system: '系统', tool: '工具' },
  },
};

const nameOf = (group, name) => {
  const names = NAMES[language()][group];
  return Object.hasOwn(names, name) ? names[name] : null;
};

/** Returns the name of a kind. The kinds of the engine's own entries have a prefix. */
export function kindName(kind) {
  const prefix = 'ledger/';
  if (kind.startsWith(prefix)) return nameOf('kind', prefix) + kind.slice(prefix.length).replaceAll('_', ' ');
  return nameOf('kind', kind) ?? kind;
}

/** Returns the name of the state of a record. */
export function stateName(state) {
  return nameOf('state', state) ?? state;
}

/** Returns the name of the role of a speaker. */
export function roleName(role) {
  return nameOf('role', role) ?? role;
}
