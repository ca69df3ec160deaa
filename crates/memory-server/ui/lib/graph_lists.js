// The entities and relations of the picture as lists, for the keyboard and for readers of the screen.

import { html, useState } from './ui.js';
import { useTexts } from './texts.js';
import { formatNumber } from './format.js';
import { routeTo } from './route.js';
import { Tabs } from './components.js';
import { KindMark, RelationText, kindTexts } from './graph_kinds.js';

const texts = {
  en: {
    lists: 'Entities and relations', entities: 'Entities ({count})', relations: 'Relations ({count})',
    more: ['Show 1 more', 'Show {count} more'],
    none: 'No name of the picture contains this text. “Search” asks the whole graph.',
    noRelations: 'No relations are shown.', neighbours: ['1 neighbour', '{count} neighbours'],
    records: ['1 record', '{count} records'],
  },
  zh: {
    lists: '实体与关系', entities: '实体（{count}）', relations: '关系（{count}）', more: '再显示 {count} 条',
    none: '图中没有包含此文本的名称。点击“搜索”可查询整个关系图。', noRelations: '没有显示任何关系。', neighbours: '{count} 个相邻实体',
    records: '{count} 条记录',
  },
};

/** Number of rows shown at first, and added by "Show more". */
const PAGE_ROWS = 100;

/** The lists next to the picture. `filter` restricts them to names that contain it. */
export function GraphLists({ graph, filter, params }) {
  const t = useTexts(texts);
  const [selected, setSelected] = useState('entities');
  const part = params.about ? '' : filter.trim().toLowerCase();
  const names = new Map(graph.nodes.map((node) => [node.id, node.name]));
  const contains = (name) => name.toLowerCase().includes(part);
  const nodes = part ? graph.nodes.filter((node) => [node.name, ...node.aliases].some(contains)) : graph.nodes;
  const ids = new Set(nodes.map((node) => node.id));
  const edges = part ? graph.edges.filter((edge) => ids.has(edge.source) || ids.has(edge.target)) : graph.edges;
  const tabs = [
    { id: 'entities', title: t('entities', { count: formatNumber(nodes.length) }) },
    { id: 'relations', title: t('relations', { count: formatNumber(edges.length) }) },
  ];
  return html`<${Tabs} tabs=${tabs} selected=${selected} onSelect=${setSelected} label=${t('lists')} />
    ${selected === 'entities'
      ? html`<${Rows} key="entities${part}" rows=${nodes} empty=${t('none')} row=${(node) => html`
          <${EntityRow} key=${node.id} node=${node} params=${params} />`} />`
      : html`<${Rows} key="relations${part}" rows=${edges} empty=${t('noRelations')} row=${(edge) => html`
          <${RelationRow} key=${relationKey(edge)} edge=${edge} names=${names} params=${params} />`} />`}`;
}

/** The first rows of a list, and a button that adds more. */
function Rows({ rows, empty, row }) {
  const t = useTexts(texts);
  const [count, setCount] = useState(PAGE_ROWS);
  if (rows.length === 0) return html`<p class="hint">${empty}</p>`;
  const rest = Math.min(PAGE_ROWS, rows.length - count);
  return html`<ul class="graph-list">${rows.slice(0, count).map(row)}</ul>
    ${rest > 0 && html`<button type="button" onClick=${() => setCount(count + PAGE_ROWS)}>
      ${t('more', { count: rest })}</button>`}`;
}

function EntityRow({ node, params }) {
  const t = useTexts(texts);
  const kind = useTexts(kindTexts);
  return html`<li><a href=${routeTo('graph', { ...params, entity: node.id, source: '', target: '' })}>
    <${KindMark} kind=${node.kind} /> <bdi>${node.name}</bdi></a>
    <span class="hint">${kind(node.kind)} · ${t('neighbours', { count: node.degree })}</span></li>`;
}

function RelationRow({ edge, names, params }) {
  const t = useTexts(texts);
  return html`<li><a href=${routeTo('graph', { ...params, entity: '', source: edge.source, target: edge.target })}>
    <${RelationText} source=${names.get(edge.source)} relation=${edge.relation} target=${names.get(edge.target)} /></a>
    <span class="hint">${t('records', { count: edge.records })}</span></li>`;
}

/** Returns a key of a relation, which two relations with other times do not share. */
export function relationKey(edge) {
  return [edge.source, edge.relation, edge.target, edge.valid_from, edge.valid_until].join(' ');
}
