// The list of memories with its filters: records in order of time, and below each what was derived from it.

import { html, useEffect, useMemo, useRef, useState } from '../lib/ui.js';
import { useTexts } from '../lib/texts.js';
import { onStored } from '../lib/api.js';
import { routeTo } from '../lib/route.js';
import { ownerOf } from '../lib/owner.js';
import { formatNumber, formatTime } from '../lib/format.js';
import { Badge, Empty, MemoryName, MemoryText, Notice } from '../lib/components.js';
import { AddMemory } from '../lib/add_memory.js';
import { ChooseUser, mustChooseUser } from '../lib/choose_user.js';
import { pageOf } from '../lib/evidence.js';
import { MemoryFilters, isFiltered, requestOf } from '../lib/memory_filters.js';
import { RecordActions, RecordBadges, isStruck } from '../lib/record.js';
import { useRowWindow } from '../lib/row_window.js';
import { SelectionBar, useSelection } from '../lib/selection.js';
import { roleName, sceneName } from '../lib/names.js';
import { useTimeline } from '../lib/timeline.js';

const texts = {
  en: {
    list: 'Memories', loading: 'Loading …', retry: 'Try again', failed: 'The page could not be loaded.',
    end: ['The only record.', 'All {count} records are shown.'],
    actions: 'Actions', derived: 'Derived from this', open: 'Open', select: 'Select: {text}',
    from: ['from {count} record', 'from {count} records'],
    scene: 'Scene: {name}', tag: 'Tag: {name}',
    session: 'Session: {name}', agent: 'Agent: {name}', branch: 'Branch: {name}', user: 'User: {name}',
    edits: ['edited once', 'edited {count} times'],
    emptyTitle: 'Nothing here yet',
    empty: 'Memories appear here once an application has stored them: through the chat gateway, the mem0 routes, MCP '
      + 'or the command “memory import”.',
    noneTitle: 'No such memories', none: 'No memory matches all filters.', reset: 'Remove the filters',
    then: 'These are the memories as they were at {time}: with the texts and states of that time, and without what was '
      + 'stored later. Records that were deleted since are missing.', now: 'Back to now', loaded: '{count} loaded',
    stored: 'Something new was stored.', show: 'Show it',
  },
  zh: {
    list: '记忆', loading: '正在加载…', retry: '重试', failed: '无法加载此页。', end: '已显示全部 {count} 条记录。',
    actions: '操作', derived: '由此派生', open: '打开', select: '选择：{text}', from: '来自 {count} 条记录', scene: '场景：{name}',
    tag: '标签：{name}',
    session: '会话：{name}', agent: '智能体：{name}', branch: '分支：{name}', user: '用户：{name}', edits: '修改过 {count} 次',
    emptyTitle: '还没有内容', empty: '应用程序存入记忆后会显示在这里：通过聊天网关、mem0 接口、MCP，或 “memory import” 命令。',
    noneTitle: '没有符合条件的记忆', none: '没有记忆符合所有筛选条件。', reset: '清除筛选',
    then: '这是 {time} 时的记忆：显示当时的文本和状态，不含之后存入的内容。此后被删除的记录不会显示。',
    now: '回到现在', loaded: '已加载 {count} 条', stored: '有新内容存入。', show: '显示',
  },
};

/** The roles with a colour. */
const ROLES = new Set(['user', 'assistant', 'system', 'tool']);
/** A record that was derived from more records than this is shown folded. */
const MAX_OPEN_SOURCES = 3;
/** Number of rows before the end of the list at which the next page is loaded. */
const LOAD_AHEAD_ROWS = 15;
/** The list is read again by itself as long as it is not scrolled further than this, in pixels. */
const MAX_UPDATE_SCROLL = 300;

