// The list of retractions, with their texts, and the action that restores one.

import { html, useState } from './ui.js';
import { useTexts } from './texts.js';
import { post, useGet } from './api.js';
import { formatNumber, formatTime } from './format.js';
import { Badge, Empty, Loaded, MemoryText, Notice, Panel } from './components.js';
import { ConfirmDialog } from './dialog.js';
import { kindName } from './names.js';

const texts = {
  en: {
    none: 'Nothing is retracted',
    noneText: 'A retracted memory stays stored, but no longer counts. Retract one with “Wrong?” in “What it knows”, '
      + 'or under “Actions” of a message; it is then listed here, and can be restored.',
    latest: 'The latest {n} retractions are shown.', rewind: 'end of a conversation', noReason: 'No reason given',
    records: ['{n} record', '{n} records'], restore: 'Restore', restoreTitle: 'Restore what was retracted?',
    restoreText: ['{n} record counts again.', 'Up to {n} records count again.'],
    restoreNote: 'Records that were changed or restored since stay as they are. Summaries and profiles are '
      + 'written again.',
    restored: ['{n} of {all} records was restored.', '{n} of {all} records were restored.'],
    showAll: 'Show all records', hide: 'Hide', more: 'Show more', changed: 'not retracted any more',
    missing: ['{n} record was deleted or written again since.', '{n} records were deleted or written again since.'],
    furtherTexts: 'and {n} more',
  },
  zh: {
    none: '没有撤回的内容', noneText: '撤回的记忆仍然保存，但不再生效。在“它知道什么”中点击“不对？”，或在消息的“操作”中撤回，它就会列在这里，并且可以恢复。', latest: '显示最近 {n} 次撤回。',
    rewind: '会话末尾', noReason: '未填写原因', records: '{n} 条记录', restore: '恢复', restoreTitle: '恢复撤回的内容？',
    restoreText: '最多 {n} 条记录将重新生效。', restoreNote: '此后已更改或已恢复的记录保持不变。摘要和画像会重新生成。', restored: '已恢复 {all} 条记录中的 {n} 条。',
    showAll: '显示全部记录', hide: '收起', more: '显示更多', changed: '已不再是撤回状态', missing: '{n} 条记录此后已删除或重新生成。',
    furtherTexts: '另有 {n} 条',
  },
};

const MAX_RETRACTIONS = 200;
/** Texts of each retraction that are shown before it is opened, and retractions for which they are read. */
const SAMPLE_RECORDS = 2;
const SAMPLED_RETRACTIONS = 50;
/** Records that are read at once when a retraction is opened. */
const PAGE_RECORDS = 50;

