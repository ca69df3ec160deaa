// The picture of a graph, drawn by cytoscape. Only the view "Graph" loads this module and the library.

import cytoscape from '../vendor/cytoscape.js';
import { forceLayout } from './force_layout.js';
import { linesOf } from './graph_lines.js';
import { onThemeChanged } from './theme.js';

/** Cytoscape adds a style element unless an element has this id. The page's policy blocks it; app.css has the rule. */
const STYLE_ID = '__________cytoscape_stylesheet';
/** Number of best-connected nodes whose names are shown in a large graph. Enlarging shows more. */
const NAMED_NODES = 40;
/** Up to this number of nodes, all names are shown, and the picture is drawn sharply while it moves. */
const FEW_NODES = 80;
/** Share of the nodes at each end, 0 to 1, that is ignored when a large picture is scaled. */
const OUTLIER_SHARE = 0.03;
/** Width of an average node, in pixels. */
const MIN_NODE_SIZE = 5;
const MAX_NODE_SIZE = 16;
/** Distance between the picture and its border, in pixels. */
const BORDER = 36;
/** Largest scale of the layout, so that two entities are not at opposite ends. */
const MAX_SCALE = 2;
/** Largest ratio of the scales of width and height. */
const MAX_STRETCH = 1.5;
/** Colour variable and shape of each kind, so that colour is not the only difference. */
export const KINDS = {
  person: { color: '--series-1', shape: 'ellipse' },
  place: { color: '--series-3', shape: 'round-rectangle' },
  org: { color: '--series-2', shape: 'hexagon' },
  concept: { color: '--series-4', shape: 'diamond' },
  other: { color: '--muted', shape: 'round-triangle' },
};

/**
 * A picture in `container`. `onSelect` is called with `{ entity }`, `{ source, target }` or null. `await draw(graph)`
 * lays the graph out and draws it.
 */
export class GraphPicture {
  constructor(container, onSelect) {
    this.container = container;
    this.onSelect = onSelect;
    this.cy = null;
    this.version = 0;
    this.restyle = () => this.cy?.style(styleOf());
    this.stopRestyling = onThemeChanged(this.restyle);
  }

  /** Draws a graph. Returns the time of the layout in milliseconds; null if another graph was drawn meanwhile. */
  async draw({ nodes, edges }) {
    this.version += 1;
    const version = this.version;
    const indexes = new Map(nodes.map((node, index) => [node.id, index]));
    const pairs = linesOf(edges);
    const links = pairs.map((pair) => [indexes.get(pair.source), indexes.get(pair.target)]);
    const start = performance.now();
    const positions = await forceLayout(nodes.length, links, { isCancelled: () => version !== this.version });
    if (positions === null || version !== this.version) return null;
    const layoutMs = performance.now() - start;
    this.show(nodes, pairs, fitted(positions, this.container));
    return layoutMs;
  }

  show(nodes, pairs, positions) {
    preventStyleElement();
    this.cy?.destroy();
    const isSmall = nodes.length <= FEW_NODES;
    const byDegree = [...nodes].sort((a, b) => b.degree - a.degree);
    const named = new Set(byDegree.slice(0, isSmall ? FEW_NODES : NAMED_NODES).map((node) => node.id));
    const size = nodeSize(nodes.length);
    const elements = [
      ...nodes.map((node, index) => ({
        data: { id: node.id, name: shortened(node.name), size: size * (0.8 + Math.sqrt(node.degree) / 4) },
        classes: `${node.kind} ${named.has(node.id) ? 'named' : ''}`,
        position: { x: positions.x[index], y: positions.y[index] },
      })),
      ...pairs.map((pair) => ({
        data: {
          id: `${pair.source}-${pair.target}`, source: pair.source, target: pair.target,
          width: 1 + Math.log2(pair.records) / 2,
        },
      })),
    ];
    this.cy = cytoscape({
      container: this.container, elements, style: styleOf(), layout: { name: 'preset', fit: false },
      minZoom: 0.3, maxZoom: 6,
      // While the picture moves, an image of it is moved instead of drawing every line.
      textureOnViewport: !isSmall, pixelRatio: isSmall ? 'auto' : 1, boxSelectionEnabled: false,
      selectionType: 'single', autounselectify: true,
    });
    this.cy.on('tap', 'node', (event) => this.onSelect({ entity: event.target.id() }));
    this.cy.on('tap', 'edge', (event) => {
      this.onSelect({ source: event.target.data('source'), target: event.target.data('target') });
    });
    this.cy.on('tap', (event) => event.target === this.cy && this.onSelect(null));
  }

  /** Marks an entity with its neighbours, or a pair of entities, and moves it into sight. */
  mark({ entity, source, target }) {
    const { cy } = this;
    if (!cy) return;
    cy.batch(() => {
      cy.elements().removeClass('chosen near far');
      const chosen = entity ? cy.getElementById(entity) : cy.getElementById(source).union(cy.getElementById(target));
      if (chosen.empty()) return;
      const near = entity ? chosen.closedNeighborhood() : chosen.union(chosen.edgesWith(chosen));
      cy.elements().not(near).addClass('far');
      near.addClass('near');
      chosen.addClass('chosen');
    });
    const chosen = cy.nodes('.chosen');
    if (chosen.nonempty() && !isInside(chosen.renderedBoundingBox(), cy)) cy.center(chosen);
  }

