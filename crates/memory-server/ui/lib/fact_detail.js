// A fact on its own page: its state, its history, where it comes from, what contradicts it, and its actions.

import { html, useEffect, useRef } from './ui.js';
import { useTexts } from './texts.js';
import { useGet } from './api.js';
import { formatNumber, formatTime } from './format.js';
import { Badge, Loaded, MemoryName, MemoryText, Panel } from './components.js';
import { FactActions } from './fact_actions.js';
import { FactBadges, isOver } from './fact_badges.js';
import { attributeName, subjectName } from './fact_names.js';
import { conversationOf, pageOf } from './evidence.js';
import { kindName } from './names.js';

const texts = {
  en: {
    user: 'User', value: 'Value', attribute: 'Attribute', person: 'About',
    from: 'Holds from', until: 'Holds until', said: 'Said', stored: 'Stored', confidence: 'Confidence',
    rule: 'Found by', found: 'How it was found', model: 'a model', hand: 'a person or an import',
    sources: 'Where it comes from',
    noSources: 'It was written by hand, or its sources have expired.', gone: 'This record has expired.',
    page: 'Open this memory', conversation: 'Open the conversation', contradictions: 'What contradicts it',
    contradictionHint: 'These facts cannot both hold. Edit or retract the wrong one; unpin a fact that a newer one '
      + 'should replace.',
    attributeHistory: 'History of {person} · {attribute}', now: 'now', states: 'States of this fact',
    texts: 'Former texts', repeats: 'Said again', replaced: 'Replaced by', active: 'current',
    pending: 'waiting for review', superseded: 'superseded', revoked: 'retracted', deleted: 'deleted',
    since: 'since {time}', span: '{from} – {until}', validUntil: 'held until {time}',
    clipped: 'The text is longer; its own page shows all of it.', editedAt: 'until {time}',
  },
  zh: {
    user: '用户', value: '值', attribute: '属性', person: '关于', from: '生效时间', until: '失效时间', said: '说出时间',
    stored: '存入时间', confidence: '置信度', rule: '提取方式', found: '如何得到', model: '模型', hand: '人工或导入', sources: '来源',
    noSources: '该事实由人工写入，或其来源已过期。', gone: '此记录已过期。', page: '打开这条记忆', conversation: '打开对话', contradictions: '与之矛盾',
    contradictionHint: '这些事实不能同时成立。请修改或撤回错误的一条；若应由新事实取代，请取消置顶。', attributeHistory: '{person} · {attribute} 的历史',
    now: '至今', states: '此事实的状态', texts: '原来的文本', repeats: '再次提到', replaced: '被取代为', active: '当前', pending: '待审核',
    superseded: '已被取代', revoked: '已撤回', deleted: '已删除', since: '自 {time}', span: '{from} – {until}',
    validUntil: '有效至 {time}', clipped: '文本较长，可打开这条记忆查看全文。', editedAt: '至 {time}',
  },
};

/** `onChanged(id)` is called after a change, with the id of the fact that then counts; null if it was deleted. */
export function FactDetail({ id, owner, onChanged }) {
  const read = useGet(`/api/inspector/facts/${encodeURIComponent(id)}`, owner);
  const changed = (newId) => {
    if (newId === id) read.reload();
    onChanged(newId);
  };
  return html`<${Loaded} read=${read}>${(detail) => html`
      <${Summary} fact=${detail.fact} owner=${owner} onChanged=${changed} />
      <${Contradictions} detail=${detail} owner=${owner} />
      <${Sources} detail=${detail} owner=${owner} />
      <${AttributeHistory} detail=${detail} owner=${owner} />
      <${OwnHistory} detail=${detail} owner=${owner} />`}<//>`;
}

/** The sentence, its parts and the actions. It takes the focus, so that a screen reader reads the chosen fact. */
function Summary({ fact, owner, onChanged }) {
  const t = useTexts(texts);
  const heading = useRef(null);
  useEffect(() => heading.current.focus(), []);
  const rows = [
    ['person', subjectName(fact.subject, t('user'))], ['attribute', attributeName(fact.attribute)],
    ['value', fact.value.length > 300 ? `${Array.from(fact.value).slice(0, 300).join('')}…` : fact.value],
    ['from', formatTime(fact.valid_from)], ['until', fact.valid_until && formatTime(fact.valid_until)],
    ['said', formatTime(fact.occurred_at)],
  ];
  const found = [
    ['rule', fact.rule === 'model' ? t('model') : fact.rule ?? t('hand')],
    ['confidence', formatNumber(fact.confidence, 2)], ['stored', formatTime(fact.recorded_at)],
  ];
  return html`<section class="panel" aria-busy="false">
    <div class="fact-heading" tabindex="-1" ref=${heading}>
      <${MemoryText} text=${fact.text} strike=${isOver(fact)} /></div>
    <${FactBadges} fact=${fact} owner=${owner} />
    <${Pairs} rows=${rows} />
    <details class="fact-found"><summary>${t('found')}</summary><${Pairs} rows=${found} /></details>
    <${FactActions} fact=${fact} owner=${owner} onChanged=${onChanged} />
  </section>`;
}

