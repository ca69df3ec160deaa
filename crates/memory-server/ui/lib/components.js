// Parts that the views share.

import { html, useId, useState } from './ui.js';
import { useTexts } from './texts.js';
import { formatNumber } from './format.js';

const texts = {
  en: { loading: 'Loading …', retry: 'Try again', more: 'Show all', less: 'Show less', failed: 'This did not work' },
  zh: { loading: '正在加载…', retry: '重试', more: '显示全部', less: '收起', failed: '操作失败' },
};

/** Characters of a memory that are shown before "Show all". */
const CLIPPED_CHARACTERS = 600;
/** Characters that are shown at most: a longer text would make the page slow. */
const MAX_CHARACTERS = 20000;

/** A titled section of a view. `actions` are shown beside the title. */
export function Panel({ title, actions, children, className = '' }) {
  return html`<section class="panel ${className}">
    ${(title || actions) && html`<header><h2>${title}</h2><div class="actions">${actions}</div></header>`}
    ${children}
  </section>`;
}

/** The text of a memory, as plain text. A long one is clipped and can be opened. */
export function MemoryText({ text, strike = false }) {
  const t = useTexts(texts);
  const [open, setOpen] = useState(false);
  const characters = text.length > CLIPPED_CHARACTERS ? Array.from(text.slice(0, MAX_CHARACTERS)) : null;
  const shown = characters === null ? text : characters.slice(0, open ? MAX_CHARACTERS : CLIPPED_CHARACTERS).join('');
  const isClipped = shown.length < text.length;
  return html`<div class="memory-text ${strike ? 'struck' : ''}" dir="auto"><bdi>${shown}${isClipped && '…'}</bdi>
    ${characters !== null && html` <button type="button" class="link" aria-expanded=${open}
      onClick=${() => setOpen(!open)}>${t(open ? 'less' : 'more')}</button>`}</div>`;
}

/** A name from a memory, such as a user, a speaker or a session: plain text on one line. */
export function MemoryName({ name }) {
  return html`<bdi class="memory-name" title=${name}>${name}</bdi>`;
}

/** A small label. `tone` is `neutral`, `good`, `warn`, `bad` or `info`. */
export function Badge({ tone = 'neutral', children }) {
  return html`<span class="badge ${tone}">${children}</span>`;
}

/** A labelled field. `children` is one control. */
export function Field({ label, children, className = '' }) {
  return html`<label class="field ${className}"><span>${label}</span>${children}</label>`;
}

/** A message. `tone` is `info`, `success`, `warn` or `error`. */
export function Notice({ tone = 'info', children }) {
  return html`<div class="notice ${tone}" role=${tone === 'error' ? 'alert' : 'status'}>${children}</div>`;
}

/** What is shown in place of an empty list: what it is, and how it fills. */
export function Empty({ title, children }) {
  return html`<div class="empty"><strong>${title}</strong><p>${children}</p></div>`;
}

/** Shows the state of a read of `useGet`, and calls `children(data)` once there is data. */
export function Loaded({ read, children }) {
  const t = useTexts(texts);
  if (read.error) {
    return html`<div class="notice error" role="alert"><strong>${t('failed')}.</strong> ${read.error.message}
      ${' '}<button type="button" class="link" onClick=${read.reload}>${t('retry')}</button></div>`;
  }
  if (read.data === null) return html`<p class="loading" role="status">${t('loading')}</p>`;
  return html`<div aria-busy=${read.loading}>${children(read.data)}</div>`;
}

/** A table. `columns` is a list of `{ name, title, align, cell(row) }`; without `cell` it shows `row[name]`. */
export function Table({ caption, columns, rows, rowKey }) {
  return html`<div class="table-scroll" tabindex="0" role="region" aria-label=${caption}><table>
    <caption class="visually-hidden">${caption}</caption>
    <thead><tr>${columns.map((column) => html`
      <th scope="col" class=${column.align ?? ''}>${column.title}</th>`)}</tr></thead>
    <tbody>${rows.map((row, index) => html`<tr key=${rowKey ? rowKey(row) : index}>${columns.map((column) => html`
      <td class=${column.align ?? ''}>${column.cell ? column.cell(row) : row[column.name]}</td>`)}</tr>`)}</tbody>
  </table></div>`;
}

/** A figure with its label. */
export function Figure({ label, value, hint }) {
  return html`<div class="figure"><span class="label">${label}</span>
    <span class="value">${typeof value === 'number' ? formatNumber(value) : value}</span>
    ${hint && html`<span class="hint">${hint}</span>`}</div>`;
}

/** A horizontal bar of a share from 0 to 1, with its value as text. */
export function Bar({ label, share, value, tone = '' }) {
  const width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return html`<div class="bar"><span class="bar-label">${label}</span>
    <span class="bar-track" aria-hidden="true"><span class="bar-fill ${tone}" style=${{ width }}></span></span>
    <span class="bar-value">${value}</span></div>`;
}

/** Tabs that choose one of several panels. `tabs` is a list of `{ id, title }`. */
export function Tabs({ tabs, selected, onSelect, label }) {
  const id = useId();
  const move = (event, index) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = (index + step + tabs.length) % tabs.length;
    onSelect(tabs[next].id);
    document.getElementById(`${id}-${tabs[next].id}`)?.focus();
  };
  return html`<div class="tabs" role="tablist" aria-label=${label}>${tabs.map((tab, index) => html`
    <button type="button" role="tab" id="${id}-${tab.id}" aria-selected=${tab.id === selected}
      tabindex=${tab.id === selected ? 0 : -1} onKeyDown=${(event) => move(event, index)}
      onClick=${() => onSelect(tab.id)}>${tab.title}</button>`)}</div>`;
}
