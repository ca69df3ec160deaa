// A sentence about a person: where it comes from, and how to correct, retract or delete it.

import { html, useState } from './ui.js';
import { useTexts } from './texts.js';
import { post, useGet } from './api.js';
import { formatDate, formatNumber, formatTime } from './format.js';
import { Badge, Field, Loaded, MemoryName, MemoryText } from './components.js';
import { ConfirmDialog } from './dialog.js';
import { DeleteDialog } from './delete_dialog.js';
import { Quoted } from './fact_detail.js';
import { attributeName } from './fact_names.js';
import { conversationOf, pageOf } from './evidence.js';
import { RecordActions } from './record.js';

const texts = {
  en: {
    core: 'in every prompt', noRoom: 'no room in the prompt', contradicted: 'contradicted', until: 'until {date}',
    wrong: 'Wrong?', forget: 'Forget this', wrongTitle: 'What is wrong?', correct: 'Correct the sentence',
    untrue: 'It is not true: retract it', sentence: 'The right sentence',
    correctHint: 'The new sentence takes its place. The old one stays in the history, and no longer counts.',
    untrueHint: 'It stays stored, but no longer counts. You can restore it in “Undo”.', save: 'Save',
    retract: 'Retract', reason: 'Reason (optional)', forgetTitle: 'Delete this for good?',
    source: 'Where this comes from', noSource: 'It was written by hand or by a tool on {time}.',
    gone: 'The message is no longer stored.', open: 'Open the conversation', conflicts: 'It contradicts:',
    details: 'Details', attribute: 'Attribute', confidence: 'Confidence', rule: 'Found by', model: 'a model',
    hand: 'a person or an import', all: 'Its own page, with its history', since: 'Known since {date}',
  },
  zh: {
    core: '每次提示都有', noRoom: '提示中放不下', contradicted: '有矛盾', until: '至 {date}', wrong: '不对？', forget: '忘掉这条',
    wrongTitle: '哪里不对？', correct: '改正这句话', untrue: '不是真的：撤回', sentence: '正确的说法',
    correctHint: '新的句子会取代它。原来的句子保留在历史中，不再生效。', untrueHint: '它仍会保存，但不再生效。可在“撤销”中恢复。', save: '保存', retract: '撤回',
    reason: '原因（可选）', forgetTitle: '永久删除这条？', source: '来源', noSource: '由人工或工具于 {time} 写入。', gone: '该消息已不再保存。',
    open: '打开对话', conflicts: '与之矛盾：', details: '详细信息', attribute: '属性', confidence: '置信度', rule: '提取方式',
    model: '模型', hand: '人工或导入', all: '打开详情页（含历史）', since: '自 {date} 起已知',
  },
};

const MAX_CHARACTERS = 300;

