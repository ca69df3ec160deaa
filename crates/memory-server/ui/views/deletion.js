// The view "Deletion": choose records, see exactly what would go, confirm, and get a report.

import { html, useEffect, useRef, useState } from '../lib/ui.js';
import { useTexts } from '../lib/texts.js';
import { post, useGet } from '../lib/api.js';
import { formatNumber } from '../lib/format.js';
import { OWNER_NAMES } from '../lib/owner.js';
import { Badge, Empty, Field, Figure, MemoryName, MemoryText, Notice, Panel, Table } from '../lib/components.js';
import { ConfirmDialog } from '../lib/dialog.js';
import { ChooseUser } from '../lib/choose_user.js';
import { kindName } from '../lib/names.js';
import { CertificatePanel, VerifyPanel } from '../lib/certificate.js';

const texts = {
  en: {
    what: '1. What to delete', within: 'Within', user_id: 'user', agent_id: 'agent', session_id: 'session',
    branch: 'branch', narrower: 'Choose an agent or a session at the top of the page to delete only within it.',
    mode: 'Which records', filter: 'By kind and time', ids: 'By id', text: 'By text',
    everything: 'Everything here', kinds: 'Kinds',
    kindsHint: 'None chosen: all kinds.', from: 'From (inclusive)', until: 'Before',
    idsField: 'Ids, one on each line', idsHint: '“Copy id” below a memory copies its id.',
    textField: 'Text in the records',
    textHint: 'Every record that contains it, as whole words. Case, white space and the separators of numbers make no '
      + 'difference. At least 3 characters, or 2 Chinese ones.',
    redact: 'Only replace the text by [deleted], and keep the records',
    standing: 'Keep the text out afterwards: it is replaced in every new record',
    everythingHint: 'All memories of this {what}, in every state, with entries of retractions and branches. For a '
      + 'whole user also the synonyms.',
    preview: 'Show what would go', needsFilter: 'Choose a kind or a time. To delete all, choose “Everything here”.',
    needsIds: 'Enter at least one id.', badId: 'An id has 32 digits from 0 to f. This is none: {ids}',
    needsText: 'Enter the text that the records contain.',
    badTimes: '“From” must be before “Before”.', previewTitle: '2. What would go',
    kind: 'Kind', selected: 'Chosen', derived: 'Derived from them', total: 'Records to delete',
    chosenFigure: 'Chosen', derivedFigure: 'Derived', synonyms: 'Synonyms and decisions',
    nothing: 'Nothing would be deleted', nothingText: 'No record matches. Change the choice above.',
    notFound: ['{n} id names no record here: {ids}', '{n} ids name no record here: {ids}'],
    selectedSample: ['The chosen record', 'The first {n} of the chosen records'],
    derivedSample: [
      'The record that is derived from them',
      'The first {n} of the records that are derived from them',
    ],
    retractedSample: [
      'The turn that states a fact to delete',
      'The first {n} of the turns that state a fact to delete',
    ],
    retractedNote: 'They are retracted: no longer found or injected, but restorable under Undo.',
    derivedNote: 'What was derived goes with its sources. What also has other sources is derived again without '
      + 'the deleted ones.',
    replace: ['Replace the text in {n} record', 'Replace the text in {n} records'],
    keepOut: 'Keep the text out', totalChanged: 'Records to change',
    delete: ['Delete {n} record for good', 'Delete {n} records for good'],
    forGood: 'This cannot be undone. To be able to undo it, retract memories instead.',
    changed: 'The choice has changed. Show again what would go.', confirmTitle: 'Delete for good?',
    confirmText: [
      '{n} record of {user} will be deleted. No copy is kept, and it cannot be restored.',
      '{n} records of {user} will be deleted. No copy is kept, and they cannot be restored.',
    ],
    confirmReplace: 'The text is replaced in {n} of the records of {user}. No copy of it is kept.',
    confirmStanding: 'The text is also replaced in every record that is stored from now on.',
    typeLabel: 'Type the name of the user to confirm: {user}', confirm: 'Delete for good',
    takesTime: 'The rows of this user are searched for traces afterwards. With many memories this takes a while.',
    noKey: 'Deletions have no certificate: the server has no key for it.',
    noKeyText: 'To get one, create a key with “memory certificate-key key.pem”, and start the server with '
      + 'MEMORY_CERTIFICATE_KEY, or with deletions.key_file in its configuration.',
    off: 'Deletions are switched off on this server (deletions.enabled). You can still see what would go.',
    report: '3. Report', clean: 'No trace of the deleted records was found in the rows of this user.',
    dirty: 'Traces remain, see the places below. Remove the cause and delete the same ids again: the new '
      + 'certificate covers them.',
    forgotten: ['{n} record was deleted.', '{n} records were deleted.'],
    redacted: ['The text was replaced in {n} record.', 'The text was replaced in {n} records.'],
    keptOut: 'The text is kept out from now on. To let it be stored again, delete this id: {id}',
  },
  zh: {
    what: '1. 删除什么', within: '范围', user_id: '用户',
    agent_id: '智能体', session_id: '会话', branch: '分支', narrower: '如需只删除某个智能体或会话中的记忆，请在页面顶部选择。', mode: '哪些记录',
    filter: '按类型和时间', ids: '按 ID', text: '按文字', textField: '记录中的文字',
    textHint: '包含这段文字的所有记录；字母单词须完整匹配。大小写、空白和号码中的分隔符不影响匹配。至少 3 个字符，或 2 个汉字。',
    redact: '只把这段文字替换为 [deleted]，保留记录', standing: '今后不再存储这段文字：在每条新记录中都会被替换',
    needsText: '请填写记录中包含的文字。', replace: '替换 {n} 条记录中的文字', keepOut: '今后不再存储这段文字', totalChanged: '要更改的记录',
    confirmReplace: '将替换{user}的 {n} 条记录中的这段文字。不保留副本。', confirmStanding: '今后存储的每条记录中，这段文字也会被替换。',
    redacted: '已替换 {n} 条记录中的文字。', keptOut: '今后不再存储这段文字。若要重新允许，请删除此 ID：{id}',
    everything: '此范围内的全部', kinds: '类型', kindsHint: '不选则为所有类型。', from: '起（含）',
    until: '止（不含）', idsField: 'ID，每行一个', idsHint: '点击记忆下方的“复制 ID”即可复制。',
    everythingHint: '此{what}的全部记忆，不论状态，包括撤回和分支的条目。若针对整个用户，还包括同义词。', preview: '查看将删除的内容',
    needsFilter: '请选择类型或时间。要全部删除，请选择“此范围内的全部”。', needsIds: '请至少填写一个 ID。', badId: 'ID 由 32 个 0 到 f 的数字组成。以下不是 ID：{ids}',
    badTimes: '“起”必须早于“止”。',
    previewTitle: '2. 将删除的内容', kind: '类型', selected: '所选', derived: '由其派生', total: '要删除的记录', chosenFigure: '所选',
    derivedFigure: '派生', synonyms: '同义词及判定', nothing: '没有要删除的内容', nothingText: '没有匹配的记录。请更改上面的选择。',
    notFound: '{n} 个 ID 在此没有对应的记录：{ids}', selectedSample: '所选记录中的前 {n} 条', derivedSample: '派生记录中的前 {n} 条',
    retractedSample: '陈述这些事实的对话中的前 {n} 条', retractedNote: '这些对话会被撤回：不再被找到或注入，但可以恢复。',
    derivedNote: '派生的内容随其来源一起删除；还有其他来源的，会在去掉已删除来源后重新派生。', delete: '永久删除 {n} 条记录', forGood: '此操作无法撤销。如果希望可以撤销，请改用撤回。',
    changed: '选择已更改。请重新查看将删除的内容。', confirmTitle: '永久删除？', confirmText: '将删除{user}的 {n} 条记录。不保留副本，也无法恢复。',
    typeLabel: '输入用户名以确认：{user}', confirm: '永久删除', takesTime: '删除后会在该用户的数据中搜索残留。记忆较多时需要一些时间。',
    noKey: '删除不会附带证书：服务器没有证书密钥。',
    noKeyText: '如需证书，请用“memory certificate-key key.pem”创建密钥，然后设置 MEMORY_CERTIFICATE_KEY 或配置项 '
      + 'deletions.key_file 并启动服务器。',
    off: '此服务器已关闭删除功能（deletions.enabled）。仍可查看将删除的内容。',
    report: '3. 报告', clean: '在该用户的数据中未发现已删除记录的残留。', dirty: '仍有残留，见下面的位置。请消除原因，然后再次删除相同的 ID：新证书会一并涵盖。',
    forgotten: '已删除 {n} 条记录。',
  },
};

