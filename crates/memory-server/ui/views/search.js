// Search: the hits of a query, with everything that made their order, and why a record is a hit or not.

import { html, useState } from '../lib/ui.js';
import { useTexts } from '../lib/texts.js';
import { formatDuration, formatNumber } from '../lib/format.js';
import { useGet } from '../lib/api.js';
import { navigate, routeTo } from '../lib/route.js';
import { Bar, Empty, Loaded, Notice, Panel } from '../lib/components.js';
import { SearchForm, searchOf } from '../lib/search_form.js';
import { SearchHit } from '../lib/search_hit.js';
import { RankChart } from '../lib/rank_chart.js';
import { stageName } from '../lib/names.js';
import { Explanation, RecordChoice } from '../lib/explanation.js';

const texts = {
  en: {
    emptyTitle: 'Search these memories',
    emptyText: 'Enter a question as a person would ask it. Each hit shows which retrievers found it, how its rank '
      + 'changed from step to step, and whether it is relevant enough to be put before a model.',
    nothingTitle: 'No memory was found',
    nothingText: 'No retriever found a record for this query. Try other words, or remove a filter. To learn why a '
      + 'certain record is missing, choose it above.',
    relevant: ['1 relevant memory', '{count} relevant memories'],
    noneRelevant: 'Nothing that is stored answers this query.',
    others: ['1 other, below the threshold', '{count} others, below the threshold'],
    othersHint: 'The nearest of what is stored. Their relevance is below {threshold}, so that no model gets them for '
      + 'this '
      + 'query.',
    threshold: 'relevance threshold {value}',
    took: 'took {time}', degraded: 'Some stages failed; hits may be missing', degradedStage: '{stage}: {reason}',
    stages: 'Time per stage',
    stagesHint: '“Retrievers” is the time of all retrievers, which run in parallel. The whole time also covers '
      + 'planning and selection.',
    preview: 'Preview the context of a model', whyTitle: 'Why is a record a hit, or not?',
    whyText: 'Choose a record: the search explains its place, or its absence.',
    whyNeedsQuery: 'Enter a query above: the record is then explained for this query.', results: 'Hits',
    movement: 'Rank movement', shape: 'type of query: {shape}', question: 'question',
    dated_question: 'question with a date', long_query: 'long query', long_messages: 'question about long messages',
  },
  zh: {
    emptyTitle: '检索这些记忆', emptyText: '像平常提问一样输入问题。每条结果都会显示由哪些检索器找到、各步骤中的名次变化，以及其相关性是否足以提供给模型。', nothingTitle: '没有找到记忆',
    nothingText: '没有检索器为此查询找到记录。请换一种说法，或去掉筛选条件。若想知道某条记录为何缺席，请在上方选择它。', relevant: '{count} 条相关记忆',
    noneRelevant: '已存储的内容中没有能回答此查询的。', others: '另有 {count} 条低于阈值',
    othersHint: '已存储内容中最接近的几条。相关性低于 {threshold}，因此不会为此查询提供给模型。',
    threshold: '相关性阈值 {value}', took: '耗时 {time}', degraded: '部分阶段失败，结果可能不完整', degradedStage: '{stage}：{reason}',
    stages: '各阶段耗时', stagesHint: '“检索器”是所有检索器的耗时，它们并行运行。总耗时还包括规划与选择。', preview: '预览模型的上下文', whyTitle: '某条记录为何是或不是结果？',
    whyText: '选择一条记录：检索会说明它的名次，或它缺席的原因。', whyNeedsQuery: '请先在上方输入查询：随后会针对该查询解释这条记录。', results: '结果', movement: '名次变化',
    shape: '查询类型：{shape}', question: '问题', dated_question: '带日期的问题', long_query: '长查询', long_messages: '针对长消息的问题',
  },
};

