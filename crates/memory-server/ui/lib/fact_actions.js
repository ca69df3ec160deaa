// The actions of a fact: accept, reject, edit, retire, pin, importance and expiry.

import { html, useState } from './ui.js';
import { useTexts } from './texts.js';
import { post, withParams } from './api.js';
import { Field, Notice } from './components.js';
import { ConfirmDialog } from './dialog.js';
import { routeTo } from './route.js';
import { RecordActions } from './record.js';

const texts = {
  en: {
    accept: 'Accept', reject: 'Reject', edit: 'Edit', editPending: 'Accept with changes', retire: 'Retract',
    save: 'Save', editTitle: 'Edit this fact', editText: 'New sentence',
    editHint: 'The old fact stays in the history. What was derived from it is derived again.',
    reason: 'Reason', rejectTitle: 'Reject this fact?',
    rejectText: 'It never counts, and the same message does not give it again. You can restore it in “Undo”.',
    retireTitle: 'Retract this fact?',
    retireText: 'It stays stored, but no longer counts, and what was derived from it neither. You can restore it in '
      + '“Undo”.',
    blocked: 'A text like this one was forgotten and stays away. Accept it with changes.',
    accepted: 'The fact counts from now on.', retired: 'The fact no longer counts.', undo: 'Undo',
  },
  zh: {
    accept: '接受', reject: '拒绝', edit: '修改', editPending: '修改后接受', retire: '撤回', save: '保存', editTitle: '修改此事实',
    editText: '新的句子', editHint: '原事实保留在历史中，由它派生的内容会重新生成。', reason: '原因', rejectTitle: '拒绝此事实？',
    rejectText: '它不会生效，同一条消息也不会再次产生它。可在“撤销”中恢复。', retireTitle: '撤回此事实？', retireText: '它仍会保存，但它及由它派生的内容将不再生效。可在“撤销”中恢复。',
    blocked: '类似的文本曾被遗忘，不会恢复。请修改后再接受。', accepted: '该事实从现在起生效。', retired: '该事实已不再生效。', undo: '撤销',
  },
};

/** The buttons of a fact. `onChanged(id)` is called after a change, with the id of the fact that then counts. */
export function FactActions({ fact, owner, onChanged }) {
  const t = useTexts(texts);
  const [dialog, setDialog] = useState(null);
  const [result, setResult] = useState(null);
  const [busy, setBusy] = useState(false);
  const names = { user_id: fact.user_id ?? owner.user_id };
  const done = (message, id) => {
    setDialog(null);
    setResult(message);
    onChanged(id);
  };
  const accept = async () => {
    setBusy(true);
    try {
      const answer = await post(withParams('/api/review/accept', names), { ids: [fact.id] });
      if (answer.blocked.length > 0) setResult({ tone: 'warn', text: t('blocked') });
      else done({ tone: 'success', text: t('accepted') }, fact.id);
    } catch (error) {
      setResult({ tone: 'error', text: error.message });
    }
    setBusy(false);
  };
  const reject = async (reason) => {
    await post(withParams('/api/review/reject', names), { ids: [fact.id], reason });
    done({ tone: 'success', text: t('retired'), undo: true }, fact.id);
  };
  const retire = async (reason) => {
    await post('/api/records/retract', { ...names, ids: [fact.id], reason });
    done({ tone: 'success', text: t('retired'), undo: true }, fact.id);
  };
  const edit = async (text) => {
    const answer = fact.state === 'pending'
      ? await post(withParams('/api/review/edit', names), { id: fact.id, text })
      : await post('/api/records/edit', { ...names, id: fact.id, text });
    done(null, answer.id);
  };
  const isOpen = fact.state === 'current' || fact.state === 'pending';
  const close = () => setDialog(null);
  return html`<div class="fact-actions">
    ${result && html`<${Notice} tone=${result.tone}>${result.text}
      ${result.undo && html` <a href=${routeTo('undo', names)}>${t('undo')}</a>`}<//>`}
    ${isOpen && html`<div class="fact-buttons">
      ${fact.state === 'pending' && html`
        <button type="button" class="primary" disabled=${busy} onClick=${accept}>${t('accept')}</button>
        <button type="button" onClick=${() => setDialog('edit')}>${t('editPending')}</button>
        <button type="button" class="danger" onClick=${() => setDialog('reject')}>${t('reject')}</button>`}
      ${fact.state === 'current' && html`
        <button type="button" onClick=${() => setDialog('edit')}>${t('edit')}</button>
        <button type="button" class="danger" onClick=${() => setDialog('retire')}>${t('retire')}</button>`}
    </div>`}
    <${RecordActions} record=${{ ...fact, pinned: fact.is_pinned }} owner=${names}
      onChanged=${() => onChanged(fact.id)} onDeleted=${() => onChanged(null)} />
    ${dialog === 'edit' && html`<${EditDialog} fact=${fact} onSave=${edit} onClose=${close} />`}
    ${dialog === 'reject' && html`<${ReasonDialog} name="reject" onConfirm=${reject} onClose=${close} />`}
    ${dialog === 'retire' && html`<${ReasonDialog} name="retire" onConfirm=${retire} onClose=${close} />`}
  </div>`;
}

function EditDialog({ fact, onSave, onClose }) {
  const t = useTexts(texts);
  // The whole sentence: it is what a model reads.
  const [text, setText] = useState(fact.text);
  return html`<${ConfirmDialog} title=${t('editTitle')} action=${t('save')} onConfirm=${() => onSave(text)}
    onClose=${onClose}>
    <${Field} label=${t('editText')}><textarea rows="3" required dir="auto" value=${text}
      onInput=${(event) => setText(event.target.value)}></textarea><//>
    <p class="hint">${t('editHint')}</p><//>`;
}

/** Asks for the reason of a rejection or a retirement. */
function ReasonDialog({ name, onConfirm, onClose }) {
  const t = useTexts(texts);
  const [reason, setReason] = useState('');
  return html`<${ConfirmDialog} title=${t(`${name}Title`)} action=${t(name)} danger onConfirm=${() => onConfirm(reason)}
    onClose=${onClose}>
    <p>${t(`${name}Text`)}</p>
    <${Field} label=${t('reason')}><input value=${reason} maxlength="500"
      onInput=${(event) => setReason(event.target.value)} /><//><//>`;
}
