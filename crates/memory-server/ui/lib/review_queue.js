// The memories that wait for a review: accept, edit and reject them, and undo a rejection.

import { html, useState } from './ui.js';
import { useTexts } from './texts.js';
import { post, useGet, withParams } from './api.js';
import { routeTo } from './route.js';
import { kindName } from './names.js';
import { formatNumber, formatTime } from './format.js';
import { Badge, Empty, Field, Loaded, MemoryName, MemoryText, Notice, Panel } from './components.js';
import { ConfirmDialog } from './dialog.js';

const texts = {
  en: {
    none: 'Nothing waits for a review',
    noneText: 'New memories wait here if the configuration says so, for example review = "facts=review" in '
      + 'memory.toml. They count once you accept them.',
    noneOfSource: 'Nothing from this source waits for a review', total: ['{n} memory waits', '{n} memories wait'],
    source: 'Source', all: 'All sources', rule_facts: 'facts by rules', model_facts: 'facts by a model',
    summaries: 'summaries', profiles: 'profiles', imports: 'imports', tools: 'statements of tools',
    rule: 'rule {name}', evidence: 'Derived from', accept: 'Accept', edit: 'Edit', reject: 'Reject',
    acceptSelected: 'Accept selected', rejectSelected: 'Reject selected', select: 'Select',
    selectAll: 'Select all on this page', editTitle: 'Accept with another text', newText: 'New text',
    editHint: 'For a fact: its value, or a sentence that states it.', acceptEdited: 'Accept this text',
    rejectTitle: ['Reject this memory?', 'Reject {n} memories?'],
    rejectText: 'It will not count. You can restore it under “Retractions”.', reason: 'Reason (optional)',
    accepted: ['{n} memory was accepted.', '{n} memories were accepted.'],
    edited: 'The memory was accepted with the new text.',
    skipped: ['{n} did not wait any more.', '{n} did not wait any more.'],
    blocked: [
      '{n} still waits, because the same text was forgotten before.',
      '{n} still wait, because the same texts were forgotten before.',
    ],
    rejected: ['{n} memory was rejected.', '{n} memories were rejected.'], undo: 'Undo the rejection',
    waits: ['{n} waits for your review', '{n} wait for your review'], allWaiting: 'Review all {n}',
    undone: ['{n} memory waits for a review again.', '{n} memories wait for a review again.'], next: 'Next page',
    first: 'First page',
  },
  zh: {
    waits: '{n} 条等待您审核', allWaiting: '审核全部 {n} 条', none: '没有待审核的记忆',
    noneText: '如果配置要求审核（例如 memory.toml 中的 review = "facts=review"），新的记忆会先列在这里，接受之后才会生效。',
    noneOfSource: '此来源没有待审核的记忆', total: '{n} 条记忆待审核', source: '来源', all: '全部来源', rule_facts: '规则提取的事实',
    model_facts: '模型提取的事实', summaries: '摘要', profiles: '画像', imports: '导入', tools: '工具的陈述', rule: '规则 {name}',
    evidence: '来源于', accept: '接受', edit: '修改', reject: '拒绝', acceptSelected: '接受所选', rejectSelected: '拒绝所选',
    select: '选择', selectAll: '选择本页全部', editTitle: '修改文本后接受', newText: '新文本', editHint: '对于事实：填写其值，或一句陈述该事实的话。',
    acceptEdited: '接受此文本', rejectTitle: '拒绝 {n} 条记忆？', rejectText: '它将不会生效。您可以在“撤回”中恢复。', reason: '原因（可选）',
    accepted: '已接受 {n} 条记忆。', edited: '已按新文本接受这条记忆。', skipped: '{n} 条已不在待审核状态。', blocked: '{n} 条仍在等待，因为相同的文本此前已被遗忘。',
    rejected: '已拒绝 {n} 条记忆。', undo: '撤销拒绝', undone: '{n} 条记忆重新进入待审核状态。', next: '下一页', first: '第一页',
  },
};

const SOURCES = ['rule_facts', 'model_facts', 'summaries', 'profiles', 'imports', 'tools'];
const PAGE_MEMORIES = 50;
const SHORT_MEMORIES = 3;

