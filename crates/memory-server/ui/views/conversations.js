// The conversations of a user: a list with titles, and one of them as a chat.

import { html, useEffect, useRef, useState } from '../lib/ui.js';
import { useTexts } from '../lib/texts.js';
import { onStored, useGet } from '../lib/api.js';
import { navigate, routeTo } from '../lib/route.js';
import { OWNER_NAMES, ownerOf } from '../lib/owner.js';
import { formatDate, formatNumber, formatTime } from '../lib/format.js';
import { Empty, Loaded, MemoryName, MemoryText, Notice, Panel } from '../lib/components.js';
import { ChooseUser, mustChooseUser } from '../lib/choose_user.js';
import { DeleteDialog } from '../lib/delete_dialog.js';
import { pageOf } from '../lib/evidence.js';
import { roleName } from '../lib/names.js';
import { RecordActions, RecordBadges, isStruck } from '../lib/record.js';
import { useTimeline } from '../lib/timeline.js';

const texts = {
  en: {
    count: ['1 conversation.', '{n} conversations, the latest change first.'],
    limited: 'The {shown} newest of {total} are listed. Type the '
      + 'name of another one at the top of the page.',
    emptyTitle: 'No conversations yet',
    empty: 'Conversations appear here once an application stores them under the name of a session: through the chat '
      + 'gateway, the mem0 routes, MCP or “memory import”.',
    untitled: 'Without words of the user', turns: ['1 message', '{n} messages'], agent: 'with {name}',
    branch: 'branch {name}', delete: 'Delete', newer: 'Newer', older: 'Older',
    outside: 'All messages, also those outside of conversations', back: 'All conversations',
    deleteTitle: 'Delete this conversation for good?', deleted: ['The conversation was deleted: {n} record.',
      'The conversation was deleted: {n} records.'],
    traces: 'Traces remain. Delete its records again in “Deletion”, which lists the places.',
    earlier: 'Earlier messages', later: 'Later messages', loading: 'Loading …', retry: 'Try again',
    failed: 'The messages could not be loaded.', noTurns: 'No messages in this conversation', noTurnsText: 'They were '
      + 'deleted, or the conversation has another name.',
    learned: 'Learned from this', actions: 'Actions', memories: 'As a list of memories',
    chat: 'Messages',
  },
  zh: {
    count: '{n} 个对话，最近有变化的在前。', limited: '列出 {total} 个中最新的 {shown} 个。其他对话可在页面顶部输入名称打开。', emptyTitle: '还没有对话',
    empty: '应用程序以会话名称存入内容后，对话会显示在这里：通过聊天网关、mem0 接口、MCP，或 “memory import”。', untitled: '没有用户的话',
    turns: '{n} 条消息', agent: '与 {name}', branch: '分支 {name}', delete: '删除', newer: '较新', older: '较早',
    outside: '全部消息，包括对话以外的',
    back: '全部对话', deleteTitle: '永久删除此对话？', deleted: '对话已删除：{n} 条记录。', traces: '仍有残留。请在“删除”中再次删除其记录，那里会列出位置。',
    earlier: '更早的消息', later: '更晚的消息', loading: '正在加载…', retry: '重试', failed: '无法加载消息。', noTurns: '此对话中没有消息',
    noTurnsText: '消息已被删除，或对话另有名称。', learned: '由此得知', actions: '操作', memories: '以记忆列表查看',
    chat: '消息',
  },
};

/** Conversations on a page: each needs requests of its own. */
const PAGE_CONVERSATIONS = 15;
/** Messages that are read to find the first one of the user. */
const TITLE_TURNS = 4;
const TITLE_CHARACTERS = 90;

const placeOf = ({ agent_id, session_id, branch }, owner) => ({
  user_id: owner.user_id, agent_id, session_id, branch,
});

/** The view. A session in the address opens it. */
export default function Conversations({ params, owner, users }) {
  const [deleted, setDeleted] = useState(null);
  if (mustChooseUser(owner, users)) return html`<${ChooseUser} view="conversations" users=${users} />`;
  if (owner.session_id) {
    const done = (answer) => {
      setDeleted(answer);
      navigate('conversations', { user_id: owner.user_id });
    };
    const key = JSON.stringify([owner, params.at]);
    return html`<${Chat} key=${key} params=${params} owner=${owner} onDeleted=${done} />`;
  }
  return html`${deleted && html`<${Deleted} answer=${deleted} />`}
    <${ConversationList} key=${JSON.stringify(owner)} owner=${owner} onDeleted=${setDeleted} />`;
}