/** The view "Memories". */
export default function Memories({ params, owner, users }) {
  const t = useTexts(texts);
  if (mustChooseUser(owner, users)) return html`<${ChooseUser} view="memories" users=${users} />`;
  return html`<${MemoryFilters} params=${params} />
    ${params.as_of && html`<${Notice}>${t('then', { time: formatTime(params.as_of) })}
      ${' '}<a href=${routeTo('memories', { ...params, as_of: '' })}>${t('now')}</a><//>`}
    <${MemoryList} params=${params} owner=${owner} />`;
}

/** The records. Pages are loaded as one scrolls, and only the rows near the visible part are elements of the page. */
function MemoryList({ params, owner }) {
  const t = useTexts(texts);
  const timeline = useTimeline(requestOf(params, owner));
  const { entries, loading, error, hasMore } = timeline;
  const ids = useMemo(() => entries.map((entry) => entry.id), [entries]);
  const rows = useRowWindow(ids);
  const [opened, setOpened] = useState(new Set());
  const selection = useSelection(entries);
  const news = useNews(timeline);
  const derived = useMemo(() => derivedOnce(entries, timeline.derived), [entries, timeline.derived]);
  useEffect(() => {
    if (hasMore && !loading && !error && rows.end >= entries.length - LOAD_AHEAD_ROWS) timeline.loadMore();
  });
  const toggle = (key) => setOpened((earlier) => toggled(earlier, key));
  const readOnly = Boolean(params.as_of);
  const bar = html`<div class="memory-bar">
    ${!readOnly && html`<${AddMemory} owner=${owner} onAdded=${timeline.update} />`}
    ${entries.length > 0 && html`<${SelectionBar} selection=${selection} owner=${owner} readOnly=${readOnly}
      onChanged=${timeline.update} />`}</div>`;
  if (!loading && !error && entries.length === 0 && !hasMore) {
    return html`${bar}${isFiltered(params)
      ? html`<${Empty} title=${t('noneTitle')}>${t('none')}${' '}
          <a href=${routeTo('memories', ownerOf(params))}>${t('reset')}</a><//>`
      : html`<${Empty} title=${t('emptyTitle')}>${t('empty')}<//>`}`;
  }
  const shown = entries.slice(rows.start, rows.end);
  return html`${bar}
    ${news.isWaiting && html`<${Notice}>${t('stored')}${' '}
      <button type="button" class="link" onClick=${news.show}>${t('show')}</button><//>`}
    <div class="timeline" role="feed" aria-label=${t('list')} aria-busy=${loading} ref=${rows.list}>
      <div class="timeline-space" aria-hidden="true" style=${{ height: `${rows.before}px` }}></div>
      ${shown.map((entry, index) => html`<${Memory} key=${entry.id} entry=${entry} rowRef=${rows.row(entry.id)}
        position=${rows.start + index + 1} size=${hasMore ? -1 : entries.length} records=${derived.get(entry.id)}
        opened=${opened} onToggle=${toggle} onChanged=${() => timeline.refresh(entry.id)} selection=${selection}
        readOnly=${readOnly} owner=${owner} />`)}
      <div class="timeline-space" aria-hidden="true" style=${{ height: `${rows.after}px` }}></div>
    </div>
    <${ListEnd} timeline=${timeline} />`;
}

/**
 * Reads the list again when another program has stored something. If the page is scrolled, that would move what one
 * reads: it only says so then.
 */
function useNews(timeline) {
  const [isWaiting, setWaiting] = useState(false);
  const latest = useRef(null);
  latest.current = timeline.update;
  useEffect(() => onStored(() => {
    if (scrollY > MAX_UPDATE_SCROLL) setWaiting(true);
    else latest.current();
  }), []);
  const show = () => {
    setWaiting(false);
    scrollTo(0, 0);
    timeline.update();
  };
  return { isWaiting, show };
}

/** Returns the derived records of each entry. One that covers many messages is below the first of them in the list. */
function derivedOnce(entries, derived) {
  const shown = new Set();
  return new Map(entries.map((entry) => {
    const records = entry.derived.map((id) => derived.get(id))
      .filter((record) => record && (record.sources <= MAX_OPEN_SOURCES || !shown.has(record.id)));
    records.forEach((record) => shown.add(record.id));
    return [entry.id, records];
  }));
}

/** The end of the list: loading, an error, or the number of all records. */
function ListEnd({ timeline }) {
  const t = useTexts(texts);
  const { entries, loading, error, hasMore } = timeline;
  if (error) {
    return html`<${Notice} tone="error">${t('failed')} ${error.message}
      ${' '}<button type="button" class="link" onClick=${timeline.loadMore}>${t('retry')}</button><//>`;
  }
  const count = entries.length;
  const values = { count: formatNumber(count) };
  if (loading) return html`<p class="timeline-edge" role="status">${t('loading')}</p>`;
  return html`<p class="timeline-edge hint">${hasMore ? t('loaded', values) : endText(t, count, values)}</p>`;
}

function endText(t, count, values) {
  return count === 1 ? t('end', { count }) : t('end', values);
}

