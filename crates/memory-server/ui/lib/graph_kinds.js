// The kinds of entities: their names, and the marks that the legend and the lists show.

import { html } from './ui.js';
import { language } from './texts.js';

/** The names of the kinds. */
export const kindTexts = {
  en: { person: 'person', place: 'place', org: 'organisation', concept: 'concept', other: 'other' },
  zh: { person: '人物', place: '地点', org: '组织', concept: '概念', other: '其他' },
};

/** The relation that rules give to the names of one sentence, as the server writes it. */
const CO_OCCURRENCE = 'appears with';

/** Returns the name of a relation in the language of the page, as far as the server and not a text gave the name. */
function relationName(relation) {
  return relation === CO_OCCURRENCE && language() === 'zh' ? '同时出现' : relation;
}

const SHAPES = {
  person: html`<circle cx="6" cy="6" r="5" />`,
  place: html`<rect x="1" y="1" width="10" height="10" rx="2" />`,
  org: html`<polygon points="3,1 9,1 12,6 9,11 3,11 0,6" />`,
  concept: html`<polygon points="6,0 12,6 6,12 0,6" />`,
  other: html`<polygon points="6,1 12,11 0,11" />`,
};

/** The mark of a kind: its colour and its shape in the picture. */
export function KindMark({ kind }) {
  return html`<svg class="kind-mark kind-${kind}" viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
    ${SHAPES[kind]}</svg>`;
}

/** A relation: its source, its name and its target. */
export function RelationText({ source, relation, target }) {
  return html`<bdi>${source}</bdi> — <bdi>${relationName(relation)}</bdi> → <bdi>${target}</bdi>`;
}