const counted = (count) => ({ count, n: formatNumber(count) });

/**
 * The memories within the owner's memory that wait for a review, oldest first. With `isShort` it shows the first of
 * them without choices, and nothing if none waits. `onChanged` is called after a decision.
 */
export function ReviewQueue({ owner, isShort = false, onChanged }) {
  const t = useTexts(texts);
  const [source, setSource] = useState('');
  const [after, setAfter] = useState('');
  const [selected, setSelected] = useState(new Set());
  const [dialog, setDialog] = useState(null);
  const [message, setMessage] = useState(null);
  const read = useGet('/api/review', { ...owner, source, after, limit: isShort ? SHORT_MEMORIES : PAGE_MEMORIES });
  const path = (verb) => withParams(`/api/review/${verb}`, owner);
  const finish = (next) => {
    setDialog(null);
    setSelected(new Set());
    setMessage(next);
    read.reload();
    onChanged?.();
  };
  const fail = (error) => setMessage({ tone: 'error', text: error.message });
  const accept = (ids) => post(path('accept'), { ids }).then((done) => finish(acceptedMessage(done, t)), fail);
  const reject = async (ids, reason) => {
    const { rejected, retraction } = await post(path('reject'), { ids, reason });
    finish({ tone: 'success', text: t('rejected', counted(rejected.length)), retraction });
  };
  const edit = async (id, text) => {
    await post(path('edit'), { id, text });
    finish({ tone: 'success', text: t('edited') });
  };
  const undo = () => post('/api/records/restore', { ...owner, retraction: message.retraction }).then(
    ({ restored }) => finish({ tone: 'success', text: t('undone', counted(restored)) }), fail);
  const chooseSource = (event) => {
    setSource(event.target.value);
    setAfter('');
    setSelected(new Set());
  };
  const toggle = (ids, on) => {
    const others = [...selected].filter((id) => !ids.includes(id));
    setSelected(new Set(on ? [...others, ...ids] : others));
  };
  const chosen = [...selected];
  const notice = message && html`<${Notice} tone=${message.tone}>${message.text}
      ${message.retraction && html`${' '}<button type="button" class="link"
        onClick=${undo}>${t('undo')}</button>`}<//>`;
  const card = (memory) => html`<${PendingCard} key=${memory.id} memory=${memory} isShort=${isShort}
    selected=${selected.has(memory.id)} onSelect=${(on) => toggle([memory.id], on)}
    onAccept=${() => accept([memory.id])} onEdit=${() => setDialog({ edit: memory })}
    onReject=${() => setDialog({ reject: [memory.id] })} />`;
  const dialogs = html`${dialog?.edit && html`<${EditDialog} memory=${dialog.edit} onEdit=${edit}
      onClose=${() => setDialog(null)} />`}
    ${dialog?.reject && html`<${RejectDialog} ids=${dialog.reject} onReject=${reject}
      onClose=${() => setDialog(null)} />`}`;
  if (isShort) {
    const { pending = [], total = 0 } = read.data ?? {};
    return html`${notice}
      ${total > 0 && html`<${Panel} title=${t('waits', counted(total))} className="waiting">
        ${pending.map(card)}
        ${total > pending.length && html`<p><a href=${routeTo('undo', { ...owner, tab: 'review' })}>
          ${t('allWaiting', counted(total))}</a></p>`}<//>`}
      ${dialogs}`;
  }
  return html`${notice}
    <${Panel}><div class="fields review-filter">
      <${Field} label=${t('source')}><select value=${source} onChange=${chooseSource}>
        <option value="">${t('all')}</option>
        ${SOURCES.map((name) => html`<option value=${name}>${t(name)}</option>`)}</select><//>
      <div class="actions"><button type="button" disabled=${chosen.length === 0}
          onClick=${() => accept(chosen)}>${t('acceptSelected')}</button>
        <button type="button" disabled=${chosen.length === 0}
          onClick=${() => setDialog({ reject: chosen })}>${t('rejectSelected')}</button></div></div>
    <${Loaded} read=${read}>${({ pending, next, total }) => html`
      ${pending.length === 0 && html`<${Empty} title=${t(source ? 'noneOfSource' : 'none')}>${t('noneText')}<//>`}
      ${pending.length > 0 && html`<div class="review-total"><label class="check"><input type="checkbox"
          checked=${pending.every((memory) => selected.has(memory.id))}
          onChange=${(event) => toggle(pending.map((memory) => memory.id), event.target.checked)} />
          ${t('selectAll')}</label>
        <span class="hint">${t('total', counted(total))}</span></div>`}
      ${pending.map(card)}
      ${(next || after) && html`<div class="form-actions">
        <button type="button" disabled=${!after} onClick=${() => setAfter('')}>${t('first')}</button>
        <button type="button" disabled=${!next} onClick=${() => setAfter(next)}>${t('next')}</button></div>`}
    `}<//><//>
    ${dialogs}`;
}

/** Says how many memories were accepted, and why others were not. */
function acceptedMessage({ accepted, skipped, blocked }, t) {
  const parts = [t('accepted', counted(accepted.length))];
  if (skipped.length > 0) parts.push(t('skipped', counted(skipped.length)));
  if (blocked.length > 0) parts.push(t('blocked', counted(blocked.length)));
  return { tone: blocked.length > 0 || accepted.length === 0 ? 'warn' : 'success', text: parts.join(' ') };
}

function PendingCard({ memory, isShort, selected, onSelect, onAccept, onEdit, onReject }) {
  const t = useTexts(texts);
  const source = SOURCES.includes(memory.source) ? t(memory.source) : memory.source;
  return html`<article class="record" data-id=${memory.id}>
    <header>${!isShort && html`<label class="check"><input type="checkbox" checked=${selected}
        onChange=${(event) => onSelect(event.target.checked)} />
        <span class="visually-hidden">${t('select')}</span></label>`}
      <time datetime=${memory.created_at}>${formatTime(memory.created_at)}</time>
      <span class="badges"><${Badge} tone="info">${kindName(memory.kind)}<//>
        ${source && html`<${Badge}>${source}<//>`}</span>
      ${memory.session_id && html`<${MemoryName} name=${memory.session_id} />`}
      ${memory.rule && !isShort && html`<span class="hint">${t('rule', { name: memory.rule })}</span>`}</header>
    <${MemoryText} text=${memory.text} />
    ${memory.evidence.length > 0 && html`<p class="hint">${t('evidence')}</p>
      ${memory.evidence.map((one) => html`<blockquote class="quoted" key=${one.id}>
        <${MemoryText} text=${one.text} /></blockquote>`)}`}
    <div class="record-actions">
      <button type="button" onClick=${onAccept}>${t('accept')}</button>
      <button type="button" onClick=${onEdit}>${t('edit')}</button>
      <button type="button" onClick=${onReject}>${t('reject')}</button></div>
  </article>`;
}

function EditDialog({ memory, onEdit, onClose }) {
  const t = useTexts(texts);
  const [text, setText] = useState(memory.text);
  return html`<${ConfirmDialog} title=${t('editTitle')} action=${t('acceptEdited')}
      onConfirm=${() => onEdit(memory.id, text)} onClose=${onClose}>
    <${Field} label=${t('newText')}><textarea rows="4" required dir="auto" value=${text}
      onInput=${(event) => setText(event.target.value)}></textarea><//>
    ${memory.kind === 'fact' && html`<p class="hint">${t('editHint')}</p>`}
  <//>`;
}

function RejectDialog({ ids, onReject, onClose }) {
  const t = useTexts(texts);
  const [reason, setReason] = useState('');
  return html`<${ConfirmDialog} title=${t('rejectTitle', counted(ids.length))} action=${t('reject')} danger
    onConfirm=${() => onReject(ids, reason)} onClose=${onClose}>
    <p>${t('rejectText')}</p>
    <${Field} label=${t('reason')}><input value=${reason} maxlength="500"
      onInput=${(event) => setReason(event.target.value)} /><//>
  <//>`;
}
