// Many records at once: what is selected in a list, and what can be done with it.

import { html, useState } from './ui.js';
import { useTexts } from './texts.js';
import { post } from './api.js';
import { formatNumber } from './format.js';
import { Notice } from './components.js';
import { DeleteDialog } from './delete_dialog.js';
import { download } from './download.js';

const texts = {
  en: {
    all: 'Select all that are loaded', none: 'Select none', selected: ['1 selected', '{n} selected'], pin: 'Pin',
    unpin: 'Unpin', export: 'Export', delete: 'Delete for good', deleteTitle: 'Delete the selection for good?',
    limit: 'At most 500 can be selected.', pinned: ['1 memory was pinned.', '{n} memories were pinned.'],
    unpinned: ['1 memory is no longer pinned.', '{n} memories are no longer pinned.'],
    deleted: ['1 record was deleted for good.', '{n} records were deleted for good.'],
    traces: 'Traces remain. Delete the same records again in “Deletion”, which lists the places.',
  },
  zh: {
    all: '选择已加载的全部', none: '取消选择', selected: '已选 {n} 条', pin: '置顶', unpin: '取消置顶', export: '导出', delete: '永久删除',
    deleteTitle: '永久删除所选记忆？', limit: '最多可选 500 条。', pinned: '已置顶 {n} 条记忆。', unpinned: '已取消置顶 {n} 条记忆。',
    deleted: '已永久删除 {n} 条记录。', traces: '仍有残留。请在“删除”中再次删除相同的记录，那里会列出位置。',
  },
};

/** Maximum number of records in one request of the server. */
const MAX_SELECTED = 500;

const counted = (count) => ({ count, n: formatNumber(count) });

/** The selected records of a list. One that has left the list is no longer selected. */
export function useSelection(entries) {
  const [ids, setIds] = useState(new Set());
  const records = entries.filter((entry) => ids.has(entry.id));
  const toggle = (id) => {
    const next = new Set(records.map((record) => record.id));
    if (!next.delete(id) && next.size < MAX_SELECTED) next.add(id);
    setIds(next);
  };
  return {
    records, toggle, has: (id) => ids.has(id), clear: () => setIds(new Set()),
    all: () => setIds(new Set(entries.slice(0, MAX_SELECTED).map((entry) => entry.id))),
  };
}

/** The number of selected records, and the actions on them. */
export function SelectionBar({ selection, owner, readOnly, onChanged }) {
  const t = useTexts(texts);
  const [message, setMessage] = useState(null);
  const [isAsking, setAsking] = useState(false);
  const { records } = selection;
  const ids = records.map((record) => record.id);
  const names = { user_id: owner.user_id };
  const pin = async (pinned) => {
    try {
      const { changed } = await post('/api/records/patch', { ...names, ids, pinned });
      setMessage({ tone: 'success', text: t(pinned ? 'pinned' : 'unpinned', counted(changed)) });
      onChanged();
    } catch (error) {
      setMessage({ tone: 'error', text: error.message });
    }
  };
  const deleted = (answer) => {
    setAsking(false);
    const text = t('deleted', counted(answer.forgotten));
    const isClean = answer.clean !== false;
    setMessage({ tone: isClean ? 'success' : 'warn', text: isClean ? text : `${text} ${t('traces')}` });
    selection.clear();
    onChanged();
  };
  const button = (name, action) => html`<button type="button" onClick=${action}>${t(name)}</button>`;
  return html`<div class="selection ${ids.length > 0 ? 'active' : ''}" role="group" aria-label=${t('selected',
      counted(ids.length))}>
    ${ids.length > 0 && html`<span role="status">${t('selected', counted(ids.length))}</span>
      ${!readOnly && html`${button('pin', () => pin(true))}${button('unpin', () => pin(false))}`}
      ${button('export', () => download('memories.jsonl', 'application/jsonl', linesOf(records)))}
      ${!readOnly && html`<button type="button" class="danger"
        onClick=${() => setAsking(true)}>${t('delete')}</button>`}
      <button type="button" class="quiet" onClick=${selection.clear}>${t('none')}</button>`}
    ${ids.length === 0 && html`<button type="button" class="quiet" onClick=${selection.all}>${t('all')}</button>`}
    ${ids.length === MAX_SELECTED && html`<span class="hint">${t('limit')}</span>`}</div>
    ${message && html`<${Notice} tone=${message.tone}>${message.text}<//>`}
    ${isAsking && html`<${DeleteDialog} title=${t('deleteTitle')} body=${{ ...names, ids }} onDeleted=${deleted}
      onClose=${() => setAsking(false)} />`}`;
}

/** Returns records as JSON Lines with all that the page has of them. */
function linesOf(records) {
  return records.map(({ derived, ...record }) => `${JSON.stringify(record)}\n`).join('');
}
