// The entities and relations of a user: a picture, a list beside it, and the records behind each of them.

import { html, useEffect, useMemo, useRef, useState } from '../lib/ui.js';
import { useTexts } from '../lib/texts.js';
import { useGet } from '../lib/api.js';
import { navigate, routeTo } from '../lib/route.js';
import { ownerOf } from '../lib/owner.js';
import { formatNumber } from '../lib/format.js';
import { Empty, Field, Loaded, Notice } from '../lib/components.js';
import { ChooseUser, mustChooseUser } from '../lib/choose_user.js';
import { GraphEvidence } from '../lib/graph_evidence.js';
import { GraphLists } from '../lib/graph_lists.js';
import { KindMark, kindTexts } from '../lib/graph_kinds.js';
import { linesOf, pairsOf } from '../lib/graph_lines.js';

const texts = {
  en: {
    find: 'Find an entity', findHint: 'a name, or a part of it', search: 'Search', all: 'Show the whole graph',
    hops: 'Distance', hop: ['{count} relation', '{count} relations'], about: 'The surroundings of “{about}”.',
    noMatch: 'No entity is called “{about}”, and no name contains it.',
    limited: 'The {shown} best-connected of {total} entities are shown. Search for a name to see the others.',
    limitedAbout: 'Only the nearest {shown} entities are shown.',
    limitedRelations: 'The list has the {shown} relations with the most records.',
    limitedLines: 'The picture has a line for the {lines} pairs with the most records.',
    counts: '{entities} and {relations}, from {records}.', entities: ['1 entity', '{count} entities'],
    relations: ['1 relation', '{count} relations'], records: ['1 record', '{count} records'],
    picture: 'Picture of {entities} and {relations}. The list next to it has the same entities and relations.',
    zoomIn: 'Enlarge', zoomOut: 'Reduce', fit: 'Show all', arranging: 'Arranging {count} entities …',
    broken: 'The picture could not be drawn: {reason}', emptyTitle: 'No entities yet',
    emptyOff: 'This server does not extract entities. Start it with “--graph rules”; “memory digest --graph rules” '
      + 'extracts them from stored messages.',
    emptyOn: 'Entities are extracted from new messages that name people, places or things. “memory digest --graph '
      + 'rules” extracts them from stored messages.',
    legend: 'Kinds of entities',
  },
  zh: {
    find: '查找实体', findHint: '名称或其中一部分', search: '搜索', all: '显示整个关系图', hops: '距离', hop: '{count} 层关系',
    about: '“{about}”的周边。', noMatch: '没有名为“{about}”的实体，也没有名称包含它。',
    limited: '共 {total} 个实体，仅显示关联最多的 {shown} 个。搜索名称可查看其余实体。', limitedAbout: '仅显示距离最近的 {shown} 个实体。',
    limitedRelations: '列表仅包含记录最多的 {shown} 个关系。', limitedLines: '图中仅为记录最多的 {lines} 对实体画线。',
    counts: '{entities}，{relations}，来自{records}。', entities: '{count} 个实体', relations: '{count} 个关系',
    records: '{count} 条记录', picture: '关系图：{entities}，{relations}。旁边的列表包含相同的内容。', zoomIn: '放大', zoomOut: '缩小',
    fit: '显示全部', arranging: '正在排列 {count} 个实体…', broken: '无法绘制关系图：{reason}', emptyTitle: '还没有实体',
    emptyOff: '此服务器未提取实体。请用 “--graph rules” 启动；“memory digest --graph rules” 可从已存入的消息中提取。',
    emptyOn: '新消息提到人物、地点或事物时会提取实体。“memory digest --graph rules” 可从已存入的消息中提取。',
    legend: '实体类型',
  },
};

const MAX_HOPS = 3;
/** Maximum numbers of entities and relations that the server returns. */
const MAX_ENTITIES = 500;
const MAX_RELATIONS = 3000;
const ZOOM_STEP = 1.3;

/** The view "Graph". */
export default function Graph({ params, owner, users }) {
  if (mustChooseUser(owner, users)) return html`<${ChooseUser} view="graph" users=${users} />`;
  return html`<${GraphBrowser} params=${params} owner=${owner} />`;
}