/** `memory` is a fact, or a record with the same fields. `onChanged(done)` is called with `corrected`, … */
export function Sentence({ memory, owner, onChanged }) {
  const t = useTexts(texts);
  const [isOpen, setOpen] = useState(false);
  const [dialog, setDialog] = useState(null);
  const close = () => setDialog(null);
  const done = (name, answer) => {
    close();
    onChanged(name, answer);
  };
  const names = { user_id: memory.user_id ?? owner.user_id };
  const characters = Array.from(memory.text);
  const text = characters.length > MAX_CHARACTERS ? `${characters.slice(0, MAX_CHARACTERS).join('')}…` : memory.text;
  return html`<li class="sentence" data-id=${memory.id}>
    <div class="sentence-line"><div class="sentence-words">
      <button type="button" class="sentence-text" aria-expanded=${isOpen}
        onClick=${() => setOpen(!isOpen)}><bdi dir="auto">${text}</bdi></button>
      <span class="badges">
        ${memory.isCore && html`<${Badge} tone="info">${t('core')}<//>`}
        ${memory.hasNoRoom && html`<${Badge}>${t('noRoom')}<//>`}
        ${memory.contradictions > 0 && html`<${Badge} tone="bad">${t('contradicted')}<//>`}
        ${memory.valid_until && html`<${Badge}>${t('until', { date: formatDate(memory.valid_until) })}<//>`}</span>
      </div>
      <span class="sentence-actions">
        <button type="button" class="link" onClick=${() => setDialog('wrong')}>${t('wrong')}</button>
        <button type="button" class="link" onClick=${() => setDialog('forget')}>${t('forget')}</button></span></div>
    ${isOpen && html`<${Origin} memory=${memory} owner=${names} onChanged=${() => onChanged(null)} />`}
    ${dialog === 'wrong' && html`<${WrongDialog} memory=${memory} owner=${names} onDone=${done} onClose=${close} />`}
    ${dialog === 'forget' && html`<${DeleteDialog} title=${t('forgetTitle')} body=${{ ...names, ids: [memory.id] }}
      onDeleted=${(answer) => done('deleted', answer)} onClose=${close}>
      <blockquote class="quoted"><${MemoryText} text=${memory.text} /></blockquote><//>`}
  </li>`;
}

/** Asks what is wrong. A correction is a whole sentence, because that is what a model reads. */
function WrongDialog({ memory, owner, onDone, onClose }) {
  const t = useTexts(texts);
  const [mode, setMode] = useState('correct');
  const [text, setText] = useState(memory.text);
  const [reason, setReason] = useState('');
  const save = async () => {
    if (mode === 'correct') onDone('corrected', await post('/api/records/edit', { ...owner, id: memory.id, text }));
    else onDone('retracted', await post('/api/records/retract', { ...owner, ids: [memory.id], reason }));
  };
  const choice = (name) => html`<label class="check"><input type="radio" name="wrong" checked=${mode === name}
    onChange=${() => setMode(name)} />${t(name)}</label>`;
  return html`<${ConfirmDialog} title=${t('wrongTitle')} action=${t(mode === 'correct' ? 'save' : 'retract')}
      danger=${mode === 'untrue'} onConfirm=${save} onClose=${onClose}>
    <blockquote class="quoted"><${MemoryText} text=${memory.text} /></blockquote>
    <fieldset class="choices"><legend class="visually-hidden">${t('wrongTitle')}</legend>
      ${choice('correct')}${choice('untrue')}</fieldset>
    ${mode === 'correct'
      ? html`<${Field} label=${t('sentence')}><textarea rows="2" required dir="auto" value=${text}
          onInput=${(event) => setText(event.target.value)}></textarea><//>`
      : html`<${Field} label=${t('reason')}><input value=${reason} maxlength="500"
          onInput=${(event) => setReason(event.target.value)} /><//>`}
    <p class="hint">${t(`${mode}Hint`)}</p><//>`;
}

/** The messages that state a fact, what contradicts it, and the terms of the engine behind "Details". */
function Origin({ memory, owner, onChanged }) {
  const t = useTexts(texts);
  const path = memory.attribute ? `/api/inspector/facts/${encodeURIComponent(memory.id)}` : null;
  const read = useGet(path, owner);
  const written = memory.occurred_at && html`<p class="hint">${t('noSource', {
    time: formatTime(memory.occurred_at) })}</p>`;
  const changed = () => {
    if (path) read.reload();
    onChanged();
  };
  return html`<div class="origin">
    ${path === null && written}
    ${path !== null && html`<${Loaded} read=${read}>${(detail) => html`
      <h3>${t('source')}</h3>
      ${detail.sources.length === 0 && written}
      ${detail.sources.map((source) => html`<${Source} key=${source.id} source=${source} owner=${owner} />`)}
      ${detail.contradictions.length > 0 && html`<h3>${t('conflicts')}</h3>
        <ul class="plain">${detail.contradictions.map((fact) => html`<li key=${fact.id}>
          <a href=${pageOf(fact, owner)}><bdi dir="auto">${fact.text}</bdi></a></li>`)}</ul>`}
      <p class="hint">${t('since', { date: formatDate(detail.fact.valid_from) })}</p>`}<//>`}
    <details><summary>${t('details')}</summary>
      ${memory.attribute && html`<dl class="pairs">
        <div><dt>${t('attribute')}</dt><dd><bdi>${attributeName(memory.attribute)}</bdi></dd></div>
        <div><dt>${t('confidence')}</dt><dd>${formatNumber(memory.confidence, 2)}</dd></div>
        <div><dt>${t('rule')}</dt><dd><bdi>${memory.rule === 'model' ? t('model') : memory.rule ?? t('hand')}</bdi></dd>
        </div></dl>
        <a href=${pageOf(memory, owner)}>${t('all')}</a>`}
      <${RecordActions} record=${{ importance: 0.5, ...memory, pinned: memory.is_pinned }} owner=${owner}
        onChanged=${changed} onDeleted=${onChanged} /></details>
  </div>`;
}

/** A message, with the words that state the fact marked. */
function Source({ source, owner }) {
  const t = useTexts(texts);
  const { record, quote } = source;
  if (!record) return html`<p class="hint">${t('gone')}</p>`;
  return html`<blockquote class="quoted"><p class="hint">${formatTime(record.occurred_at)}
      ${record.speaker && html` · <${MemoryName} name=${record.speaker} />`}
      ${' · '}<a href=${conversationOf(record, owner)}>${t('open')}</a></p>
    <${Quoted} text=${record.text} quote=${quote} /></blockquote>`;
}
