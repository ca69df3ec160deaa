// What is known about a person, in sentences by topic, and what waits for a review.

import { html, useState } from '../lib/ui.js';
import { useTexts } from '../lib/texts.js';
import { useGet } from '../lib/api.js';
import { formatNumber } from '../lib/format.js';
import { routeTo } from '../lib/route.js';
import { Empty, Loaded, Notice, Panel } from '../lib/components.js';
import { ChooseUser, mustChooseUser } from '../lib/choose_user.js';
import { ReviewQueue } from '../lib/review_queue.js';
import { Sentence } from '../lib/sentence.js';
import { byTopic, topicTexts } from '../lib/topics.js';

const texts = {
  en: {
    about: ['1 sentence about {user}.', '{n} sentences about {user}.'],
    how: 'Open a sentence to see where it comes from. Those marked “in every prompt” are given to the model with each '
      + 'message, the others when they matter.',
    more: ['Show 1 more', 'Show {n} more'], emptyTitle: 'Nothing is known yet',
    emptyText: 'Sentences appear here once a person talks with the assistant. Stored messages are read by “memory '
      + 'digest --digest rules”.',
    cut: 'Only the first 500 facts and 50 notes are shown here. The view “Facts” has all facts.',
    facts: 'All facts, also former ones',
    conversations: 'Conversations', corrected: 'The sentence was corrected.',
    retracted: 'It no longer counts.', undo: 'Restore it in “Undo”',
    deleted: ['1 record was deleted for good.', '{n} records were deleted for good.'],
    traces: 'Traces remain. Delete it again in “Deletion”, which lists the places.',
  },
  zh: {
    about: '关于 {user} 的 {n} 句话。', how: '点击一句话可以查看来源。标有“每次提示都有”的句子会随每条消息提供给模型，其他句子在需要时提供。', more: '再显示 {n} 条',
    emptyTitle: '还没有了解到什么', emptyText: '与助手对话之后，这里会出现句子。已存储的消息可用“memory digest --digest rules”读取。',
    cut: '此处只显示前 500 条事实和 50 条笔记，“事实”视图中有全部事实。', facts: '全部事实，包括以前的', conversations: '对话', corrected: '这句话已改正。',
    retracted: '它不再生效。', undo: '可在“撤销”中恢复', deleted: '已永久删除 {n} 条记录。', traces: '仍有残留。请在“删除”中再次删除，那里会列出位置。',
  },
};

/** Sentences of a topic that are shown before "Show more". Those in every prompt are always shown. */
const SHOWN_SENTENCES = 3;
const MAX_FACTS = 500;
const MAX_NOTES = 50;

/** The view "What it knows". */
export default function About({ owner, users }) {
  if (mustChooseUser(owner, users)) return html`<${ChooseUser} view="about" users=${users} />`;
  return html`<${Person} key=${JSON.stringify(owner)} owner=${owner} />`;
}

function Person({ owner }) {
  const [done, setDone] = useState(null);
  const facts = useGet('/api/inspector/facts', { ...owner, limit: MAX_FACTS });
  const notes = useGet('/api/inspector/timeline', { ...owner, kind: 'note', inactive: 'false', limit: MAX_NOTES });
  const core = useGet('/api/records/core', owner);
  const reads = [facts, notes, core];
  const reload = () => reads.forEach((read) => read.reload());
  const changed = (name, answer) => {
    if (name) setDone({ name, answer });
    reload();
  };
  const data = reads.every((read) => read.data) ? reads.map((read) => read.data) : null;
  const error = reads.find((read) => read.error)?.error;
  const whole = { data, error, reload, loading: reads.some((read) => read.loading) };
  return html`<${ReviewQueue} owner=${owner} isShort onChanged=${reload} />
    ${done && html`<${Done} done=${done} owner=${owner} />`}
    <${Loaded} read=${whole}>${(parts) => html`<${Sentences} memories=${memoriesOf(...parts)} owner=${owner}
      isCut=${parts[0].next_cursor !== null || parts[1].next_cursor !== null} onChanged=${changed} />`}<//>`;
}

/** Returns the current facts, the notes and the rest of the core, each once, with the marks of the core. */
function memoriesOf(facts, notes, core) {
  const inCore = new Map(core.memories.map((memory) => [memory.id, memory]));
  const known = new Map([
    ...core.memories.map((memory) => [memory.id, { id: memory.id, text: memory.text, is_pinned: true }]),
    ...notes.entries.filter(isOwnSentence).map((note) => [note.id, { ...note, is_pinned: note.pinned }]),
    ...facts.facts.map((fact) => [fact.id, { ...fact, state: 'active' }]),
  ]);
  return [...known.values()].map((memory) => {
    const entry = inCore.get(memory.id);
    return { ...memory, isCore: entry?.included ?? false, hasNoRoom: entry ? !entry.included : false };
  });
}

/** Returns true if no fact says the same as a note. That of a corrected fact is the source of the new one. */
const isOwnSentence = (note) => note.pinned || note.derived.length === 0;

/** What the last action did. */
function Done({ done, owner }) {
  const t = useTexts(texts);
  const count = done.answer?.forgotten ?? 0;
  const hasTraces = done.answer?.clean === false;
  return html`<${Notice} tone=${hasTraces ? 'warn' : 'success'}>${t(done.name, { count, n: formatNumber(count) })}
    ${done.name === 'retracted' && html` <a href=${routeTo('undo', owner)}>${t('undo')}</a>`}
    ${hasTraces && html` ${t('traces')}`}<//>`;
}

function Sentences({ memories, owner, isCut, onChanged }) {
  const t = useTexts(texts);
  const topicName = useTexts(topicTexts);
  const links = html`<p class="about-links"><a href=${routeTo('conversations', owner)}>${t('conversations')}</a>
    <a href=${routeTo('facts', owner)}>${t('facts')}</a></p>`;
  if (memories.length === 0) {
    return html`<${Panel}><${Empty} title=${t('emptyTitle')}>${t('emptyText')}<//><//>${links}`;
  }
  const [before, after] = t('about', { count: memories.length, n: formatNumber(memories.length), user: '\n' })
    .split('\n');
  return html`<p>${before}<strong><bdi>${owner.user_id}</bdi></strong>${after} <span class="hint">${t('how')}</span></p>
    ${isCut && html`<${Notice}>${t('cut')}<//>`}
    <div class="topics">${byTopic(memories).map(([topic, found]) => html`<${Topic} key=${topic}
      title=${topicName(topic)} memories=${found} owner=${owner} onChanged=${onChanged} />`)}</div>
    ${links}`;
}

function Topic({ title, memories, owner, onChanged }) {
  const t = useTexts(texts);
  const [isOpen, setOpen] = useState(false);
  const first = Math.max(SHOWN_SENTENCES, memories.filter((memory) => memory.isCore).length);
  // A button that shows one more sentence takes as much room as the sentence.
  const shown = isOpen || memories.length === first + 1 ? memories : memories.slice(0, first);
  const hidden = memories.length - shown.length;
  return html`<${Panel} title=${title} className="topic">
    <ul class="plain">${shown.map((memory) => html`<${Sentence} key=${memory.id} memory=${memory} owner=${owner}
      onChanged=${onChanged} />`)}</ul>
    ${hidden > 0 && html`<button type="button" class="link" onClick=${() => setOpen(true)}>${t('more', {
      count: hidden, n: formatNumber(hidden) })}</button>`}<//>`;
}
