// A record's own page: everything that the server tells about it. Its address can be shared.

import { html, useState } from '../lib/ui.js';
import { useTexts } from '../lib/texts.js';
import { useGet } from '../lib/api.js';
import { navigate, routeTo } from '../lib/route.js';
import { ownerOf } from '../lib/owner.js';
import { formatNumber, formatTime } from '../lib/format.js';
import { Empty, Loaded, MemoryName, MemoryText, Notice, Panel } from '../lib/components.js';
import { AuditTable } from '../lib/audit_table.js';
import { conversationOf, pageOf } from '../lib/evidence.js';
import { FactDetail } from '../lib/fact_detail.js';
import { kindName, roleName, sceneName, stateName } from '../lib/names.js';
import { RecordActions, RecordBadges, isStruck } from '../lib/record.js';

const texts = {
  en: {
    back: 'All memories', gone: 'There is no such memory', goneText: 'It was deleted, or belongs to another user.',
    noId: 'The address has no id of a memory.', deleted: 'The memory was deleted for good.',
    conversation: 'Open the conversation', sources: 'Where it comes from',
    moreSources: 'It was derived from {n} records; the first ones are listed.', missing: 'A source has expired.',
    derived: 'What was derived from it', former: 'Former texts', until: 'until {time}', changes: 'Who changed it',
    changesHint: 'From the audit log. Searches and single reads are not logged.', noChanges: 'The audit log has no '
      + 'entry about it.',
    details: 'Details', id: 'Id', kind: 'Kind', state: 'State', role: 'Role', speaker: 'Speaker', scene: 'Scene',
    topic: 'Topic', tags: 'Tags', user_id: 'User', agent_id: 'Agent', session_id: 'Session', branch: 'Branch',
    importance: 'Importance', confidence: 'Confidence', occurred_at: 'Said', recorded_at: 'Stored',
    valid_from: 'Holds from', valid_until: 'Holds until', expires_at: 'Expires', sourceCount: 'Sources',
    metadata: 'Metadata', indexes: 'Indexes', indexLink: 'Search for its own words: which retrievers find it?',
  },
  zh: {
    back: '全部记忆', gone: '没有这条记忆', goneText: '它已被删除，或属于其他用户。', noId: '地址中没有记忆的 ID。', deleted: '记忆已永久删除。',
    conversation: '打开对话', sources: '来源', moreSources: '它由 {n} 条记录派生，此处列出最前面的几条。',
    missing: '有一个来源已过期。', derived: '由此派生',
    former: '原来的文本', until: '至 {time}', changes: '谁更改过它', changesHint: '来自审计日志。检索和单条读取不记录。', noChanges: '审计日志中没有相关条目。',
    details: '详细信息', id: 'ID', kind: '类型', state: '状态', role: '角色', speaker: '说话人', scene: '场景',
    topic: '话题', tags: '标签', user_id: '用户', agent_id: '智能体', session_id: '会话', branch: '分支',
    importance: '重要性', confidence: '置信度',
    occurred_at: '说出时间', recorded_at: '存入时间', valid_from: '生效时间', valid_until: '失效时间', expires_at: '到期时间',
    sourceCount: '来源数', metadata: '元数据', indexes: '索引', indexLink: '用它自己的文字检索：哪些检索器能找到它？',
  },
};

/** Records with the same time that are read to find one of them with what was derived from it. */
const MAX_SAME_TIME = 20;
const MAX_CHANGES = 20;
/** Characters of a text that are searched for. */
const QUERY_CHARACTERS = 300;
/** The records that the routes of mem0 have. */
const MEM0_KINDS = new Set(['turn', 'fact', 'note', 'key_moment', 'event', 'profile']);
const MEM0_STATES = new Set(['active', 'superseded']);
const TIMES = new Set(['occurred_at', 'recorded_at', 'valid_from', 'valid_until', 'expires_at']);

/** The view. */
export default function RecordPage({ params, owner }) {
  const t = useTexts(texts);
  const [isDeleted, setDeleted] = useState(false);
  const back = html`<p><a href=${routeTo('memories', { user_id: owner.user_id })}>← ${t('back')}</a></p>`;
  if (!params.id) return html`${back}<${Notice} tone="warn">${t('noId')}<//>`;
  if (isDeleted) return html`${back}<${Notice} tone="success">${t('deleted')}<//>`;
  return html`${back}<${RecordDetail} key=${params.id} id=${params.id} owner=${owner}
    onDeleted=${() => setDeleted(true)} />`;
}

function RecordDetail({ id, owner, onDeleted }) {
  const t = useTexts(texts);
  const read = useGet('/api/inspector/undo/records', { user_id: owner.user_id, ids: id });
  // An edited fact has a new id.
  const changed = (newId) => {
    if (newId === null) onDeleted();
    else if (newId && newId !== id) navigate('record', { user_id: owner.user_id, id: newId }, { replace: true });
    else read.reload();
  };
  return html`<${Loaded} read=${read}>${({ records: [record] }) => (record
    ? html`${record.kind === 'fact'
        ? html`<${FactDetail} id=${id} owner=${ownerOf(record)} onChanged=${changed} />`
        : html`<${Summary} record=${record} onChanged=${changed} onDeleted=${onDeleted} />
          <${Sources} record=${record} />`}
      <${Derived} record=${record} />
      <${OwnFields} key=${record.edits} record=${record} />
      <${Changes} record=${record} />`
    : html`<${Panel}><${Empty} title=${t('gone')}>${t('goneText')}<//><//>`)}<//>`;
}