/** Values with their names. A missing value is left out. */
function Pairs({ rows }) {
  const t = useTexts(texts);
  return html`<dl class="pairs">${rows.filter(([, value]) => value).map(([name, value]) => html`
    <div key=${name}><dt>${t(name)}</dt><dd><bdi dir="auto">${value}</bdi></dd></div>`)}</dl>`;
}

/** The facts that cannot hold together with this one. */
function Contradictions({ detail, owner }) {
  const t = useTexts(texts);
  if (detail.contradictions.length === 0) return null;
  return html`<${Panel} title=${t('contradictions')} className="contradictions">
    <p class="hint">${t('contradictionHint')}</p>
    <ul class="fact-lines">${detail.contradictions.map((fact) => html`
      <${FactLine} key=${fact.id} fact=${fact} owner=${owner} />`)}</ul><//>`;
}

/** The records that the fact was derived from, with the words that state it. */
function Sources({ detail, owner }) {
  const t = useTexts(texts);
  return html`<${Panel} title=${t('sources')}>
    ${detail.sources.length === 0 && html`<p class="hint">${t('noSources')}</p>`}
    ${detail.sources.map((source) => html`<article class="record" key=${source.id} data-id=${source.id}>
      ${source.record
        ? html`<header><time datetime=${source.record.occurred_at}>${formatTime(source.record.occurred_at)}</time>
            ${source.record.speaker && html`<${MemoryName} name=${source.record.speaker} />`}
            <${Badge} tone="info">${kindName(source.record.kind)}<//></header>
          <${Quoted} text=${source.record.text} quote=${source.quote} />
          ${source.record.is_clipped && html`<p class="hint">${t('clipped')}</p>`}
          <div class="record-actions"><a href=${pageOf(source.record, owner)}>${t('page')}</a>
            ${source.record.session_id && html`<a href=${conversationOf(source.record, owner)}>
              ${t('conversation')}</a>`}</div>`
        : html`<p class="hint">${t('gone')}</p>`}
    </article>`)}<//>`;
}

/** A text in which the quotation is marked. */
export function Quoted({ text, quote }) {
  const start = quote ? text.indexOf(quote) : -1;
  if (start < 0 || text.length > 600) return html`<${MemoryText} text=${text} />`;
  const [before, after] = [text.slice(0, start), text.slice(start + quote.length)];
  return html`<div class="memory-text" dir="auto"><bdi>${before}<mark>${quote}</mark>${after}</bdi></div>`;
}

/** All facts of the same person and attribute, with the time in which each held. */
function AttributeHistory({ detail, owner }) {
  const t = useTexts(texts);
  const { fact, attribute_facts: facts } = detail;
  if (facts.length < 2) return null;
  const person = subjectName(fact.subject, t('user'));
  const title = t('attributeHistory', { person, attribute: attributeName(fact.attribute) });
  const until = (other) => (other.valid_until ? formatTime(other.valid_until) : t('now'));
  return html`<${Panel} title=${html`<bdi>${title}</bdi>`}>
    <ol class="history">${facts.map((other) => html`<li key=${other.id} class=${other.id === fact.id ? 'chosen' : ''}>
      <span class="hint">${t('span', { from: formatTime(other.valid_from), until: until(other) })}</span>
      <${FactLine} fact=${other} owner=${owner} element="div" />
    </li>`)}</ol><//>`;
}

/** The states and texts that this fact had, and the facts that repeat or replace it. */
function OwnHistory({ detail, owner }) {
  const t = useTexts(texts);
  const newer = detail.superseded_by;
  const hasStates = detail.states.length > 1;
  if (!newer && !hasStates && detail.former_texts.length === 0 && detail.repeats.length === 0) return null;
  return html`<${Panel} title=${t('states')}>
    ${newer && html`<h3>${t('replaced')}</h3>
      <ul class="fact-lines"><${FactLine} fact=${newer} owner=${owner} /></ul>`}
    ${hasStates && html`<ol class="history">${detail.states.map((span) => html`<li key=${span.since}>
      <span class="hint">${span.until
        ? t('span', { from: formatTime(span.since), until: formatTime(span.until) })
        : t('since', { time: formatTime(span.since) })}</span>
      <div>${t(span.state)}
        ${span.valid_until && `, ${t('validUntil', { time: formatTime(span.valid_until) })}`}</div>
    </li>`)}</ol>`}
    ${detail.former_texts.length > 0 && html`<h3>${t('texts')}</h3>
      <ol class="history">${detail.former_texts.map((former) => html`<li key=${former.until}>
        <span class="hint">${t('editedAt', { time: formatTime(former.until) })}</span>
        <${MemoryText} text=${former.text} /></li>`)}</ol>`}
    ${detail.repeats.length > 0 && html`<h3>${t('repeats')}</h3>
      <ul class="fact-lines">${detail.repeats.map((fact) => html`
        <${FactLine} key=${fact.id} fact=${fact} owner=${owner} />`)}</ul>`}
  <//>`;
}

/** A fact on one line, which opens it. */
function FactLine({ fact, owner, element = 'li' }) {
  return html`<${element} class="fact-line">
    <a class="fact-link ${isOver(fact) ? 'struck' : ''}" href=${pageOf(fact, owner)}>
      <bdi dir="auto">${fact.text}</bdi></a> <${FactBadges} fact=${fact} owner=${owner} /><//>`;
}