  /** Marks the entities with these ids as found; null removes the marks. */
  find(ids) {
    this.cy?.batch(() => {
      this.cy.nodes().removeClass('found');
      ids?.forEach((id) => this.cy.getElementById(id).addClass('found'));
    });
  }

  /** Enlarges the picture by a factor, around its middle. */
  zoom(factor) {
    const { cy } = this;
    if (!cy) return;
    cy.zoom({ level: cy.zoom() * factor, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  }

  /** Takes back enlarging and moving. */
  fit() {
    this.cy?.viewport({ zoom: 1, pan: { x: 0, y: 0 } });
  }

  destroy() {
    this.version += 1;
    this.stopRestyling();
    this.cy?.destroy();
    this.cy = null;
  }
}

/** Returns the positions scaled and moved so that they fill the container. */
function fitted({ x, y }, container) {
  const [minX, maxX] = extent(x);
  const [minY, maxY] = extent(y);
  const { clientWidth: width, clientHeight: height } = container;
  const scale = (from, to, room) => Math.min(to > from ? (room - 2 * BORDER) / (to - from) : 1, MAX_SCALE);
  const scaleX = scale(minX, maxX, width);
  const scaleY = scale(minY, maxY, height);
  // A wide container gets a wide picture, up to a limit: a stretched picture shows less of the groups.
  const both = Math.min(scaleX, scaleY);
  const place = (value, middle, factor, room) => {
    const moved = room / 2 + (value - middle) * Math.min(factor, both * MAX_STRETCH);
    return Math.max(BORDER / 2, Math.min(room - BORDER / 2, moved));
  };
  return {
    x: x.map((value) => place(value, (minX + maxX) / 2, scaleX, width)),
    y: y.map((value) => place(value, (minY + maxY) / 2, scaleY, height)),
  };
}

/** Returns the smallest and the largest value, of a large picture without outliers. */
function extent(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const left = sorted.length > FEW_NODES ? Math.floor(sorted.length * OUTLIER_SHARE) : 0;
  return [sorted[left], sorted[sorted.length - 1 - left]];
}

function preventStyleElement() {
  if (document.getElementById(STYLE_ID)) return;
  const element = document.createElement('meta');
  element.id = STYLE_ID;
  document.head.append(element);
}

function isInside(box, cy) {
  return box.x1 >= 0 && box.y1 >= 0 && box.x2 <= cy.width() && box.y2 <= cy.height();
}

/** Returns the style in the colours of the page. */
function styleOf() {
  const computed = getComputedStyle(document.documentElement);
  const color = (name) => computed.getPropertyValue(name).trim();
  const node = {
    label: 'data(name)', color: color('--text'), 'text-outline-color': color('--surface'), 'text-outline-width': 2,
    'font-family': 'system-ui, sans-serif', 'font-size': 11, 'min-zoomed-font-size': 17, 'text-valign': 'bottom',
    'text-margin-y': 3, width: 'data(size)', height: 'data(size)', 'overlay-opacity': 0,
  };
  const line = {
    'curve-style': 'haystack', 'haystack-radius': 0, width: 'data(width)', 'line-color': color('--muted'),
    opacity: 0.35, 'overlay-opacity': 0,
  };
  const chosen = {
    'border-width': 4, 'border-color': color('--accent'), 'border-opacity': 1, 'font-weight': 700, 'z-index': 9,
  };
  const kinds = Object.entries(KINDS).map(([kind, look]) => ({
    selector: `node.${kind}`, style: { 'background-color': color(look.color), shape: look.shape },
  }));
  return [
    { selector: 'node', style: node },
    ...kinds,
    { selector: 'node.named', style: { 'min-zoomed-font-size': 0, 'z-index': 3 } },
    { selector: 'edge', style: line },
    { selector: 'node.near, node.found', style: { 'min-zoomed-font-size': 0, 'z-index': 5 } },
    { selector: 'edge.near', style: { 'line-color': color('--accent'), opacity: 0.85 } },
    { selector: '.far', style: { opacity: 0.18 } },
    { selector: 'node.found', style: { opacity: 1, 'border-width': 3, 'border-color': color('--warn') } },
    { selector: 'node.chosen', style: chosen },
  ];
}

/** Returns the width of an average node in pixels: small in a large graph. */
function nodeSize(count) {
  return Math.max(MIN_NODE_SIZE, Math.min(MAX_NODE_SIZE, 70 / Math.sqrt(count)));
}

function shortened(name) {
  const characters = Array.from(name);
  return characters.length > 28 ? `${characters.slice(0, 28).join('')}…` : name;
}
