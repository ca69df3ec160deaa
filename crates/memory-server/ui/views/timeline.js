// The timeline: turns in order of time, and below each what was derived from it.

import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../lib/ui.js';
import { useTexts } from '../lib/texts.js';
import { navigate, routeTo } from '../lib/route.js';
import { ownerOf } from '../lib/owner.js';
import { formatNumber, formatTime } from '../lib/format.js';
import { Badge, Empty, Field, MemoryName, MemoryText, Notice } from '../lib/components.js';
import { ChooseUser, mustChooseUser } from '../lib/choose_user.js';
import { RecordActions, RecordBadges, isStruck } from '../lib/record.js';
import { useRowWindow } from '../lib/row_window.js';
import { roleName, sceneName } from '../lib/names.js';
import { useTimeline } from '../lib/timeline.js';

const texts = {
  en: {
    order: 'Order', newest: 'Newest first', oldest: 'Oldest first', records: 'Records', all: 'All',
    turns: 'Messages only',
    jump: 'Go to date', asOf: 'As it was at', inactive: 'Show what no longer counts', show: 'Show', reset: 'Reset',
    list: 'Timeline', loading: 'Loading …', retry: 'Try again', failed: 'The page could not be loaded.',
    end: ['The only record.', 'All {count} records are shown.'], loadNewer: 'Load newer ones',
    loadOlder: 'Load older ones', actions: 'Actions', derived: 'Derived from this',
    from: ['from {count} record', 'from {count} records'],
    scene: 'Scene: {name}',
    session: 'Session: {name}', agent: 'Agent: {name}', branch: 'Branch: {name}', user: 'User: {name}',
    edits: ['edited once', 'edited {count} times'],
    emptyTitle: 'Nothing here yet',
    empty: 'Messages appear here once an application has stored them: through the chat gateway, '
      + 'the mem0 routes, MCP or the command “memory import”.',
    noneTitle: 'No such records', none: 'No record matches. Choose another date, another session, or “All” records.',
    then: 'This is the timeline as it was at {time}: with the texts and states of that time, and without what was '
      + 'stored later. Records that were deleted since are missing.', now: 'Back to now', loaded: '{count} loaded',
  },
  zh: {
    order: '顺序', newest: '最新在前', oldest: '最早在前', records: '记录', all: '全部', turns: '仅对话',
    jump: '跳到日期', asOf: '查看当时的状态', inactive: '显示不再生效的记录', show: '显示', reset: '重置',
    list: '时间线', loading: '正在加载…', retry: '重试', failed: '无法加载此页。',
    end: '已显示全部 {count} 条记录。', loadNewer: '加载更新的记录', loadOlder: '加载更早的记录',
    actions: '操作', derived: '由此派生', from: '来自 {count} 条记录',
    scene: '场景：{name}',
    session: '会话：{name}', agent: '智能体：{name}', branch: '分支：{name}', user: '用户：{name}',
    edits: '修改过 {count} 次',
    emptyTitle: '还没有内容', empty: '应用程序存入对话后会显示在这里：通过聊天网关、mem0 接口、MCP，或 “memory import” 命令。',
    noneTitle: '没有符合条件的记录', none: '请选择其他日期、其他会话，或选择“全部”记录。',
    then: '这是 {time} 时的时间线：显示当时的文本和状态，不含之后存入的内容。此后被删除的记录不会显示。',
    now: '回到现在', loaded: '已加载 {count} 条',
  },
};

/** The roles with a colour. */
const ROLES = new Set(['user', 'assistant', 'system', 'tool']);
/** A record that was derived from more records than this is shown folded. */
const MAX_OPEN_SOURCES = 3;
/** Number of rows before the end of the list at which the next page is loaded. */
const LOAD_AHEAD_ROWS = 15;