const MODES = ['filter', 'ids', 'text', 'everything'];
const KINDS = ['turn', 'chunk', 'summary', 'fact', 'profile', 'key_moment', 'event', 'note'];
/** Missing ids that are listed; the others are counted. */
const MAX_LISTED_IDS = 5;

const counted = (count) => ({ count, n: formatNumber(count) });

/** The view "Deletion". */
export default function Deletion({ params, owner, users }) {
  const t = useTexts(texts);
  const server = useGet('/api/deletions');
  const isOff = server.error?.status === 404;
  const isCertified = server.data?.certified ?? false;
  const address = JSON.stringify(owner);
  return html`${isOff && html`<${Notice} tone="warn">${t('off')}<//>`}
    ${server.data && !isCertified && html`<${Notice}><strong>${t('noKey')}</strong> ${t('noKeyText')}<//>`}
    ${owner.user_id
      ? html`<${DeletionSteps} key=${address} owner=${owner} ids=${params.ids ?? ''} isOff=${isOff}
          isCertified=${isCertified} users=${users} />`
      : html`<${ChooseUser} view="deletion" users=${users} />`}
    ${!isOff && html`<${VerifyPanel} />`}`;
}

/** The three steps: choice, preview with the confirmation, and report. */
function DeletionSteps({ owner, ids, isOff, isCertified, users }) {
  const t = useTexts(texts);
  const [choice, setChoice] = useState({ mode: ids ? 'ids' : 'filter', kinds: [], from: '', until: '', ids,
    text: '', redact: false, standing: false });
  const [state, setState] = useState({ busy: false, error: null });
  const [preview, setPreview] = useState(null);
  const [isAsking, setAsking] = useState(false);
  const [report, setReport] = useState(null);
  const change = (part) => {
    setChoice({ ...choice, ...part });
    setState({ busy: false, error: null });
  };
  const show = async (event) => {
    event.preventDefault();
    const problem = problemOf(choice);
    if (problem) {
      setState({ busy: false, error: t(problem, { ids: shortList(idsOf(choice).filter(isNoId)) }) });
      return;
    }
    setState({ busy: true, error: null });
    setReport(null);
    try {
      const body = { ...owner, ...targetOf(choice) };
      const data = await post('/api/inspector/deletion-preview', body);
      setPreview({ data, body, choice });
      setState({ busy: false, error: null });
    } catch (error) {
      setPreview(null);
      setState({ busy: false, error: error.message });
    }
  };
  const remove = async () => {
    const answer = await post('/api/deletions', preview.body);
    setAsking(false);
    setPreview(null);
    setReport(answer);
    users?.reload?.();
  };
  return html`<${Panel} title=${t('what')}>
      <form onSubmit=${show} noValidate>
        <${OwnerLine} owner=${owner} />
        <${ChoiceFields} choice=${choice} owner=${owner} onChange=${change} />
        ${state.error && html`<${Notice} tone="error">${state.error}<//>`}
        <button type="submit" class="primary" disabled=${state.busy}>${t('preview')}</button>
      </form>
    <//>
    ${preview && html`<${PreviewPanel} preview=${preview} isCurrent=${preview.choice === choice}
      isOff=${isOff} onDelete=${() => setAsking(true)} />`}
    ${isAsking && html`<${ConfirmDialog} title=${t('confirmTitle')} action=${t('confirm')} danger
      mustType=${owner.user_id} typeLabel=${t('typeLabel', { user: owner.user_id })} onConfirm=${remove}
      onClose=${() => setAsking(false)}>
      <p>${t(preview.body.redact ? 'confirmReplace' : 'confirmText', {
        ...counted(preview.data.records), user: owner.user_id })}</p>
      ${preview.body.standing && html`<p>${t('confirmStanding')}</p>`}
      ${isCertified && html`<p class="hint">${t('takesTime')}</p>`}
    <//>`}
    ${report && html`<${ReportPanel} report=${report} />`}`;
}

/** Returns the name of the text about what is missing in a choice, or null. */
function problemOf(choice) {
  if (choice.mode === 'ids') {
    if (idsOf(choice).length === 0) return 'needsIds';
    return idsOf(choice).some(isNoId) ? 'badId' : null;
  }
  if (choice.mode === 'everything') return null;
  if (choice.mode === 'text') return choice.text.trim() ? null : 'needsText';
  if (choice.kinds.length === 0 && !choice.from && !choice.until) return 'needsFilter';
  return choice.from && choice.until && choice.from >= choice.until ? 'badTimes' : null;
}

const isNoId = (id) => !/^[0-9a-f]{32}$/i.test(id.replaceAll('-', ''));

const idsOf = (choice) => choice.ids.split(/[\s,;]+/).filter(Boolean);

/** Returns the part of the request that says which records. */
function targetOf(choice) {
  if (choice.mode === 'ids') return { ids: idsOf(choice) };
  if (choice.mode === 'everything') return { everything: true };
  if (choice.mode === 'text') {
    return { text: choice.text.trim(), redact: choice.redact, standing: choice.standing };
  }
  const conditions = [];
  if (choice.kinds.length > 0) conditions.push({ field: 'kind', in: choice.kinds });
  const time = (op, value) => ({ field: 'occurred_at', op, value: new Date(value).toISOString() });
  if (choice.from) conditions.push(time('ge', choice.from));
  if (choice.until) conditions.push(time('lt', choice.until));
  return { filter: { and: conditions } };
}

/** Says within which user, agent, session and branch records are chosen. */
function OwnerLine({ owner }) {
  const t = useTexts(texts);
  const names = OWNER_NAMES.filter((name) => owner[name]);
  return html`<p class="owner-line"><span class="hint">${t('within')}</span>
    ${names.map((name) => html`<span key=${name}>${t(name)}${' '}
      <strong><${MemoryName} name=${owner[name]} /></strong></span>`)}
    ${names.length === 1 && html`<span class="hint">${t('narrower')}</span>`}</p>`;
}

function ChoiceFields({ choice, owner, onChange }) {
  const t = useTexts(texts);
  const narrowest = OWNER_NAMES.filter((name) => owner[name]).pop();
  const toggle = (kind) => onChange({
    kinds: choice.kinds.includes(kind) ? choice.kinds.filter((other) => other !== kind) : [...choice.kinds, kind],
  });
  return html`<fieldset class="choices"><legend>${t('mode')}</legend>${MODES.map((mode) => html`
      <label class="check" key=${mode}><input type="radio" name="mode" value=${mode} checked=${choice.mode === mode}
        onChange=${() => onChange({ mode })} />${t(mode)}</label>`)}</fieldset>
    ${choice.mode === 'filter' && html`<fieldset class="choices"><legend>${t('kinds')}</legend>
        ${KINDS.map((kind) => html`<label class="check" key=${kind}><input type="checkbox"
          checked=${choice.kinds.includes(kind)} onChange=${() => toggle(kind)} />${kindName(kind)}</label>`)}
        <span class="hint">${t('kindsHint')}</span></fieldset>
      <div class="fields times"><${Field} label=${t('from')}><input type="datetime-local" value=${choice.from}
          onInput=${(event) => onChange({ from: event.target.value })} /><//>
        <${Field} label=${t('until')}><input type="datetime-local" value=${choice.until}
          onInput=${(event) => onChange({ until: event.target.value })} /><//></div>`}
    ${choice.mode === 'ids' && html`<${Field} label=${t('idsField')}><textarea rows="4" spellcheck="false"
        value=${choice.ids} onInput=${(event) => onChange({ ids: event.target.value })}></textarea><//>
      <p class="hint">${t('idsHint')}</p>`}
    ${choice.mode === 'text' && html`<${Field} label=${t('textField')}><input type="text" autocomplete="off"
          spellcheck="false" value=${choice.text} onInput=${(event) => onChange({ text: event.target.value })} /><//>
      <p class="hint">${t('textHint')}</p>
      <div class="choices">${['redact', 'standing'].map((name) => html`<label class="check" key=${name}>
        <input type="checkbox" checked=${choice[name]} onChange=${() => onChange({ [name]: !choice[name] })} />
        ${t(name)}</label>`)}</div>`}
    ${choice.mode === 'everything' && html`<p>${t('everythingHint', { what: t(narrowest) })}</p>`}`;
}

/** What would go: numbers for each kind, and the first texts. */
function PreviewPanel({ preview, isCurrent, isOff, onDelete }) {
  const t = useTexts(texts);
  const { data, body } = preview;
  const kinds = [...new Set([...Object.keys(data.selected), ...Object.keys(data.derived)])].sort();
  const sum = (counts) => Object.values(counts).reduce((total, count) => total + count, 0);
  const columns = [
    { title: t('kind'), cell: (kind) => html`<${Badge} tone="info">${kindName(kind)}<//>` },
    { title: t('selected'), align: 'end', cell: (kind) => formatNumber(data.selected[kind] ?? 0) },
    { title: t('derived'), align: 'end', cell: (kind) => formatNumber(data.derived[kind] ?? 0) },
  ];
  const isEmpty = data.records === 0 && data.synonyms === 0;
  const actionName = isEmpty ? 'keepOut' : body.redact ? 'replace' : 'delete';
  return html`<${Panel} title=${t('previewTitle')} className="deletion-preview">
    ${data.not_found.length > 0 && html`<${Notice} tone="warn">${t('notFound', { ...counted(data.not_found.length),
      ids: shortList(data.not_found) })}<//>`}
    ${isEmpty && html`<${Empty} title=${t('nothing')}>${t('nothingText')}<//>`}
    ${!isEmpty && html`<div class="figures">
        <${Figure} label=${t(body.redact ? 'totalChanged' : 'total')} value=${data.records} />
        <${Figure} label=${t('chosenFigure')} value=${sum(data.selected)} />
        <${Figure} label=${t('derivedFigure')} value=${sum(data.derived)} />
        ${data.synonyms > 0 && html`<${Figure} label=${t('synonyms')} value=${data.synonyms} />`}</div>
      ${kinds.length > 0 && html`<${Table} caption=${t('previewTitle')} columns=${columns} rows=${kinds}
        rowKey=${(kind) => kind} />`}
      <${Sample} title="selectedSample" records=${data.selected_sample} />
      <${Sample} title="derivedSample" records=${data.derived_sample} note=${t('derivedNote')} />
      <${Sample} title="retractedSample" records=${data.retracted_sample} note=${t('retractedNote')} />
      <p class="hint">${t('forGood')}</p>`}
    ${!isCurrent && html`<${Notice} tone="warn">${t('changed')}<//>`}
    ${(!isEmpty || body.standing) && html`<button type="button" class="danger" disabled=${!isCurrent || isOff}
      onClick=${onDelete}>${t(actionName, counted(data.records))}</button>`}
  <//>`;
}

