// The facts of a user, grouped by subject and attribute.

import { html, useEffect, useRef, useState } from '../lib/ui.js';
import { useTexts } from '../lib/texts.js';
import { useGet } from '../lib/api.js';
import { navigate, routeTo } from '../lib/route.js';
import { ownerOf } from '../lib/owner.js';
import { formatNumber } from '../lib/format.js';
import { Empty, Field, Loaded, Notice, Tabs } from '../lib/components.js';
import { ChooseUser, mustChooseUser } from '../lib/choose_user.js';
import { FactBadges, isOver } from '../lib/fact_badges.js';
import { attributeName, subjectName } from '../lib/fact_names.js';
import { pageOf } from '../lib/evidence.js';

const texts = {
  en: {
    filter: 'Filter', filterHint: 'text, person or attribute', kind: 'Kind', all: 'All', fact: 'Facts',
    preference: 'Preferences', state: 'For a limited time', contradicting: 'Only contradictions ({count})',
    states: 'State', stateCurrent: 'Current ({count})', statePending: 'Waiting for review ({count})',
    stateEnded: 'Ended ({count})', stateRetired: 'Retracted ({count})', stateAll: 'All ({count})', list: 'Facts',
    user: 'User', shown: ['1 fact', '{count} facts'], first: 'First page', next: 'Next page', pages: 'Pages',
    truncated: 'There are more than 20,000 facts. Only the newest are shown; choose a session or an agent to see '
      + 'fewer.',
    emptyTitle: 'No facts yet',
    empty: 'Facts are extracted from messages when they are stored, unless the server runs with “--digest none”. Those '
      + 'that wait for a review are under another state. “memory digest --digest rules” reads stored messages again.',
    noneTitle: 'No such facts', none: 'No fact matches. Change the filter, or choose another state.',
    reset: 'Remove the filters',
  },
  zh: {
    filter: '筛选', filterHint: '文本、人物或属性', kind: '类型', all: '全部', fact: '事实', preference: '偏好', state: '一段时间内',
    contradicting: '仅显示矛盾（{count}）', states: '状态', stateCurrent: '当前（{count}）', statePending: '待审核（{count}）',
    stateEnded: '已结束（{count}）', stateRetired: '已撤回（{count}）', stateAll: '全部（{count}）', list: '事实', user: '用户',
    shown: '{count} 条事实', first: '第一页', next: '下一页', pages: '翻页', truncated: '事实超过 20,000 条，只显示最新的。请选择会话或智能体以缩小范围。',
    emptyTitle: '还没有事实',
    empty: '除非服务器以“--digest none”运行，否则存入消息时会提取事实。待审核的事实在另一状态下。可用“memory digest --digest rules”重新读取已存入的消息。',
    noneTitle: '没有符合条件的事实', none: '请修改筛选条件，或选择其他状态。', reset: '清除筛选',
  },
};

const STATES = ['current', 'pending', 'ended', 'retired', 'all'];
const KINDS = ['fact', 'preference', 'state'];
/** Time without a key press after which the filter applies. */
const FILTER_DELAY_MS = 250;

/** The view "Facts". */
export default function Facts({ params, owner, users }) {
  if (mustChooseUser(owner, users)) return html`<${ChooseUser} view="facts" users=${users} />`;
  return html`<${FactBrowser} params=${params} owner=${owner} />`;
}

/** The list with its filters. */
function FactBrowser({ params, owner }) {
  const t = useTexts(texts);
  const request = {
    ...owner, text: params.text, kind: params.kind, state: params.state, contradicting: params.contradicting,
    cursor: params.cursor,
  };
  const read = useGet('/api/inspector/facts', request);
  const change = (changes, options) => navigate('facts', { ...params, cursor: '', ...changes }, options);
  return html`<${Controls} params=${params} counts=${read.data?.counts} change=${change} />
    <${Loaded} read=${read}>${(page) => html`
      <${FactList} page=${page} params=${params} owner=${owner} change=${change} />`}<//>`;
}