/** The view "Timeline". */
export default function Timeline({ params, owner, users }) {
  const t = useTexts(texts);
  return html`<${Controls} params=${params} />
    ${params.as_of && html`<${Notice}>${t('then', { time: formatTime(params.as_of) })}
      ${' '}<a href=${routeTo('timeline', { ...params, as_of: '' })}>${t('now')}</a><//>`}
    ${mustChooseUser(owner, users)
      ? html`<${ChooseUser} view="timeline" users=${users} />`
      : html`<${TurnList} params=${params} owner=${owner} />`}`;
}

/** Chooses what the timeline shows. The choices are part of the address of the page. */
function Controls({ params }) {
  const t = useTexts(texts);
  const [date, setDate] = useState('');
  const [asOf, setAsOf] = useState('');
  useEffect(() => {
    setDate(params.date ?? '');
    setAsOf(params.as_of ? toLocalInput(params.as_of) : '');
  }, [params.date, params.as_of]);
  const change = (changes) => navigate('timeline', { ...params, ...changes });
  const submit = (event) => {
    event.preventDefault();
    change({ date, as_of: asOf ? new Date(asOf).toISOString() : '' });
  };
  const isChanged = ['order', 'kind', 'date', 'as_of', 'inactive'].some((name) => params[name]);
  return html`<form class="panel fields timeline-controls" onSubmit=${submit}>
    <${Field} label=${t('order')}><select value=${params.order ?? 'newest'}
      onChange=${(event) => change({ order: event.target.value === 'newest' ? '' : event.target.value })}>
      <option value="newest">${t('newest')}</option><option value="oldest">${t('oldest')}</option></select><//>
    <${Field} label=${t('records')}><select value=${params.kind ?? ''}
      onChange=${(event) => change({ kind: event.target.value })}>
      <option value="">${t('all')}</option><option value="turn">${t('turns')}</option></select><//>
    <${Field} label=${t('jump')}><input type="date" value=${date}
      onInput=${(event) => setDate(event.target.value)} /><//>
    <${Field} label=${t('asOf')}><input type="datetime-local" value=${asOf}
      onInput=${(event) => setAsOf(event.target.value)} /><//>
    <div class="actions"><button type="submit" class="primary">${t('show')}</button>
      ${isChanged && html`<a href=${routeTo('timeline', ownerOf(params))}>${t('reset')}</a>`}</div>
    <label class="check"><input type="checkbox" checked=${params.inactive !== 'false'}
      onChange=${(event) => change({ inactive: event.target.checked ? '' : 'false' })} /> ${t('inactive')}</label>
  </form>`;
}

/** The turns. Pages are loaded as one scrolls, and only the rows near the visible part are elements of the page. */
function TurnList({ params, owner }) {
  const t = useTexts(texts);
  const timeline = useTimeline(requestOf(params, owner));
  const { entries, loading, error, hasMore } = timeline;
  const ids = useMemo(() => entries.map((entry) => entry.id), [entries]);
  const rows = useRowWindow(ids);
  const [opened, setOpened] = useState(new Set());
  const keepPlace = useKeptPlace(ids, rows);
  const derived = useMemo(() => derivedOnce(entries, timeline.derived), [entries, timeline.derived]);
  useEffect(() => {
    if (hasMore && !loading && !error && rows.end >= entries.length - LOAD_AHEAD_ROWS) timeline.loadMore();
  });
  const toggle = (key) => setOpened((earlier) => toggled(earlier, key));
  const loadBefore = () => {
    keepPlace();
    timeline.loadBefore();
  };
  const isFiltered = params.date || params.kind || params.as_of || params.inactive;
  if (!loading && !error && entries.length === 0 && !timeline.hasBefore) {
    const key = isFiltered ? 'none' : 'empty';
    return html`<${Empty} title=${t(`${key}Title`)}>${t(key)}<//>`;
  }
  const shown = entries.slice(rows.start, rows.end);
  return html`
    ${timeline.hasBefore && html`<p class="timeline-edge">
      <button type="button" disabled=${loading} onClick=${loadBefore}>
        ${t(params.order === 'oldest' ? 'loadOlder' : 'loadNewer')}</button></p>`}
    <div class="timeline" role="feed" aria-label=${t('list')} aria-busy=${loading} ref=${rows.list}>
      <div class="timeline-space" aria-hidden="true" style=${{ height: `${rows.before}px` }}></div>
      ${shown.map((entry, index) => html`<${Turn} key=${entry.id} entry=${entry} rowRef=${rows.row(entry.id)}
        position=${rows.start + index + 1} size=${hasMore ? -1 : entries.length} records=${derived.get(entry.id)}
        opened=${opened} onToggle=${toggle} onChanged=${() => timeline.refresh(entry.id)}
        readOnly=${Boolean(params.as_of)} owner=${owner} />`)}
      <div class="timeline-space" aria-hidden="true" style=${{ height: `${rows.after}px` }}></div>
    </div>
    <${ListEnd} timeline=${timeline} />`;
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