/** The view. The search is in the address, so that it can be shared, and the back button returns to the last one. */
export default function View({ params, owner }) {
  const t = useTexts(texts);
  const search = searchOf(params);
  const open = (change) => navigate('search', { ...owner, ...search, ...change });
  const hasQuery = Boolean(search.q);
  const read = useGet(hasQuery ? '/api/inspector/search' : null, { ...owner, ...search });
  const why = html`<${Panel} title=${t('whyTitle')}><p class="hint">${t('whyText')}</p>
      <${RecordChoice} owner=${owner} chosen=${search.why} onChoose=${(why) => open({ why })} />
      ${search.why && !hasQuery && html`<${Notice}>${t('whyNeedsQuery')}<//>`}
      ${read.data?.why && html`<${Explanation} why=${read.data.why} hits=${read.data.hits}
        threshold=${read.data.min_relevance} />`}
    <//>`;
  return html`
    <${Panel}><${SearchForm} key=${JSON.stringify(search)} search=${search} onSearch=${open} /><//>
    ${search.why && why}
    ${!hasQuery && html`<${Panel}><${Empty} title=${t('emptyTitle')}>${t('emptyText')}<//><//>`}
    ${hasQuery && html`<${Loaded} read=${read}>${(report) => html`<${Report} report=${report} query=${search.q}
      why=${search.why} owner=${owner} onChanged=${read.reload} />`}<//>`}
    ${!search.why && why}`;
}

function Report({ report, query, why, owner, onChanged }) {
  const t = useTexts(texts);
  const [focused, setFocused] = useState(null);
  const relevant = report.hits.filter((hit) => hit.relevant);
  const others = report.hits.filter((hit) => !hit.relevant);
  const list = (hits, label) => html`<ol class="search-hits" aria-label=${label}>${hits.map((hit) => html`
    <li key=${hit.record.id} class=${[focused, why].includes(hit.record.id) ? 'focused' : ''}><${SearchHit} hit=${hit}
      best=${best} threshold=${report.min_relevance} owner=${owner} onChanged=${onChanged} /></li>`)}</ol>`;
  const best = bestScores(report.hits);
  return html`
    ${report.degraded.length > 0 && html`<${Notice} tone="warn"><strong>${t('degraded')}.</strong>
      <ul class="plain">${report.degraded.map(({ stage, reason }) => html`
        <li>${t('degradedStage', { stage: stageName(stage), reason })}</li>`)}</ul><//>`}
    ${report.hits.length === 0 && html`<${Panel}><${Empty} title=${t('nothingTitle')}>${t('nothingText')}<//><//>`}
    ${report.hits.length > 0 && html`<${Panel} title=${t('results')} actions=${html`<span class="hint search-summary">
        <span>${t('relevant', { count: relevant.length })}</span>
        <span>${t('threshold', { value: formatNumber(report.min_relevance, 2) })}</span>
        ${report.query_shape && html`<span>${t('shape', { shape: t(report.query_shape) })}</span>`}
        <span>${t('took', { time: formatDuration(report.took_ms) })}</span>
        <a href=${routeTo('context', { ...owner, message: query })}>${t('preview')}</a></span>`}>
      ${relevant.length > 0 ? list(relevant, t('results')) : html`<p>${t('noneRelevant')}</p>`}
      ${others.length > 0 && html`<details class="weak-hits"><summary>${t('others', { count: others.length })}</summary>
        <p class="hint">${t('othersHint', { threshold: formatNumber(report.min_relevance, 2) })}</p>
        ${list(others, t('others', { count: others.length }))}</details>`}
    <//>
    <${Panel} title=${t('movement')}><${RankChart} hits=${report.hits} onFocus=${setFocused} focused=${focused} /><//>`}
    <${Panel} title=${t('stages')}><${Stages} stages=${report.stages} total=${report.took_ms} />
      <p class="hint">${t('stagesHint')}</p><//>`;
}

function Stages({ stages, total }) {
  // At least a small time, so that no share is a division by 0.
  const longest = Math.max(...stages.map((stage) => stage.ms), total, 0.001);
  return html`<div class="stage-times">${stages.map(({ stage, ms }) => html`<${Bar} key=${stage}
    label=${stageName(stage)} share=${ms / longest} value=${formatDuration(ms)} />`)}</div>`;
}

/** Returns the best score of each retriever among the hits. */
function bestScores(hits) {
  const best = {};
  for (const found of hits.flatMap((hit) => hit.found_by)) {
    best[found.retriever] = Math.max(best[found.retriever] ?? 0, found.score);
  }
  return best;
}