/** The search, the picture, and the list or the evidence of what is chosen. */
function GraphBrowser({ params, owner }) {
  const hops = params.about ? params.hops : undefined;
  const read = useGet('/api/inspector/graph', { ...owner, about: params.about, hops });
  const [filter, setFilter] = useState('');
  return html`<${Search} key=${params.about ?? ''} params=${params} graph=${read.data} filter=${filter}
      onFilter=${setFilter} />
    <${Loaded} read=${read}>${(graph) => html`
      <${GraphContent} graph=${graph} params=${params} owner=${owner} filter=${filter} />`}<//>`;
}

/** Marks the matching entities while one types, and asks the server for the surroundings of one. */
function Search({ params, graph, filter, onFilter }) {
  const t = useTexts(texts);
  useEffect(() => onFilter(params.about ?? ''), []);
  const { about, hops } = params;
  const open = (changes) => navigate('graph', { ...ownerOf(params), about, hops, ...changes });
  const submit = (event) => {
    event.preventDefault();
    open({ about: filter.trim(), hops: filter.trim() ? params.hops : '' });
  };
  const names = (graph?.nodes ?? []).slice(0, 200).map((node) => node.name);
  return html`<form class="fields graph-search" role="search" onSubmit=${submit}>
    <${Field} label=${t('find')}><input type="search" value=${filter} placeholder=${t('findHint')} maxlength="200"
      list="graph-names" onInput=${(event) => onFilter(event.target.value)} /><//>
    <datalist id="graph-names">${names.map((name) => html`<option value=${name} />`)}</datalist>
    ${params.about && html`<${Field} label=${t('hops')}><select value=${params.hops || '1'}
      onChange=${(event) => open({ hops: event.target.value })}>${Array.from({ length: MAX_HOPS }, (_, index) => html`
        <option value=${index + 1}>${t('hop', { count: index + 1 })}</option>`)}</select><//>`}
    <button type="submit" class="primary">${t('search')}</button>
    ${params.about && html`<a href=${routeTo('graph', ownerOf(params))}>${t('all')}</a>`}
  </form>`;
}

function GraphContent({ graph, params, owner, filter }) {
  const t = useTexts(texts);
  const choose = (chosen) => navigate('graph', { ...params, entity: '', source: '', target: '', ...chosen });
  if (graph.nodes.length === 0) {
    const hasOthers = params.about && graph.total_entities > 0;
    if (hasOthers) return html`<${Notice} tone="warn">${t('noMatch', { about: params.about })}<//>`;
    return html`<${Empty} title=${t('emptyTitle')}>${t(graph.has_extractor ? 'emptyOn' : 'emptyOff')}<//>`;
  }
  const chosen = { entity: params.entity, source: params.source, target: params.target };
  const isChosen = Boolean(params.entity || params.source);
  return html`<${Limits} graph=${graph} params=${params} />
    <div class="graph">
      <${Picture} graph=${graph} chosen=${chosen} filter=${params.about ? '' : filter} onChoose=${choose} />
      <div class="graph-side panel">${isChosen
        ? html`<${GraphEvidence} key=${JSON.stringify(chosen)} chosen=${chosen} params=${params} owner=${owner}
            onChoose=${choose} />`
        : html`<${GraphLists} graph=${graph} filter=${filter} params=${params} />`}</div>
    </div>`;
}