/** The text of a record that is no fact, with its place and its actions. */
function Summary({ record, onChanged, onDeleted }) {
  const t = useTexts(texts);
  const speaker = record.speaker ?? (record.role && roleName(record.role));
  return html`<section class="panel record-page">
    <header><span class="record-facts">${speaker && html`<strong><${MemoryName} name=${speaker} /></strong>`}
      <time class="hint" datetime=${record.occurred_at}>${formatTime(record.occurred_at)}</time>
      <${RecordBadges} record=${record} /></span>
      ${record.session_id && record.kind === 'turn' && html`
        <a href=${conversationOf(record, record)}>${t('conversation')}</a>`}</header>
    <${MemoryText} text=${record.text} strike=${isStruck(record)} />
    <${RecordActions} record=${record} owner=${ownerOf(record)} onChanged=${onChanged} onDeleted=${onDeleted} />
  </section>`;
}

/** The records that a record was derived from. */
function Sources({ record }) {
  const t = useTexts(texts);
  const ids = record.derived_from ?? [];
  const path = ids.length > 0 ? '/api/inspector/undo/records' : null;
  const read = useGet(path, { user_id: record.user_id, ids: ids.join(',') });
  if (path === null) return null;
  return html`<${Panel} title=${t('sources')}><${Loaded} read=${read}>${({ records, missing }) => html`
    <${RecordLinks} records=${records} />
    ${missing.length > 0 && html`<p class="hint">${t('missing')}</p>`}
    ${record.sources > ids.length && html`<p class="hint">${t('moreSources', { n: formatNumber(record.sources) })}</p>`}
  `}<//><//>`;
}

/** The records that were derived from a record. The list of its kind has them at its time. */
function Derived({ record }) {
  const t = useTexts(texts);
  const place = { ...ownerOf(record), kind: record.kind, order: 'oldest', from: record.occurred_at };
  const read = useGet('/api/inspector/timeline', { ...place, limit: MAX_SAME_TIME });
  const ids = read.data?.entries.find((entry) => entry.id === record.id)?.derived ?? [];
  const records = read.data?.derived.filter((one) => ids.includes(one.id)) ?? [];
  if (records.length === 0) return null;
  return html`<${Panel} title=${t('derived')}><${RecordLinks} records=${records} /><//>`;
}

/** Records as links to their pages. */
function RecordLinks({ records }) {
  return html`<ul class="record-texts">${records.map((record) => html`<li key=${record.id}>
    <${RecordBadges} record=${record} />
    <div><a class="fact-link ${isStruck(record) ? 'struck' : ''}" href=${pageOf(record)}>
      <bdi dir="auto">${shortened(record.text)}</bdi></a>
      <span class="hint">${' '}${formatTime(record.occurred_at)}</span></div></li>`)}</ul>`;
}

/** The former texts, and all fields under "Details". The routes of mem0 have those that no other route has. */
function OwnFields({ record }) {
  const t = useTexts(texts);
  const isReadable = MEM0_KINDS.has(record.kind) && MEM0_STATES.has(record.state);
  const read = useGet(isReadable ? `/v1/memories/${encodeURIComponent(record.id)}/` : null);
  const { edits = [], ...metadata } = read.data?.metadata ?? {};
    const values = {
    id: record.id, kind: kindName(record.kind), state: stateName(record.state), role: record.role,
    speaker: record.speaker, scene: record.scene && sceneName(record.scene), topic: record.topic,
    tags: record.tags?.join(', '),
    ...ownerOf(record), importance: formatNumber(record.importance, 2), confidence: formatNumber(record.confidence, 2),
    sourceCount: formatNumber(record.sources),
    ...Object.fromEntries([...TIMES].map((name) => [name, record[name] && formatTime(record[name])])),
    metadata: Object.keys(metadata).length > 0 && JSON.stringify(metadata, null, 1),
  };
  const words = Array.from(record.text).slice(0, QUERY_CHARACTERS).join('');
  return html`${record.kind !== 'fact' && edits.length > 0 && html`<${Panel} title=${t('former')}>
      <ol class="history">${edits.map((edit) => html`<li key=${edit.until}>
        <span class="hint">${t('until', { time: formatTime(edit.until) })}</span>
        <${MemoryText} text=${edit.text ?? '–'} /></li>`)}</ol><//>`}
    <details class="panel record-details"><summary>${t('details')}</summary>
      <dl class="facts">${Object.entries(values).filter(([, value]) => value).map(([name, value]) => html`
        <dt>${t(name)}</dt><dd><bdi dir="auto">${value}</bdi></dd>`)}
        <dt>${t('indexes')}</dt><dd><a href=${routeTo('search', { user_id: record.user_id, q: words, why: record.id })}>
          ${t('indexLink')}</a></dd></dl></details>`;
}

/** The entries of the audit log that name the record. */
function Changes({ record }) {
  const t = useTexts(texts);
  const read = useGet('/api/audit', { user_id: record.user_id, record: record.id, limit: MAX_CHANGES });
  return html`<details class="panel record-changes"><summary>${t('changes')}</summary>
    <p class="hint">${t('changesHint')}</p>
    <${Loaded} read=${read}>${({ entries }) => (entries.length > 0
      ? html`<${AuditTable} entries=${entries} caption=${t('changes')} />`
      : html`<p class="hint">${t('noChanges')}</p>`)}<//></details>`;
}

function shortened(text) {
  const characters = Array.from(text);
  return characters.length > QUERY_CHARACTERS ? `${characters.slice(0, QUERY_CHARACTERS).join('')}…` : text;
}