/** Lists the first texts, and says how many more there are. */
function shortList(texts) {
  const rest = texts.length - MAX_LISTED_IDS;
  return texts.slice(0, MAX_LISTED_IDS).join(', ') + (rest > 0 ? ` (+${formatNumber(rest)})` : '');
}

function Sample({ title, records, note }) {
  const t = useTexts(texts);
  if (records.length === 0) return null;
  return html`<h3>${t(title, counted(records.length))}</h3>${note && html`<p class="hint">${note}</p>`}
    <ul class="record-texts">${records.map((record) => html`<li key=${record.id}><span class="badges">
      <${Badge} tone="info">${kindName(record.kind)}<//></span><${MemoryText} text=${record.text} /></li>`)}</ul>`;
}

/** The result, with the certificate. The focus moves to it, because the button that began the deletion is gone. */
function ReportPanel({ report }) {
  const t = useTexts(texts);
  const element = useRef(null);
  useEffect(() => element.current.focus(), []);
  return html`<div ref=${element} tabindex="-1" class="report"><${Panel} title=${t('report')}>
    <${Notice} tone=${report.clean === false ? 'error' : 'success'}>${t('forgotten', counted(report.forgotten))}${' '}
      ${report.redacted > 0 && `${t('redacted', counted(report.redacted))} `}
      ${report.kept_out && `${t('keptOut', { id: report.kept_out })} `}
      ${report.certificate && t(report.clean ? 'clean' : 'dirty')}<//>
    ${report.certificate && html`<${CertificatePanel} certificate=${report.certificate} />`}<//></div>`;
}