/** One turn with its derived records. */
function Turn({ entry, rowRef, position, size, records, opened, onToggle, onChanged, readOnly, owner }) {
  const t = useTexts(texts);
  const name = entry.speaker ?? entry.role;
  return html`<article class="turn role-${ROLES.has(entry.role) ? entry.role : 'other'}" ref=${rowRef}
    data-row=${entry.id} aria-posinset=${position} aria-setsize=${size} tabindex="-1">
    <header>
      ${entry.speaker && html`<strong><${MemoryName} name=${entry.speaker} /></strong>`}
      ${name && !entry.speaker && html`<strong><bdi>${roleName(name)}</bdi></strong>`}
      <time datetime=${entry.occurred_at}>${formatTime(entry.occurred_at)}</time>
      <${Places} record=${entry} owner=${owner} />
      <${RecordBadges} record=${entry} usualKind="turn" />
      ${entry.edits > 0 && html`<${Badge}>${t('edits', { count: entry.edits })}<//>`}
      ${!readOnly && html`<${ActionsButton} place=${entry.id} opened=${opened} onToggle=${onToggle} />`}
    </header>
    <${MemoryText} text=${entry.text} strike=${isStruck(entry)} />
    <${Actions} record=${entry} place=${entry.id} opened=${opened} onChanged=${onChanged} />
    ${records.length > 0 && html`<ul class="derived" aria-label=${t('derived')}>${records.map((record) => html`
      <${Derived} key=${record.id} record=${record} place=${`${entry.id}/${record.id}`} opened=${opened}
        onToggle=${onToggle} onChanged=${onChanged} readOnly=${readOnly} />`)}</ul>`}
  </article>`;
}

/** The scene of a turn, and the agent, session and branch as far as they are not chosen already. */
function Places({ record, owner }) {
  const t = useTexts(texts);
  const names = [['scene', record.scene && sceneName(record.scene)], ['user', owner.user_id ? null : record.user_id],
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
      ${!isFolded && !readOnly && html`<${ActionsButton} place=${place} opened=${opened} onToggle=${onToggle} />`}
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

/** Keeps the visible rows in their place when rows are added before them. Returns a function to call before that. */
function useKeptPlace(ids, rows) {
  const firstId = useRef(null);
  useLayoutEffect(() => {
    const index = firstId.current === null ? -1 : ids.indexOf(firstId.current);
    if (index <= 0) return;
    firstId.current = null;
    scrollBy(0, ids.slice(0, index).reduce((sum, id) => sum + rows.heightOf(id), 0));
  }, [ids]);
  return () => {
    firstId.current = ids[0] ?? null;
  };
}

/** Returns the parameters of the request for the choices in the address. */
function requestOf(params, owner) {
  const { order, kind, as_of, inactive, date } = params;
  return { ...owner, order, kind, as_of, inactive, from: date ? startOf(date, order) : undefined };
}

/** Returns the time at which the list begins: the start of a day, or its end if the newest turns are first. */
function startOf(date, order) {
  const start = new Date(`${date}T00:00`);
  if (Number.isNaN(start.getTime())) return date;
  if (order !== 'oldest') start.setDate(start.getDate() + 1);
  return new Date(start.getTime() - (order === 'oldest' ? 0 : 1)).toISOString();
}

/** Returns a time as the value of a `datetime-local` input, in the time zone of the browser. */
function toLocalInput(time) {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return '';
  return new Date(date.getTime() - date.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
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