/** The retractions within the owner's memory that can be restored, the latest first. */
export function Retractions({ owner }) {
  const t = useTexts(texts);
  const read = useGet('/api/records/retractions', { ...owner, limit: MAX_RETRACTIONS });
  const [asked, setAsked] = useState(null);
  const [message, setMessage] = useState(null);
  const ids = (read.data?.retractions ?? []).slice(0, SAMPLED_RETRACTIONS)
    .flatMap((retraction) => retraction.records.slice(0, SAMPLE_RECORDS));
  const sample = useRecords(owner, ids);
  const restore = async () => {
    const { restored } = await post('/api/records/restore', { ...owner, retraction: asked.id });
    setAsked(null);
    setMessage(t('restored', { count: restored, n: formatNumber(restored), all: formatNumber(asked.records.length) }));
    read.reload();
  };
  return html`${message && html`<${Notice} tone="success">${message}<//>`}
    <${Panel}><${Loaded} read=${read}>${({ retractions }) => html`
      ${retractions.length === 0 && html`<${Empty} title=${t('none')}>${t('noneText')}<//>`}
      ${retractions.map((retraction) => html`<${RetractionCard} key=${retraction.id} retraction=${retraction}
        owner=${owner} sample=${sample.data?.records ?? []} onRestore=${() => setAsked(retraction)} />`)}
      ${retractions.length === MAX_RETRACTIONS && html`<p class="hint">${t('latest', { n: MAX_RETRACTIONS })}</p>`}
    `}<//><//>
    ${asked && html`<${ConfirmDialog} title=${t('restoreTitle')} action=${t('restore')} onConfirm=${restore}
      onClose=${() => setAsked(null)}>
      <p>${t('restoreText', counted(asked.records.length))}${' '}${t('restoreNote')}</p>
      ${asked.reason && html`<blockquote class="quoted"><${MemoryText} text=${reasonOf(asked, t)} /></blockquote>`}
    <//>`}`;
}

/** Returns the values of a text about a number of records. */
const counted = (count) => ({ count, n: formatNumber(count) });

const isRewind = (retraction) => retraction.reason === 'rewind';

const reasonOf = (retraction, t) => (isRewind(retraction) ? t('rewind') : retraction.reason);

/** Reads records by their ids. What was derived may be in another conversation of the user. */
function useRecords(owner, ids) {
  const path = ids.length === 0 ? null : '/api/inspector/undo/records';
  return useGet(path, { user_id: owner.user_id, ids: ids.join(',') });
}

function RetractionCard({ retraction, owner, sample, onRestore }) {
  const t = useTexts(texts);
  const [open, setOpen] = useState(false);
  const count = retraction.records.length;
  const shown = sample.filter((record) => retraction.records.slice(0, SAMPLE_RECORDS).includes(record.id));
  return html`<article class="record" data-retraction=${retraction.id}>
    <header><time datetime=${retraction.at}>${formatTime(retraction.at)}</time>
      <${Badge}>${t('records', counted(count))}<//>
      ${isRewind(retraction) && html`<${Badge} tone="info">${t('rewind')}<//>`}</header>
    ${!isRewind(retraction) && (retraction.reason
      ? html`<strong class="reason"><${MemoryText} text=${retraction.reason} /></strong>`
      : html`<p class="hint">${t('noReason')}</p>`)}
    ${open
      ? html`<${RetractedRecords} owner=${owner} ids=${retraction.records} />`
      : html`<${RecordTexts} records=${shown} />
        ${shown.length > 0 && count > shown.length && html`<p class="hint">${t('furtherTexts', {
          n: formatNumber(count - shown.length) })}</p>`}`}
    <div class="record-actions">
      <button type="button" onClick=${onRestore}>${t('restore')}</button>
      <button type="button" class="link" aria-expanded=${open}
        onClick=${() => setOpen(!open)}>${t(open ? 'hide' : 'showAll')}</button>
    </div>
  </article>`;
}

/** All records of a retraction, page by page. */
function RetractedRecords({ owner, ids }) {
  const t = useTexts(texts);
  const [pages, setPages] = useState(1);
  const starts = Array.from({ length: pages }, (_, page) => page * PAGE_RECORDS);
  return html`${starts.map((start) => html`<${RecordsPage} key=${start} owner=${owner}
      ids=${ids.slice(start, start + PAGE_RECORDS)} />`)}
    ${pages * PAGE_RECORDS < ids.length && html`<button type="button" class="link"
      onClick=${() => setPages(pages + 1)}>${t('more')}</button>`}`;
}

function RecordsPage({ owner, ids }) {
  const t = useTexts(texts);
  const read = useRecords(owner, ids);
  return html`<${Loaded} read=${read}>${({ records, missing }) => html`<${RecordTexts} records=${records} />
    ${missing.length > 0 && html`<p class="hint">${t('missing', counted(missing.length))}</p>`}`}<//>`;
}

/** Kinds and texts of records. */
function RecordTexts({ records }) {
  const t = useTexts(texts);
  return html`<ul class="record-texts">${records.map((record) => html`<li key=${record.id}>
    <span class="badges"><${Badge} tone="info">${kindName(record.kind)}<//>
      ${record.state !== 'revoked' && html`<${Badge} tone="warn">${t('changed')}<//>`}</span>
    <${MemoryText} text=${record.text} /></li>`)}</ul>`;
}
