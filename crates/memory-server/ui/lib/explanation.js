// Why a record is a hit of a search or not: the choice of the record, and the verdict.

import { html, useState } from './ui.js';
import { useTexts } from './texts.js';
import { formatTime } from './format.js';
import { useGet } from './api.js';
import { Badge, Empty, Field, Loaded, MemoryName, MemoryText } from './components.js';
import { Dialog } from './dialog.js';
import { kindName, sceneName, stageName, stateName } from './names.js';
import { HitScores } from './search_hit.js';

const texts = {
  en: {
    id: 'Id of the record', explain: 'Explain', choose: 'Choose from a list', chooseTitle: 'Choose a record',
    next: 'Older records', emptyTitle: 'No records', emptyText: 'Nothing is stored for this owner.', filter: 'Kind',
    any: 'any', hit: 'It is hit {place}.',
    not_there: 'There is no such record within the chosen user, agent, session and branch, or it has expired.',
    not_active: 'Its state is “{state}”, and only current records are found.',
    ended: 'It was valid until {valid_until}, before the question.',
    not_then: 'It was not a current memory at {as_of}.', filtered: 'It does not match the filters of the search.',
    out_of_sight: 'It belongs to the scene “{scene}”, which cannot be seen from “{from}”.', noScene: 'none',
    not_found: 'No retriever found it among its best {pool} candidates, nor a neighbor of it.',
    below_the_cut: 'It would be hit {place}, and {limit} are returned.', repeats: 'It only repeats another hit: {id}',
    degraded: 'A stage did not take part, which may be the reason: {stages}', isHit: 'hit', isNoHit: 'not a hit',
    clear: 'Close the explanation',
  },
  zh: {
    id: '记录 ID', explain: '解释', choose: '从列表中选择', chooseTitle: '选择一条记录', next: '更早的记录', emptyTitle: '没有记录',
    emptyText: '该所属者没有存储任何内容。', filter: '类型', any: '不限', hit: '它是第 {place} 条结果。',
    not_there: '在所选的用户、智能体、会话和分支中没有这条记录，或者它已过期。', not_active: '它的状态是“{state}”，只有有效的记录会被检索到。',
    ended: '它的有效期截至 {valid_until}，早于提问时间。', not_then: '它在 {as_of} 还不是有效的记忆。', filtered: '它不符合检索的筛选条件。',
    out_of_sight: '它属于场景“{scene}”，从“{from}”看不到。', noScene: '无', not_found: '没有检索器把它列入前 {pool} 个候选，也没有找到与它相邻的记录。',
    below_the_cut: '它会是第 {place} 条结果，而只返回 {limit} 条。', repeats: '它只是重复另一条结果：{id}', degraded: '有阶段没有参与，可能是原因所在：{stages}',
    isHit: '是结果', isNoHit: '不是结果', clear: '关闭解释',
  },
};

const KINDS = ['turn', 'note', 'fact', 'summary', 'profile'];
const PAGE_RECORDS = 30;

/** Asks for a record, by its id or from a list. `onChoose(id)` is called with it. */
export function RecordChoice({ owner, chosen, onChoose }) {
  const t = useTexts(texts);
  const [id, setId] = useState(chosen ?? '');
  const [isOpen, setOpen] = useState(false);
  const submit = (event) => {
    event.preventDefault();
    onChoose(id.trim());
  };
  const choose = (record) => {
    setOpen(false);
    setId(record.id);
    onChoose(record.id);
  };
  return html`<form class="fields" onSubmit=${submit}>
    <${Field} label=${t('id')} className="record-id"><input name="why" value=${id} required spellcheck="false"
      pattern="[ 0-9a-fA-F\\-]{32,40}" onInput=${(event) => setId(event.target.value)} /><//>
    <button type="submit">${t('explain')}</button>
    <button type="button" onClick=${() => setOpen(true)}>${t('choose')}</button>
    ${chosen && html`<button type="button" class="quiet" onClick=${() => onChoose('')}>${t('clear')}</button>`}
    ${isOpen && html`<${RecordDialog} owner=${owner} onChoose=${choose} onClose=${() => setOpen(false)} />`}
  </form>`;
}

/** A list of records, newest first, of which one is chosen. */
function RecordDialog({ owner, onChoose, onClose }) {
  const t = useTexts(texts);
  const [kind, setKind] = useState('');
  const [cursor, setCursor] = useState('');
  const read = useGet('/api/inspector/timeline', { ...owner, kind, cursor, limit: PAGE_RECORDS });
  const changeKind = (event) => {
    setCursor('');
    setKind(event.target.value);
  };
  return html`<${Dialog} title=${t('chooseTitle')} onClose=${onClose}><div class="dialog-body record-choice">
    <${Field} label=${t('filter')}><select value=${kind} onChange=${changeKind}><option value="">${t('any')}</option>
      ${KINDS.map((one) => html`<option value=${one}>${kindName(one)}</option>`)}</select><//>
    <${Loaded} read=${read}>${(page) => html`
      ${page.entries.length === 0 && html`<${Empty} title=${t('emptyTitle')}>${t('emptyText')}<//>`}
      <ul class="plain">${page.entries.map((record) => html`<li key=${record.id}><button type="button" class="choice"
        onClick=${() => onChoose(record)}><span class="hint">
          ${formatTime(record.occurred_at)} · <${MemoryName} name=${kindName(record.kind)} /></span>
        <bdi>${Array.from(record.text).slice(0, 160).join('')}</bdi></button></li>`)}</ul>
      ${page.next_cursor && html`<button type="button"
        onClick=${() => setCursor(page.next_cursor)}>${t('next')}</button>`}`}<//>
  </div><//>`;
}

/** The verdict about a record, with the parts of its score if a retriever found it. */
export function Explanation({ why, hits, threshold }) {
  const t = useTexts(texts);
  const [name, details] = verdictOf(why.verdict);
  const best = bestOf(hits, why.hit);
  const stages = why.degraded.map((one) => stageName(one.stage)).join(', ');
  return html`<div class="explanation" role="status">
    <p class="verdict"><${Badge} tone=${name === 'hit' ? 'good' : 'warn'}>${t(name === 'hit' ? 'isHit' : 'isNoHit')}<//>
      ${' '}<bdi>${t(name, readable(details, t))}</bdi></p>
    ${why.degraded.length > 0 && html`<p class="hint">${t('degraded', { stages })}</p>`}
    ${why.hit && html`<${MemoryText} text=${why.hit.record.text} /><${HitScores} hit=${why.hit} best=${best}
      threshold=${threshold} />`}
  </div>`;
}

/** Returns the name and the details of a verdict, which is a text or an object with one field. */
function verdictOf(verdict) {
  return typeof verdict === 'string' ? [verdict, {}] : Object.entries(verdict)[0];
}

function readable(details, t) {
  return {
    ...details,
    state: details.state && stateName(details.state),
    scene: details.scene ? isolated(sceneName(details.scene)) : t('noScene'),
    from: details.from && isolated(sceneName(details.from)),
    valid_until: details.valid_until && formatTime(details.valid_until),
    as_of: details.as_of && formatTime(details.as_of),
  };
}

/** Returns a name whose direction does not affect the text around it. */
function isolated(name) {
  return `\u2068${name}\u2069`;
}

/** Returns the best score of each retriever among the hits and the explained record. */
function bestOf(hits, hit) {
  const best = {};
  for (const found of [...hits, hit].filter(Boolean).flatMap((one) => one.found_by)) {
    best[found.retriever] = Math.max(best[found.retriever] ?? 0, found.score);
  }
  return best;
}