/** The filters. They are part of the address of the page. */
function Controls({ params, counts, change }) {
  const t = useTexts(texts);
  const [text, setText] = useState(params.text ?? '');
  const timer = useRef(null);
  useEffect(() => () => clearTimeout(timer.current), []);
  const apply = (value) => change({ text: value.trim() }, { replace: true });
  const type = (event) => {
    const { value } = event.target;
    setText(value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => apply(value), FILTER_DELAY_MS);
  };
  const submit = (event) => {
    event.preventDefault();
    clearTimeout(timer.current);
    apply(text);
  };
  const count = (state) => {
    if (!counts) return '…';
    const all = counts.current + counts.pending + counts.ended + counts.retired;
    return formatNumber(state === 'all' ? all : counts[state]);
  };
  const title = (state) => t(`state${state[0].toUpperCase()}${state.slice(1)}`, { count: count(state) });
  const tabs = STATES.map((state) => ({ id: state, title: title(state) }));
  return html`<form class="fields fact-controls" role="search" onSubmit=${submit}>
      <${Field} label=${t('filter')}><input type="search" value=${text} placeholder=${t('filterHint')} maxlength="200"
        onInput=${type} /><//>
      <${Field} label=${t('kind')}><select value=${params.kind ?? ''}
        onChange=${(event) => change({ kind: event.target.value })}>
        <option value="">${t('all')}</option>
        ${KINDS.map((kind) => html`<option value=${kind}>${t(kind)}</option>`)}</select><//>
      <label class="check"><input type="checkbox" checked=${params.contradicting === 'true'}
        onChange=${(event) => change({ contradicting: event.target.checked ? 'true' : '' })} />
        ${t('contradicting', { count: counts ? formatNumber(counts.contradicting) : '…' })}</label>
    </form>
    <${Tabs} tabs=${tabs} selected=${params.state || 'current'} label=${t('states')}
      onSelect=${(state) => change({ state: state === 'current' ? '' : state })} />`;
}

/** A page of facts, grouped by subject and attribute. */
function FactList({ page, params, owner, change }) {
  const t = useTexts(texts);
  if (page.facts.length === 0) return html`<${NoFacts} page=${page} params=${params} />`;
  const subjects = groups(page.facts, (fact) => fact.subject);
  return html`
    ${page.is_truncated && html`<${Notice} tone="warn">${t('truncated')}<//>`}
    <p class="hint" role="status">${t('shown', { count: page.total === 1 ? 1 : formatNumber(page.total) })}</p>
    ${subjects.map(([subject, facts]) => html`<section class="panel fact-subject" key=${subject}>
      <h2><bdi>${subjectName(subject, t('user'))}</bdi></h2>
      <dl class="fact-groups">${groups(facts, (fact) => fact.attribute).map(([attribute, values]) => html`
        <div key=${attribute}><dt><bdi>${attributeName(attribute)}</bdi></dt>
          ${values.map((fact) => html`<${FactItem} key=${fact.id} fact=${fact} owner=${owner} />`)}
        </div>`)}</dl>
    </section>`)}
    ${(page.next_cursor || params.cursor) && html`<nav class="pager" aria-label=${t('pages')}>
      ${params.cursor && html`<button type="button" onClick=${() => change({})}>${t('first')}</button>`}
      ${page.next_cursor && html`<button type="button"
        onClick=${() => change({ cursor: page.next_cursor })}>${t('next')}</button>`}</nav>`}`;
}

/** A fact of the list. It opens the page of the fact. */
function FactItem({ fact, owner }) {
  const text = fact.text.length > 200 ? `${Array.from(fact.text).slice(0, 200).join('')}…` : fact.text;
  return html`<dd><a class="fact-link ${isOver(fact) ? 'struck' : ''}" href=${pageOf(fact, owner)}>
      <bdi dir="auto">${text}</bdi></a>
    <${FactBadges} fact=${fact} owner=${owner} isShort /></dd>`;
}

/** What is shown if no fact matches. */
function NoFacts({ page, params }) {
  const t = useTexts(texts);
  const { counts } = page;
  const isEmpty = counts.current + counts.pending + counts.ended + counts.retired === 0;
  if (isEmpty) return html`<${Empty} title=${t('emptyTitle')}>${t('empty')}<//>`;
  const isFiltered = params.text || params.kind || params.contradicting;
  return html`<${Empty} title=${t('noneTitle')}>${t('none')}
    ${' '}${isFiltered && html`<a href=${routeTo('facts', { ...ownerOf(params), state: params.state })}>
      ${t('reset')}</a>`}<//>`;
}

/** Returns the rows with the same key next to each other as pairs of the key and the rows. */
function groups(rows, keyOf) {
  const found = [];
  for (const row of rows) {
    const last = found.at(-1);
    if (last && last[0] === keyOf(row)) last[1].push(row);
    else found.push([keyOf(row), [row]]);
  }
  return found;
}
