// What is known of an entity or of the relations between two: names, relations, and the records that state them.

import { html, useEffect, useRef } from './ui.js';
import { useTexts } from './texts.js';
import { useGet } from './api.js';
import { routeTo } from './route.js';
import { formatDate, formatTime } from './format.js';
import { Badge, Loaded, MemoryName, MemoryText } from './components.js';
import { pageOf } from './evidence.js';
import { KindMark, RelationText, kindTexts } from './graph_kinds.js';
import { relationKey } from './graph_lists.js';
import { kindName } from './names.js';

const texts = {
  en: {
    back: 'Back to the list', aliases: 'Also called {names}', mentions: ['in 1 record', 'in {count} records'],
    relations: 'Relations', records: 'Records', latest: 'The latest {count} records', around: 'Show its surroundings',
    page: 'Open this memory', from: 'since {time}', until: 'until {time}',
    stated: ['stated once', 'stated by {count} records'], byModel: 'found by a model', byRule: 'rule {name}',
    clipped: 'The text is longer; its own page shows all of it.', noRecords: 'The records have expired.',
  },
  zh: {
    back: '返回列表', aliases: '又名 {names}', mentions: '出现在 {count} 条记录中', relations: '关系', records: '记录',
    latest: '最近 {count} 条记录', around: '显示其周边', page: '打开这条记忆', from: '自 {time}', until: '至 {time}',
    stated: '{count} 条记录提到', byModel: '由模型提取', byRule: '规则 {name}', clipped: '文本较长，可打开这条记忆查看全文。', noRecords: '记录已过期。',
  },
};

/** Number of records that are read. */
const MAX_RECORDS = 20;

/** The evidence of the chosen entity or pair of entities. It takes the focus when it opens. */
export function GraphEvidence({ chosen, params, owner, onChoose }) {
  const t = useTexts(texts);
  const read = useGet('/api/inspector/graph/evidence', { ...owner, ...chosen, limit: MAX_RECORDS });
  const back = useRef(null);
  useEffect(() => back.current.focus(), []);
  return html`<p><button type="button" class="link" ref=${back} onClick=${() => onChoose(null)}>
      ← ${t('back')}</button></p>
    <${Loaded} read=${read}>${(evidence) => html`
      ${evidence.entities.map((entity) => html`<${EntityHeading} key=${entity.id} entity=${entity} params=${params}
        isPair=${evidence.entities.length > 1} />`)}
      <${Relations} evidence=${evidence} chosen=${chosen} params=${params} />
      <${Records} evidence=${evidence} owner=${owner} />`}<//>`;
}

function EntityHeading({ entity, params, isPair }) {
  const t = useTexts(texts);
  const kind = useTexts(kindTexts);
  const around = { ...params, about: entity.name, hops: '', entity: entity.id, source: '', target: '' };
  return html`<div class="entity-heading"><h2><${KindMark} kind=${entity.kind} /> <bdi>${entity.name}</bdi></h2>
    <p class="hint">${kind(entity.kind)} · ${t('mentions', { count: entity.mentions })}</p>
    ${entity.aliases.length > 0 && html`<p class="hint">
      <bdi>${t('aliases', { names: entity.aliases.join(', ') })}</bdi></p>`}
    ${!isPair && html`<p><a href=${routeTo('graph', around)}>${t('around')}</a></p>`}</div>`;
}

function Relations({ evidence, chosen, params }) {
  const t = useTexts(texts);
  if (evidence.relations.length === 0) return null;
  const details = (relation) => [
    t('stated', { count: relation.records }),
    relation.valid_from && t('from', { time: formatDate(relation.valid_from) }),
    relation.valid_until && t('until', { time: formatDate(relation.valid_until) }),
    ...relation.rules.map((rule) => (rule === 'model' ? t('byModel') : t('byRule', { name: rule }))),
  ].filter(Boolean).join(' · ');
  const link = ({ source, target }) => routeTo('graph', { ...params, entity: '', source, target });
  const text = (relation) => html`<${RelationText} source=${relation.source_name} relation=${relation.relation}
    target=${relation.target_name} />`;
  return html`<h3>${t('relations')}</h3><ul class="graph-list">${evidence.relations.map((relation) => html`
    <li key=${relationKey(relation)}>
      ${chosen.entity ? html`<a href=${link(relation)}>${text(relation)}</a>` : html`<span>${text(relation)}</span>`}
      <span class="hint">${details(relation)}</span></li>`)}</ul>`;
}

function Records({ evidence, owner }) {
  const t = useTexts(texts);
  const { records } = evidence;
  const title = records.length === MAX_RECORDS ? t('latest', { count: MAX_RECORDS }) : t('records');
  return html`<h3>${title}</h3>
    ${records.length === 0 && html`<p class="hint">${t('noRecords')}</p>`}
    ${records.map((record) => html`<article class="record" key=${record.id} data-id=${record.id}>
      <header><time datetime=${record.occurred_at}>${formatTime(record.occurred_at)}</time>
        ${record.speaker && html`<${MemoryName} name=${record.speaker} />`}
        <${Badge} tone="info">${kindName(record.kind)}<//></header>
      <${MemoryText} text=${record.text} />
      ${record.is_clipped && html`<p class="hint">${t('clipped')}</p>`}
      <a href=${pageOf(record, owner)}>${t('page')}</a></article>`)}`;
}
