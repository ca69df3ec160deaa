// Adds a memory that a person writes.

import { html, useState } from './ui.js';
import { useTexts } from './texts.js';
import { post } from './api.js';
import { Field, Notice } from './components.js';
import { ConfirmDialog } from './dialog.js';

const texts = {
  en: {
    add: 'Add a memory', save: 'Add', text: 'What should be remembered?', pinned: 'Pin it: it is in every prompt',
    hint: 'A whole sentence, as a model reads it: “Anna is allergic to walnuts.” It is stored as a note of {user}.',
    added: 'The memory was added.', waiting: 'The memory waits for a review. It counts once it is accepted.',
    nothing: 'Nothing was stored: the text has no words of its own, or it was forgotten before.',
    off: 'This server does not take memories from this page (mem0.enabled).',
  },
  zh: {
    add: '添加记忆', save: '添加', text: '要记住什么？', pinned: '置顶：每次提示都有', hint: '请写完整的句子，模型会按原样读取：“安娜对核桃过敏。”它会存为 {user} 的备注。',
    added: '记忆已添加。', waiting: '此记忆正在等待审核，接受后生效。', nothing: '没有存储任何内容：文字中没有自己的话，或曾被遗忘。',
    off: '此服务器不接受从本页添加记忆（mem0.enabled）。',
  },
};

/** A button that opens the form. `onAdded` is called after the memory was stored. */
export function AddMemory({ owner, onAdded }) {
  const t = useTexts(texts);
  const [isOpen, setOpen] = useState(false);
  const [text, setText] = useState('');
  const [pinned, setPinned] = useState(false);
  const [done, setDone] = useState(null);
  const save = async () => {
    const stored = await store(owner, text, t);
    const isWaiting = Boolean(stored.message);
    if (pinned) await post('/api/records/patch', { user_id: owner.user_id, ids: [stored.id], pinned });
    setDone(isWaiting ? 'waiting' : 'added');
    setOpen(false);
    setText('');
    onAdded();
  };
  return html`<button type="button" class="primary" onClick=${() => setOpen(true)}>${t('add')}</button>
    ${done && html`<${Notice} tone="success">${t(done)}<//>`}
    ${isOpen && html`<${ConfirmDialog} title=${t('add')} action=${t('save')} onConfirm=${save}
      onClose=${() => setOpen(false)}>
      <${Field} label=${t('text')}><textarea rows="3" required dir="auto" maxlength="20000" value=${text}
        onInput=${(event) => setText(event.target.value)}></textarea><//>
      <label class="check"><input type="checkbox" checked=${pinned}
        onChange=${(event) => setPinned(event.target.checked)} />${t('pinned')}</label>
      <p class="hint"><bdi>${t('hint', { user: owner.user_id })}</bdi></p><//>`}`;
}

/** Stores a note, and returns its entry in the answer. */
async function store(owner, text, t) {
  const body = { user_id: owner.user_id, infer: false, messages: [{ role: 'user', content: text }] };
  let answer;
  try {
    answer = await post('/memories', body);
  } catch (error) {
    throw error.status === 404 ? new Error(t('off')) : error;
  }
  const [stored] = answer.results;
  if (!stored?.id) throw new Error(t('nothing'));
  return stored;
}