function Deleted({ answer }) {
  const t = useTexts(texts);
  const count = answer.forgotten;
  return html`<${Notice} tone=${answer.clean === false ? 'warn' : 'success'}>
    ${t('deleted', { count, n: formatNumber(count) })} ${answer.clean === false && t('traces')}<//>`;
}

/** The conversations, that with the newest record first. */
function ConversationList({ owner, onDeleted }) {
  const t = useTexts(texts);
  const [page, setPage] = useState(0);
  const read = useGet('/api/inspector/addresses', owner);
  const deleted = (answer) => {
    onDeleted(answer);
    read.reload();
  };
  return html`<${Loaded} read=${read}>${({ addresses, total }) => {
    const found = addresses.filter((address) => address.session_id);
    const outside = found.length < addresses.length && html`<p>
      <a href=${routeTo('memories', { ...owner, kind: 'turn' })}>${t('outside')}</a></p>`;
    if (found.length === 0) {
      return html`<${Panel}><${Empty} title=${t('emptyTitle')}>${t('empty')}<//><//>${outside}`;
    }
    const start = page * PAGE_CONVERSATIONS;
    const shown = found.slice(start, start + PAGE_CONVERSATIONS);
    const values = { shown: formatNumber(addresses.length), total: formatNumber(total) };
    return html`<p class="hint" role="status">${t('count', { count: found.length, n: formatNumber(found.length) })}
        ${total > addresses.length && html` ${t('limited', values)}`}</p>
      <${Panel}><ul class="plain">${shown.map((address) => html`<${ConversationRow}
        key=${JSON.stringify(placeOf(address, owner))} place=${placeOf(address, owner)}
        onDeleted=${deleted} />`)}</ul><//>
      ${found.length > PAGE_CONVERSATIONS && html`<nav class="pager" aria-label=${t('older')}>
        <button type="button" disabled=${page === 0} onClick=${() => setPage(page - 1)}>${t('newer')}</button>
        <button type="button" disabled=${start + PAGE_CONVERSATIONS >= found.length}
          onClick=${() => setPage(page + 1)}>${t('older')}</button></nav>`}
      ${outside}`;
  }}<//>`;
}

/** A conversation: its title, date, number of messages, agent and name. */
function ConversationRow({ place, onDeleted }) {
  const t = useTexts(texts);
  const head = useGet('/api/inspector/timeline', { ...place, kind: 'turn', order: 'oldest', limit: TITLE_TURNS });
  const counts = useGet('/api/inspector/overview', place);
  const first = head.data?.entries[0];
  const turns = counts.data?.totals.kinds.turn ?? 0;
  return html`<li class="conversation" data-session=${place.session_id}>
    <div><a class="conversation-title" href=${routeTo('conversations', place)}>${head.data
        ? html`<bdi dir="auto">${titleOf(head.data.entries) ?? t('untitled')}</bdi>`
        : html`<span class="loading">${t(head.error ? 'failed' : 'loading')}</span>`}</a>
      <p class="hint conversation-facts">
        ${first && html`<span>${formatDate(first.occurred_at)}</span>`}
        ${counts.data && html`<span>${t('turns', { count: turns, n: formatNumber(turns) })}</span>`}
        ${place.agent_id && html`<${Named} name="agent" value=${place.agent_id} />`}
        ${place.branch && html`<${Named} name="branch" value=${place.branch} />`}
        <${MemoryName} name=${place.session_id} /></p></div>
    <${DeleteButton} place=${place} title=${head.data && titleOf(head.data.entries)} onDeleted=${onDeleted} /></li>`;
}

function Named({ name, value }) {
  const t = useTexts(texts);
  const [before, after] = t(name, { name: '\n' }).split('\n');
  return html`<span>${before}<${MemoryName} name=${value} />${after}</span>`;
}

/** Returns the first line of the first message of the user, else of the first message; undefined if there is none. */
function titleOf(entries) {
  const turn = entries.find((entry) => entry.role === 'user') ?? entries[0];
  const line = turn?.text.split('\n').map((one) => one.trim()).find(Boolean);
  const characters = Array.from(line ?? '');
  return characters.length > TITLE_CHARACTERS ? `${characters.slice(0, TITLE_CHARACTERS).join('')}…` : line;
}

