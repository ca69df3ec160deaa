// A hit of a search: the record, its relevance, the retrievers that found it, its ranks, and the parts of its score.

import { html } from './ui.js';
import { useTexts } from './texts.js';
import { formatNumber, formatTime } from './format.js';
import { conversationOf, pageOf } from './evidence.js';
import { kindName, roleName, sceneName } from './names.js';
import { RecordActions } from './record.js';
import { Badge, MemoryName, MemoryText, Table } from './components.js';

const texts = {
  en: {
    place: 'Hit {place}', relevance: 'Relevance', relevant: 'relevant',
    notRelevant: 'below the threshold of {threshold}',
    relevanceLabel: 'Relevance {value} of 1; the threshold is {threshold}', ranks: 'Ranks', notFound: '–',
    keyword: 'keyword', vector: 'vector', graph: 'graph', neighbor: 'neighbor', fused: 'fused', ranked: 'ranked',
    reranked: 'reranked', boosted: 'boosted', selected: 'selected', parts: 'Parts of the score', feature: 'Feature',
    value: 'Value', contribution: 'Contribution', boost: 'Factor {name}', repeats: 'repeats another hit',
    reranker: 'Reranker', conversation: 'Open the conversation', page: 'Open this memory',
    up: 'up by {count}', down: 'down by {count}',
    rankOf: '{step}: rank {rank} of {of}', notAmong: 'not among the hits of this retriever', score: 'score {score}',
    session: 'session', user: 'user', actions: 'Actions', details: 'Why it has this place',
  },
  zh: {
    place: '第 {place} 条', relevance: '相关性', relevant: '相关', notRelevant: '低于阈值 {threshold}',
    relevanceLabel: '相关性 {value}（满分 1），阈值 {threshold}', ranks: '名次', notFound: '–', keyword: '关键词', vector: '向量',
    graph: '关系图', neighbor: '相邻', fused: '融合', ranked: '排序', reranked: '重排', boosted: '加权', selected: '选择',
    parts: '分数的组成', feature: '特征', value: '值', contribution: '贡献', boost: '系数 {name}', repeats: '与另一条结果重复',
    reranker: '重排器', conversation: '打开对话', page: '打开这条记忆', up: '上升 {count} 位', down: '下降 {count} 位',
    rankOf: '{step}：第 {rank} 名（共 {of}）',
    notAmong: '不在该检索器的结果中', score: '分数 {score}', session: '会话', user: '用户', actions: '操作', details: '为何排在此处',
  },
};

/** The retrievers in the order in which they are shown. */
export const RETRIEVERS = ['keyword', 'vector', 'graph', 'neighbor'];