/** The numbers, and what is not shown. */
function Limits({ graph, params }) {
  const t = useTexts(texts);
  const [shown, total] = [graph.nodes.length, graph.total_entities].map((count) => formatNumber(count));
  const count = (key, value) => t(key, { count: value === 1 ? 1 : formatNumber(value) });
  const counts = {
    entities: count('entities', graph.total_entities), relations: count('relations', graph.total_relations),
    records: count('records', graph.records),
  };
  const isLimited = params.about ? graph.nodes.length >= MAX_ENTITIES : graph.nodes.length < graph.total_entities;
  const pairs = useMemo(() => pairsOf(graph.edges).length, [graph]);
  const lines = useMemo(() => linesOf(graph.edges).length, [graph]);
  return html`
    ${params.about && html`<p>${t('about', { about: params.about })}</p>`}
    ${isLimited && html`<${Notice}>${t(params.about ? 'limitedAbout' : 'limited', { shown, total })}<//>`}
    <p class="hint">${!params.about && t('counts', counts)}
      ${graph.edges.length >= MAX_RELATIONS && ` ${t('limitedRelations', { shown: formatNumber(graph.edges.length) })}`}
      ${lines < pairs && ` ${t('limitedLines', { lines: formatNumber(lines) })}`}</p>`;
}

/** The picture with its buttons and its legend. */
function Picture({ graph, chosen, filter, onChoose }) {
  const t = useTexts(texts);
  const container = useRef(null);
  const picture = useRef(null);
  const [state, setState] = useState({ drawn: null, error: null });
  const choose = useRef(onChoose);
  choose.current = onChoose;
  useEffect(() => {
    let isCurrent = true;
    const draw = async () => {
      const { GraphPicture } = await import('../lib/graph_picture.js');
      if (!isCurrent) return;
      picture.current ??= new GraphPicture(container.current, (found) => choose.current(found));
      const layoutMs = await picture.current.draw(graph);
      if (isCurrent && layoutMs !== null) setState({ drawn: graph, error: null });
    };
    draw().catch((error) => isCurrent && setState({ drawn: graph, error }));
    return () => {
      isCurrent = false;
    };
  }, [graph]);
  useEffect(() => () => picture.current?.destroy(), []);
  const isDrawn = state.drawn === graph;
  useEffect(() => {
    if (isDrawn) picture.current?.mark(chosen);
  }, [isDrawn, chosen.entity, chosen.source, chosen.target]);
  const found = useMemo(() => matching(graph.nodes, filter), [graph, filter]);
  useEffect(() => {
    if (isDrawn) picture.current?.find(found?.map((node) => node.id));
  }, [isDrawn, found]);
  const entities = t('entities', { count: graph.nodes.length });
  const label = t('picture', { entities, relations: t('relations', { count: graph.edges.length }) });
  const zoom = (factor) => () => picture.current?.zoom(factor);
  return html`<figure class="panel graph-picture" aria-busy=${!isDrawn}>
    <div class="graph-canvas" role="img" aria-label=${label} ref=${container}></div>
    ${!isDrawn && html`<p class="graph-wait" role="status">${t('arranging', { count: graph.nodes.length })}</p>`}
    ${state.error && html`<${Notice} tone="error">${t('broken', { reason: state.error.message })}<//>`}
    <figcaption><${Legend} nodes=${graph.nodes} />
      <div class="actions">
        <button type="button" aria-label=${t('zoomIn')} title=${t('zoomIn')} onClick=${zoom(ZOOM_STEP)}>+</button>
        <button type="button" aria-label=${t('zoomOut')} title=${t('zoomOut')} onClick=${zoom(1 / ZOOM_STEP)}>−</button>
        <button type="button" onClick=${() => picture.current?.fit()}>${t('fit')}</button></div></figcaption>
  </figure>`;
}

/** The kinds of the shown entities, with their marks and numbers. */
function Legend({ nodes }) {
  const t = useTexts(texts);
  const kind = useTexts(kindTexts);
  const counts = new Map();
  nodes.forEach((node) => counts.set(node.kind, (counts.get(node.kind) ?? 0) + 1));
  return html`<ul class="legend" aria-label=${t('legend')}>${[...counts].map(([name, count]) => html`
    <li key=${name}><${KindMark} kind=${name} /> ${kind(name)} (${formatNumber(count)})</li>`)}</ul>`;
}

/** Returns the entities whose name or alias contains a text; null for an empty text. */
function matching(nodes, filter) {
  const part = filter.trim().toLowerCase();
  if (!part) return null;
  return nodes.filter((node) => [node.name, ...node.aliases].some((name) => name.toLowerCase().includes(part)));
}