function DeleteButton({ place, title, onDeleted }) {
  const t = useTexts(texts);
  const [isAsking, setAsking] = useState(false);
  const done = (answer) => {
    setAsking(false);
    onDeleted(answer);
  };
  return html`<button type="button" class="quiet" onClick=${() => setAsking(true)}>${t('delete')}</button>
    ${isAsking && html`<${DeleteDialog} title=${t('deleteTitle')} body=${{ ...place, everything: true }}
      onDeleted=${done} onClose=${() => setAsking(false)}>
      <blockquote class="quoted"><${MemoryText} text=${title ?? place.session_id} /></blockquote><//>`}`;
}

/** The messages of a conversation in reading order. The list may begin at the time of one of them. */
function Chat({ params, owner, onDeleted }) {
  const t = useTexts(texts);
  const timeline = useTimeline({ ...owner, kind: 'turn', order: 'oldest', from: params.at });
  const { entries, loading, error, hasMore, hasBefore } = timeline;
  const list = useRef(null);
  const update = useRef(null);
  update.current = timeline.update;
  useEffect(() => onStored(() => update.current()), []);
  const isLoaded = entries.length > 0;
  useEffect(() => {
    if (isLoaded) list.current?.querySelector('.chosen')?.scrollIntoView({ block: 'center' });
  }, [isLoaded]);
  const others = Object.fromEntries(OWNER_NAMES.filter((name) => owner[name]).map((name) => [name, owner[name]]));
  const button = (name, load) => html`<p class="timeline-edge"><button type="button" disabled=${loading}
    onClick=${load}>${t(name)}</button></p>`;
  return html`<div class="chat-head"><a href=${routeTo('conversations', { user_id: owner.user_id })}>← ${t('back')}</a>
      <${MemoryName} name=${owner.session_id} />
      <a href=${routeTo('memories', { ...others, order: 'oldest' })}>${t('memories')}</a>
      <${DeleteButton} place=${others} title=${titleOf(entries)} onDeleted=${onDeleted} /></div>
    ${hasBefore && button('earlier', timeline.loadBefore)}
    <div class="chat" role="feed" aria-label=${t('chat')} aria-busy=${loading} ref=${list}>
      ${entries.map((entry, index) => html`
      <${Message} key=${entry.id} entry=${entry} before=${entries[index - 1]} derived=${timeline.derived}
        isChosen=${entry.id === params.turn} position=${index + 1} size=${hasMore || hasBefore ? -1 : entries.length}
        onChanged=${() => timeline.refresh(entry.id)} />`)}</div>
    ${loading && html`<p class="loading" role="status">${t('loading')}</p>`}
    ${error && html`<${Notice} tone="error">${t('failed')} ${error.message}
      ${' '}<button type="button" class="link" onClick=${timeline.loadMore}>${t('retry')}</button><//>`}
    ${!loading && !error && !isLoaded && !hasBefore && html`<${Panel}>
      <${Empty} title=${t('noTurns')}>${t('noTurnsText')}<//><//>`}
    ${hasMore && !error && button('later', timeline.loadMore)}`;
}

/** A message, with the date before the first one of a day, and what was learned from it. */
function Message({ entry, before, derived, isChosen, position, size, onChanged }) {
  const t = useTexts(texts);
  const day = formatDate(entry.occurred_at);
  const isNewDay = !before || formatDate(before.occurred_at) !== day;
  const learned = entry.derived.map((id) => derived.get(id))
    .filter((record) => record?.kind === 'fact');
  const isUser = entry.role === 'user';
  return html`${isNewDay && html`<p class="chat-day hint">${day}</p>`}
    <article class="bubble ${isUser ? 'of-user' : ''} ${isChosen ? 'chosen' : ''}" data-id=${entry.id} tabindex="-1"
      aria-posinset=${position} aria-setsize=${size}>
      <header><strong>${entry.speaker ? html`<${MemoryName} name=${entry.speaker} />`
          : html`<bdi>${roleName(entry.role ?? '–')}</bdi>`}</strong>
        <time class="hint" datetime=${entry.occurred_at}>${formatTime(entry.occurred_at)}</time>
        <${RecordBadges} record=${entry} usualKind="turn" /></header>
      <${MemoryText} text=${entry.text} strike=${isStruck(entry)} />
      ${learned.length > 0 && html`<p class="hint learned-title">${t('learned')}</p>
        <ul class="plain learned">${learned.map((record) => html`
        <li key=${record.id}><a class="fact-link ${isStruck(record) ? 'struck' : ''}"
          href=${pageOf(record)}>
          <bdi dir="auto">${record.text}</bdi></a></li>`)}</ul>`}
      <details><summary aria-label=${t('actions')} title=${t('actions')}>⋯</summary>
        <${RecordActions} record=${entry} owner=${ownerOf(entry)} onChanged=${onChanged} /></details>
    </article>`;
}