/** A record with those that were derived from it. */
function Memory({ entry, rowRef, position, size, records, opened, onToggle, onChanged, selection, readOnly, owner }) {
  const t = useTexts(texts);
  const name = entry.speaker ?? entry.role;
  return html`<article class="turn role-${ROLES.has(entry.role) ? entry.role : 'other'}" ref=${rowRef}
    data-row=${entry.id} aria-posinset=${position} aria-setsize=${size} tabindex="-1">
    <header>
      <input type="checkbox" checked=${selection.has(entry.id)} onChange=${() => selection.toggle(entry.id)}
        aria-label=${t('select', { text: shortened(entry.text) })} />
      ${entry.speaker && html`<strong><${MemoryName} name=${entry.speaker} /></strong>`}
      ${name && !entry.speaker && html`<strong><bdi>${roleName(name)}</bdi></strong>`}
      <time datetime=${entry.occurred_at}>${formatTime(entry.occurred_at)}</time>
      <${Places} record=${entry} owner=${owner} />
      <${RecordBadges} record=${entry} usualKind="turn" />
      ${entry.edits > 0 && html`<${Badge}>${t('edits', { count: entry.edits })}<//>`}
      <span class="row-links"><a href=${pageOf(entry, owner)}>${t('open')}</a>
        ${!readOnly && html`<${ActionsButton} place=${entry.id} opened=${opened} onToggle=${onToggle} />`}</span>
    </header>
    <${MemoryText} text=${entry.text} strike=${isStruck(entry)} />
    <${Actions} record=${entry} place=${entry.id} opened=${opened} onChanged=${onChanged} />
    ${records.length > 0 && html`<ul class="derived" aria-label=${t('derived')}>${records.map((record) => html`
      <${Derived} key=${record.id} record=${record} place=${`${entry.id}/${record.id}`} opened=${opened}
        onToggle=${onToggle} onChanged=${onChanged} readOnly=${readOnly} />`)}</ul>`}
  </article>`;
}

/** The scene and the tags of a record, and the agent, session and branch as far as they are not chosen already. */
function Places({ record, owner }) {
  const t = useTexts(texts);
  const names = [['scene', record.scene && sceneName(record.scene)],
    ...(record.tags ?? []).map((tag) => ['tag', tag]), ['user', owner.user_id ? null : record.user_id],
    ['agent', owner.agent_id ? null : record.agent_id], ['session', owner.session_id ? null : record.session_id],
    ['branch', owner.branch ? null : record.branch]];
  return names.filter(([, name]) => name).map(([key, name]) => html`<span class="hint place">
    <bdi>${t(key, { name: shortened(name) })}</bdi></span>`);
}

/** A derived record. One that covers many turns is folded. */
function Derived({ record, place, opened, onToggle, onChanged, readOnly }) {
  const t = useTexts(texts);
  const isFolded = record.sources > MAX_OPEN_SOURCES && !opened.has(`${place}/text`);
  const count = t('from', { count: record.sources });
  return html`<li class="derived-record ${isFolded ? 'folded' : ''}">
    <header><${RecordBadges} record=${record} />
      ${record.sources > MAX_OPEN_SOURCES
        ? html`<button type="button" class="link" aria-expanded=${!isFolded}
            onClick=${() => onToggle(`${place}/text`)}>${count}</button>`
        : record.sources > 1 && html`<span class="hint">${count}</span>`}
      ${!isFolded && html`<span class="row-links"><a href=${pageOf(record)}>${t('open')}</a>
        ${!readOnly && html`<${ActionsButton} place=${place} opened=${opened} onToggle=${onToggle} />`}</span>`}
    </header>
    ${!isFolded && html`<${MemoryText} text=${record.text} strike=${isStruck(record)} />
      <${Actions} record=${record} place=${place} opened=${opened} onChanged=${onChanged} />`}
  </li>`;
}

/** A button that opens and closes the actions of a record. */
function ActionsButton({ place, opened, onToggle }) {
  const t = useTexts(texts);
  const isOpen = opened.has(`${place}/actions`);
  return html`<button type="button" class="quiet actions-button" aria-expanded=${isOpen}
    onClick=${() => onToggle(`${place}/actions`)}>${t('actions')}${' '}
    <span aria-hidden="true">${isOpen ? '▴' : '▾'}</span></button>`;
}

/** The actions of a record, while they are open. */
function Actions({ record, place, opened, onChanged }) {
  if (!opened.has(`${place}/actions`)) return null;
  return html`<${RecordActions} record=${record} owner=${ownerOf(record)} onChanged=${onChanged} />`;
}

function toggled(set, key) {
  const next = new Set(set);
  if (!next.delete(key)) next.add(key);
  return next;
}

/** Shortens a name to one line. */
function shortened(name) {
  const characters = Array.from(name);
  return characters.length > 40 ? `${characters.slice(0, 40).join('')}…` : name;
}
