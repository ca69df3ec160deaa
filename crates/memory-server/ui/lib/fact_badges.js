// The labels of a fact.

import { html } from './ui.js';
import { useTexts } from './texts.js';
import { formatDate, formatTime } from './format.js';
import { Badge } from './components.js';

const texts = {
  en: {
    pending: 'waiting for review', ended: 'ended', retired: 'retracted', rejected: 'rejected',
    pinned: 'pinned', until: 'until {date}', expires: 'expires {time}', importance: 'importance {value}',
    repeats: ['said again', 'said {count} more times'], edits: ['edited', 'edited {count} times'],
    contradictions: ['contradicted', '{count} contradictions'], agent: 'agent {name}', branch: 'branch {name}',
    preference: 'preference', state: 'for a time',
  },
  zh: {
    pending: '待审核', ended: '已结束', retired: '已撤回', rejected: '已拒绝', pinned: '已置顶', until: '至 {date}',
    expires: '{time} 到期', importance: '重要性 {value}', repeats: '另外提到 {count} 次', edits: '修改过 {count} 次',
    contradictions: '{count} 处矛盾', agent: '智能体 {name}', branch: '分支 {name}', preference: '偏好', state: '一段时间内',
  },
};

const STATE_TONES = { pending: 'warn', ended: 'neutral', retired: 'bad' };
const DEFAULT_IMPORTANCE = 0.5;

/** Returns true if a fact no longer counts. */
export function isOver(fact) {
  return fact.state === 'ended' || fact.state === 'retired';
}

/**
 * The labels of a fact: state, contradictions, end, pin, importance, expiry, repetitions, agent and branch. With
 * `isShort`, agent and branch are shown only for a fact that another one contradicts.
 */
export function FactBadges({ fact, owner = {}, isShort = false }) {
  const t = useTexts(texts);
  const showsPlace = !isShort || fact.contradictions > 0;
  const agent = showsPlace && !owner.agent_id && fact.agent_id;
  const branch = showsPlace && !owner.branch && fact.branch;
  const state = fact.is_rejected ? 'rejected' : fact.state;
  return html`<span class="badges">
    ${fact.state !== 'current' && html`<${Badge} tone=${STATE_TONES[fact.state]}>${t(state)}<//>`}
    ${fact.contradictions > 0 && html`<${Badge} tone="bad">${t('contradictions', { count: fact.contradictions })}<//>`}
    ${fact.kind !== 'fact' && html`<${Badge} tone="info">${t(fact.kind)}<//>`}
    ${fact.is_pinned && html`<${Badge} tone="good">${t('pinned')}<//>`}
    ${fact.valid_until && html`<${Badge}>${t('until', { date: formatDate(fact.valid_until) })}<//>`}
    ${fact.importance !== DEFAULT_IMPORTANCE && html`<${Badge}>${t('importance', { value: fact.importance })}<//>`}
    ${fact.expires_at && html`<${Badge} tone="warn">${t('expires', { time: formatTime(fact.expires_at) })}<//>`}
    ${fact.repeats > 0 && html`<${Badge}>${t('repeats', { count: fact.repeats })}<//>`}
    ${fact.edits > 0 && html`<${Badge}>${t('edits', { count: fact.edits })}<//>`}
    ${agent && html`<${Badge}><bdi>${t('agent', { name: shortened(agent) })}</bdi><//>`}
    ${branch && html`<${Badge}><bdi>${t('branch', { name: shortened(branch) })}</bdi><//>`}
  </span>`;
}

function shortened(name) {
  const characters = Array.from(name);
  return characters.length > 30 ? `${characters.slice(0, 30).join('')}…` : name;
}
