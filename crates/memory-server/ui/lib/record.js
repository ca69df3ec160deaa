// The labels and the actions that every record has.

import { html, useState } from './ui.js';
import { useTexts } from './texts.js';
import { formatTime } from './format.js';
import { post } from './api.js';
import { routeTo } from './route.js';
import { ownerOf } from './owner.js';
import { Badge, Field, MemoryText } from './components.js';
import { DeleteDialog } from './delete_dialog.js';
import { kindName, stateName } from './names.js';
import { ConfirmDialog } from './dialog.js';

const texts = {
  en: {
    pinned: 'pinned', expires: 'expires {time}',
    importance: 'importance {value}', ended: 'valid until {time}', pin: 'Pin', unpin: 'Unpin',
    restore: 'Restore in “Undo”', delete: 'Delete for good', deleteTitle: 'Delete this for good?',
    settings: 'Importance and expiry', retract: 'Retract', edit: 'Edit', editText: 'New text',
    editHint: 'The former text stays in the history. What was derived from it is derived again.',
    retractTitle: 'Retract this memory?',
    retractText: 'It stays stored, but no longer counts, nor does what was derived from it. '
      + 'You can restore it in “Undo”.', reason: 'Reason', save: 'Save', importanceField: 'Importance, 0 to 1',
    expiryField: 'Expires at (empty: never)', why: 'Why in search?', copyId: 'Copy id', copied: 'Copied',
  },
  zh: {
    pinned: '已置顶', expires: '{time} 到期', importance: '重要性 {value}', ended: '有效期至 {time}', pin: '置顶',
    restore: '在“撤销”中恢复', delete: '永久删除', deleteTitle: '永久删除这条？', unpin: '取消置顶', settings: '重要性与到期时间', edit: '修改',
    editText: '新的文字', editHint: '原来的文字保留在历史中，由它派生的内容会重新生成。',
    retract: '撤回', retractTitle: '撤回这条记忆？', retractText: '它仍会保存，但它及其派生的内容将不再生效。您可以在“撤销”中恢复。', reason: '原因',
    save: '保存', importanceField: '重要性（0 到 1）', expiryField: '到期时间（留空表示永不到期）', why: '检索原因', copyId: '复制 ID',
    copied: '已复制',
  },
};

/** States in which a record no longer counts. A retracted record is `revoked`. */
const STRUCK = new Set(['superseded', 'revoked', 'deleted']);
const STATE_TONES = { pending: 'warn', superseded: 'neutral', revoked: 'bad', deleted: 'bad' };
/** Kinds whose text a person can change here. A fact has this action with its others. */
const EDITED_KINDS = new Set(['turn', 'note']);
const DEFAULT_IMPORTANCE = 0.5;

/** Returns true if a record no longer counts. */
export function isStruck(record) {
  return STRUCK.has(record.state);
}

/**
 * The labels of a record: kind, state, pin, importance, expiry, end of its validity. A kind that is `usualKind` is not
 * shown.
 */
