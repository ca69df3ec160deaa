// The ranks of hits from step to step as lines, with a table of the same ranks.

import { html } from './ui.js';
import { useTexts } from './texts.js';
import { MemoryName, Table } from './components.js';

const texts = {
  en: {
    hint: 'Each line is a hit. It begins at its best rank among the retrievers, and ends at its place in the result.',
    retrieved: 'retrieved', fused: 'fused', ranked: 'ranked', reranked: 'reranked', boosted: 'boosted',
    selected: 'selected', table: 'Ranks as a table', hit: 'Hit', text: 'Text',
  },
  zh: {
    hint: '每条线代表一条结果：起点是它在各检索器中的最佳名次，终点是它在结果中的位置。', retrieved: '检索', fused: '融合', ranked: '排序', reranked: '重排',
    boosted: '加权', selected: '选择', table: '以表格显示名次', hit: '结果', text: '内容',
  },
};

const STEPS = ['retrieved', 'fused', 'ranked', 'reranked', 'boosted', 'selected'];
/** Ranks below this one are drawn at the bottom. */
const MAX_RANK = 20;
/** Hits that are drawn; the table has all. */
const MAX_LINES = 12;
const COLORS = 6;
const COLUMN_WIDTH = 130;
const ROW_HEIGHT = 26;
const LEFT = 40;
const TOP = 34;

/** The chart. `onFocus(id)` is called with the record of the line under the pointer, or null. */
export function RankChart({ hits, focused, onFocus }) {
  const t = useTexts(texts);
  const traced = hits.filter((hit) => hit.ranks?.length > 0);
  if (traced.length === 0) return null;
  const lines = traced.map((hit) => ({ hit, ranks: ranksOf(hit) }));
  const steps = STEPS.filter((step) => lines.some((line) => line.ranks[step] !== undefined));
  return html`<p class="hint">${t('hint')}</p>
    <${Lines} lines=${lines.slice(0, MAX_LINES)} steps=${steps} focused=${focused} onFocus=${onFocus} />
    <details><summary>${t('table')}</summary><${RankTable} lines=${lines} steps=${steps} /></details>`;
}

/** Returns the rank of a hit after each step, by the name of the step. */
function ranksOf(hit) {
  const ranks = Object.fromEntries(hit.ranks.map((rank) => [rank.step, rank.rank]));
  const found = hit.found_by.map((one) => one.rank);
  return found.length > 0 ? { retrieved: Math.min(...found), ...ranks } : ranks;
}

function Lines({ lines, steps, focused, onFocus }) {
  const t = useTexts(texts);
  const worst = Math.min(MAX_RANK, Math.max(...lines.flatMap((line) => Object.values(line.ranks))));
  const width = LEFT * 2 + COLUMN_WIDTH * (steps.length - 1);
  const height = TOP + ROW_HEIGHT * worst + 6;
  const x = (step) => LEFT + COLUMN_WIDTH * steps.indexOf(step);
  const y = (rank) => TOP + ROW_HEIGHT * (Math.min(rank, worst) - 0.5);
  const viewBox = `0 0 ${width} ${height}`;
  return html`<div class="rank-chart" aria-hidden="true"><svg viewBox=${viewBox} width=${width} height=${height}>
    ${steps.map((step) => html`<g key=${step}>
      <text class="axis" x=${x(step)} y="16" text-anchor="middle">${t(step)}</text>
      <line class="grid" x1=${x(step)} x2=${x(step)} y1=${TOP - 8} y2=${height - 4} /></g>`)}
    ${lines.map((line, index) => {
      const passed = steps.filter((step) => line.ranks[step] !== undefined);
      const points = passed.map((step) => [x(step), y(line.ranks[step]), line.ranks[step]]);
      const id = line.hit.record.id;
      const state = focused === id ? 'focused' : focused ? 'faded' : '';
      return html`<g key=${id} class="line color-${(index % COLORS) + 1} ${state}" onMouseEnter=${() => onFocus(id)}
        onMouseLeave=${() => onFocus(null)}>
        <polyline points=${points.map(([px, py]) => `${px},${py}`).join(' ')} />
        ${points.map(([px, py, rank]) => html`<circle cx=${px} cy=${py} r="11" /><text x=${px} y=${py + 4}
          text-anchor="middle">${rank}</text>`)}</g>`;
    })}
  </svg></div>`;
}

function RankTable({ lines, steps }) {
  const t = useTexts(texts);
  const columns = [
    { title: t('hit'), align: 'end', cell: (line) => line.hit.place },
    { title: t('text'), cell: (line) => html`<${MemoryName} name=${line.hit.record.text.slice(0, 200)} />` },
    ...steps.map((step) => ({ title: t(step), align: 'end', cell: (line) => line.ranks[step] ?? '–' })),
  ];
  const rowKey = (line) => line.hit.record.id;
  return html`<${Table} caption=${t('table')} columns=${columns} rows=${lines} rowKey=${rowKey} />`;
}