/** A hit. `best` is the best score of each retriever among the hits, `threshold` the minimum relevance. */
export function SearchHit({ hit, best, threshold, owner, onChanged }) {
  const t = useTexts(texts);
  const { record } = hit;
  const { user, agent, session, branch } = record.scope ?? {};
  const names = { user_id: user ?? owner.user_id, agent_id: agent, session_id: session, branch };
  return html`<article class="record hit" data-id=${record.id} aria-label=${t('place', { place: hit.place })}>
    <header><span class="place">${hit.place}</span>
      <time datetime=${record.occurred_at}>${formatTime(record.occurred_at)}</time>
      ${(record.speaker || record.role) && html`<${MemoryName} name=${record.speaker ?? roleName(record.role)} />`}
      ${!owner.user_id && record.scope?.user && html`<span class="hint">${t('user')}${' '}
        <${MemoryName} name=${record.scope.user} /></span>`}
      <span class="badges"><${Badge} tone="info"><${MemoryName} name=${kindName(record.kind)} /><//>
        ${record.scene && html`<${Badge}><${MemoryName} name=${sceneName(record.scene)} /><//>`}
        <${Badge} tone=${hit.relevant ? 'good' : 'neutral'}>${hit.relevant ? t('relevant')
          : t('notRelevant', { threshold: formatNumber(threshold, 2) })}<//>
        ${hit.repeats && html`<${Badge} tone="warn">${t('repeats')}<//>`}</span></header>
    <div class="hit-columns"><div><${MemoryText} text=${record.text} />
      <div class="record-actions"><a href=${pageOf({ ...record, ...names })}>${t('page')}</a>
        ${record.scope?.session && html`<a href=${conversationOf({ ...record, ...names }, owner)}>
            ${t('conversation')}</a>
          <span class="hint">${t('session')}${' '}<${MemoryName} name=${record.scope.session} /></span>`}</div>
      <details><summary>${t('actions')}</summary><${RecordActions} record=${record} owner=${names}
        onChanged=${onChanged} /></details></div>
    <${HitScores} hit=${hit} best=${best} threshold=${threshold} /></div>
  </article>`;
}

/** Relevance, bars of the retrievers, ranks after each step, and the parts of the score. */
export function HitScores({ hit, best, threshold }) {
  const t = useTexts(texts);
  return html`<div class="scores">
    <${Relevance} relevance=${hit.relevance} threshold=${threshold} />
    <details class="hit-details"><summary>${t('details')}</summary>
    ${RETRIEVERS.filter((name) => best[name] !== undefined).map((name) => html`<${RetrieverBar} key=${name}
      retriever=${name} found=${hit.found_by.find((found) => found.retriever === name)} best=${best[name]} />`)}
    ${hit.ranks?.length > 0 && html`<${RankSteps} ranks=${hit.ranks} />`}
    <${ScoreParts} hit=${hit} /></details>
  </div>`;
}

/** The relevance as a bar, with a mark at the threshold. */
export function Relevance({ relevance, threshold }) {
  const t = useTexts(texts);
  const isEnough = relevance >= threshold;
  const label = t('relevanceLabel', { value: formatNumber(relevance, 2), threshold: formatNumber(threshold, 2) });
  return html`<div class="bar" role="img" aria-label=${label} title=${label}>
    <span class="bar-label">${t('relevance')}</span>
    <span class="bar-track marked">
      <span class="bar-fill ${isEnough ? 'good' : 'weak'}" style=${{ width: percent(relevance) }}></span>
      <span class="bar-mark" style=${{ insetInlineStart: percent(threshold) }}></span></span>
    <span class="bar-value">${formatNumber(relevance, 2)}</span></div>`;
}

function RetrieverBar({ retriever, found, best }) {
  const t = useTexts(texts);
  const value = found ? `#${found.rank} · ${formatNumber(found.score, 3)}` : t('notFound');
  return html`<div class="bar" title=${found ? '' : t('notAmong')}><span class="bar-label">${t(retriever)}</span>
    <span class="bar-track" aria-hidden="true"><span class="bar-fill retriever-${retriever}"
      style=${{ width: percent(found && best > 0 ? found.score / best : 0) }}></span></span>
    <span class="bar-value">${value}</span></div>`;
}

/** The ranks after each step, with the change from the step before. */
function RankSteps({ ranks }) {
  const t = useTexts(texts);
  const item = (rank, index) => {
    const change = index === 0 ? 0 : ranks[index - 1].rank - rank.rank;
    const label = t('rankOf', { step: t(rank.step), rank: rank.rank, of: rank.of });
    return html`<li title=${label}><span class="step">${t(rank.step)}</span> <span class="rank">${rank.rank}</span>
      ${change !== 0 && html`<${RankChange} change=${change} />`}</li>`;
  };
  return html`<div class="bar"><span class="bar-label">${t('ranks')}</span>
    <ol class="rank-steps">${ranks.map(item)}</ol></div>`;
}

function RankChange({ change }) {
  const t = useTexts(texts);
  const [name, mark] = change > 0 ? ['up', '▲'] : ['down', '▼'];
  const count = Math.abs(change);
  return html`<span class="moved-${name}"><span aria-hidden="true">${mark}${count}</span>
    <span class="visually-hidden">${t(name, { count })}</span></span>`;
}

/** The features of a hit with their contributions, its boosts, and the score of the reranker. */
function ScoreParts({ hit }) {
  const t = useTexts(texts);
  const counted = hit.features.filter((feature) => feature.contribution !== 0);
  const rows = [
    ...counted.map((one) => ({ name: one.feature, value: one.value, contribution: signed(one.contribution) })),
    ...hit.boosts.map((boost) => ({
      name: t('boost', { name: boost.of }), value: boost.factor, contribution: `× ${formatNumber(boost.factor, 3)}`,
    })),
  ];
  if (hit.reranked !== null && hit.reranked !== undefined) {
    rows.push({ name: t('reranker'), value: hit.reranked, contribution: '' });
  }
  if (rows.length === 0) return null;
  const columns = [
    { name: 'name', title: t('feature') },
    { title: t('value'), align: 'end', cell: (row) => formatNumber(row.value, 3) },
    { name: 'contribution', title: t('contribution'), align: 'end' },
  ];
  const score = t('score', { score: formatNumber(hit.score, 4) });
  return html`<details><summary>${t('parts')} <span class="hint">${score}</span></summary>
    <${Table} caption=${t('parts')} columns=${columns} rows=${rows} /></details>`;
}

function signed(value) {
  return `${value < 0 ? '−' : '+'}${formatNumber(Math.abs(value), 3)}`;
}

function percent(share) {
  return `${Math.max(0, Math.min(1, share)) * 100}%`;
}