export function RecordBadges({ record, usualKind }) {
  const t = useTexts(texts);
  const tone = STATE_TONES[record.state];
  return html`<span class="badges">
    ${record.kind !== usualKind && html`<${Badge} tone="info">${kindName(record.kind)}<//>`}
    ${tone && html`<${Badge} tone=${tone}>${stateName(record.state)}<//>`}
    ${record.pinned && html`<${Badge} tone="good">${t('pinned')}<//>`}
    ${(record.importance ?? DEFAULT_IMPORTANCE) !== DEFAULT_IMPORTANCE
      && html`<${Badge}>${t('importance', { value: record.importance })}<//>`}
    ${record.expires_at && html`<${Badge} tone="warn">${t('expires', { time: formatTime(record.expires_at) })}<//>`}
    ${record.valid_until && html`<${Badge}>${t('ended', { time: formatTime(record.valid_until) })}<//>`}
  </span>`;
}

/**
 * The actions of a record: pin, importance and expiry, edit, retract, delete, and the search that explains it.
 * `onDeleted` is called in place of `onChanged` after a deletion.
 */
export function RecordActions({ record, owner, onChanged, onDeleted = onChanged }) {
  const t = useTexts(texts);
  const [dialog, setDialog] = useState(null);
  const [error, setError] = useState(null);
  const [copied, setCopied] = useState(false);
  const names = ownerOf(owner);
  const patch = async (change) => {
    await post('/api/records/patch', { ...names, ids: [record.id], ...change });
    setDialog(null);
    onChanged?.();
  };
  const deleted = () => {
    setDialog(null);
    onDeleted?.();
  };
  const togglePin = () => patch({ pinned: !record.pinned }).catch(setError);
  const retract = async (reason) => {
    await post('/api/records/retract', { ...names, ids: [record.id], reason });
    setDialog(null);
    onChanged?.();
  };
  const edit = async (text) => {
    const answer = await post('/api/records/edit', { ...names, id: record.id, text });
    setDialog(null);
    onChanged?.(answer.id);
  };
  const copy = () => navigator.clipboard.writeText(record.id).then(() => setCopied(true), setError);
  return html`<div class="record-actions">
    <button type="button" class="link" onClick=${togglePin}>${t(record.pinned ? 'unpin' : 'pin')}</button>
    <button type="button" class="link" onClick=${() => setDialog('settings')}>${t('settings')}</button>
    ${record.state === 'active' && EDITED_KINDS.has(record.kind) && html`<button type="button" class="link"
      onClick=${() => setDialog('edit')}>${t('edit')}</button>`}
    ${record.state === 'active' && html`<button type="button" class="link"
      onClick=${() => setDialog('retract')}>${t('retract')}</button>`}
    ${record.state === 'revoked' && html`<a href=${routeTo('undo', { user_id: names.user_id })}>${t('restore')}</a>`}
    <button type="button" class="link" onClick=${() => setDialog('delete')}>${t('delete')}</button>
    <a href=${routeTo('search', { user_id: names.user_id, why: record.id })}>${t('why')}</a>
    <button type="button" class="link" onClick=${copy}>${t(copied ? 'copied' : 'copyId')}</button>
    ${error && html`<span role="alert" class="error-text">${error.message}</span>`}
    ${dialog === 'edit' && html`<${EditDialog} record=${record} onSave=${edit} onClose=${() => setDialog(null)} />`}
    ${dialog === 'settings' && html`<${SettingsDialog} record=${record} onSave=${patch}
      onClose=${() => setDialog(null)} />`}
    ${dialog === 'delete' && html`<${DeleteDialog} title=${t('deleteTitle')} body=${{ ...names, ids: [record.id] }}
      onDeleted=${deleted} onClose=${() => setDialog(null)}>
      <blockquote class="quoted"><${MemoryText} text=${record.text} /></blockquote><//>`}
    ${dialog === 'retract' && html`<${RetractDialog} onRetract=${retract} onClose=${() => setDialog(null)} />`}
  </div>`;
}

/** A dialog for another text. */
function EditDialog({ record, onSave, onClose }) {
  const t = useTexts(texts);
  const [text, setText] = useState(record.text);
  return html`<${ConfirmDialog} title=${t('edit')} action=${t('save')} onConfirm=${() => onSave(text)}
    onClose=${onClose}>
    <${Field} label=${t('editText')}><textarea rows="4" required dir="auto" value=${text}
      onInput=${(event) => setText(event.target.value)}></textarea><//>
    <p class="hint">${t('editHint')}</p><//>`;
}

function SettingsDialog({ record, onSave, onClose }) {
  const t = useTexts(texts);
  const [importance, setImportance] = useState(String(record.importance));
  const [expiry, setExpiry] = useState(record.expires_at ? toLocalInput(record.expires_at) : '');
  const save = () => onSave({
    importance: Number(importance),
    expires_at: expiry ? new Date(expiry).toISOString() : 'never',
  });
  return html`<${ConfirmDialog} title=${t('settings')} action=${t('save')} onConfirm=${save} onClose=${onClose}>
    <${Field} label=${t('importanceField')}><input type="number" min="0" max="1" step="any" required value=${importance}
      onInput=${(event) => setImportance(event.target.value)} /><//>
    <${Field} label=${t('expiryField')}><input type="datetime-local" value=${expiry}
      onInput=${(event) => setExpiry(event.target.value)} /><//>
  <//>`;
}

/** A dialog that asks for the reason of a retraction. */
export function RetractDialog({ onRetract, onClose }) {
  const t = useTexts(texts);
  const [reason, setReason] = useState('');
  return html`<${ConfirmDialog} title=${t('retractTitle')} action=${t('retract')} danger
    onConfirm=${() => onRetract(reason)} onClose=${onClose}>
    <p>${t('retractText')}</p>
    <${Field} label=${t('reason')}><input value=${reason} maxlength="500"
      onInput=${(event) => setReason(event.target.value)} /><//>
  <//>`;
}

/** Returns a time as the value of a `datetime-local` input, in the time zone of the browser. */
function toLocalInput(time) {
  const date = new Date(time);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}
