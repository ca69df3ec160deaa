// The audit log: who stored, changed, listed or deleted which records, and when.

import { html, useEffect, useState } from '../lib/ui.js';
import { useTexts } from '../lib/texts.js';
import { get, useGet } from '../lib/api.js';
import { navigate } from '../lib/route.js';
import { ownerOf } from '../lib/owner.js';
import { formatNumber } from '../lib/format.js';
import { Empty, Field, Loaded, Notice, Panel } from '../lib/components.js';
import { ACTIONS, AuditTable, useActionName } from '../lib/audit_table.js';

const texts = {
  en: {
    about: 'It has ids and no text of a memory. Searches and single reads are not logged.', action: 'What', all: 'All',
    key: 'Key', program: 'Program', since: 'From', until: 'Until', show: 'Show', log: 'Entries', first: 'Newest',
    next: 'Older', pages: 'Pages', none: 'No entries', noneText: 'Nothing matches, or the log is switched off '
      + '(audit.mode of the configuration).',
    verify: 'Check the whole log', intact: 'Intact: {n} entries, none of them changed or removed.',
    broken: 'The log was changed: {problems}',
  },
  zh: {
    about: '日志只含 ID，不含记忆的文字。检索和单条读取不记录。', action: '操作', all: '全部', key: '密钥', program: '程序', since: '从', until: '到',
    show: '显示', log: '条目', first: '最新', next: '更早', pages: '翻页', none: '没有条目',
    noneText: '没有符合条件的条目，或日志已关闭（配置中的 audit.mode）。',
    verify: '检查整个日志', intact: '完好：共 {n} 条，没有条目被更改或移除。', broken: '日志被更改过：{problems}',
  },
};

const PAGE_ENTRIES = 50;
const TYPED = ['key', 'program', 'since', 'until'];

/** The view. Its filters are part of the address. */
export default function Audit({ params, owner, users }) {
  const t = useTexts(texts);
  const { action, key, program, after } = params;
  const { user_id, agent_id, session_id } = owner;
  const read = useGet('/api/audit', { user_id, agent_id, session_id, action, key, program, after,
    since: timeOf(params.since), until: timeOf(params.until), limit: PAGE_ENTRIES });
  const open = (changes) => navigate('audit', { ...params, after: '', ...changes });
  return html`<${Filters} params=${params} onOpen=${open} />
    <${Panel} title=${t('log')} actions=${users.data?.all_users && html`<${VerifyButton} />`}>
      <p class="hint">${t('about')}</p>
      <${Loaded} read=${read}>${({ entries, next }) => html`
        ${entries.length === 0 ? html`<${Empty} title=${t('none')}>${t('noneText')}<//>`
          : html`<${AuditTable} entries=${entries} caption=${t('log')} />`}
        ${(next !== undefined || after) && html`<nav class="pager" aria-label=${t('pages')}>
          <button type="button" disabled=${!after} onClick=${() => open({})}>${t('first')}</button>
          <button type="button" disabled=${next === undefined}
            onClick=${() => open({ after: next })}>${t('next')}</button></nav>`}`}<//><//>`;
}

/** Returns a time of an input as RFC 3339. */
const timeOf = (typed) => (typed && !Number.isNaN(Date.parse(typed)) ? new Date(typed).toISOString() : '');

function Filters({ params, onOpen }) {
  const t = useTexts(texts);
  const actionName = useActionName();
  const values = Object.fromEntries(TYPED.map((name) => [name, params[name] ?? '']));
  const [typed, setTyped] = useState(values);
  useEffect(() => setTyped(values), [JSON.stringify(values)]);
  const submit = (event) => {
    event.preventDefault();
    onOpen(typed);
  };
  return html`<form class="panel fields" onSubmit=${submit}>
    <${Field} label=${t('action')}><select value=${params.action ?? ''}
      onChange=${(event) => onOpen({ ...typed, action: event.target.value })}><option value="">${t('all')}</option>
      ${ACTIONS.map((action) => html`<option value=${action}>${actionName(action)}</option>`)}</select><//>
    ${TYPED.map((name) => html`<${Field} key=${name} label=${t(name)}><input value=${typed[name]}
      type=${['since', 'until'].includes(name) ? 'datetime-local' : 'text'}
      onInput=${(event) => setTyped({ ...typed, [name]: event.target.value })} /><//>`)}
    <button type="submit" class="primary">${t('show')}</button></form>`;
}

/** Compares the hashes of all entries. A log of many entries takes a while. */
function VerifyButton() {
  const t = useTexts(texts);
  const [state, setState] = useState({ busy: false });
  const verify = async () => {
    setState({ busy: true });
    try {
      setState({ busy: false, result: await get('/api/audit/verify') });
    } catch (error) {
      setState({ busy: false, error });
    }
  };
  const { busy, result, error } = state;
  return html`<button type="button" disabled=${busy} onClick=${verify}>${t('verify')}</button>
    ${result && html`<${Notice} tone=${result.intact ? 'success' : 'error'}>${result.intact
      ? t('intact', { n: formatNumber(result.entries) })
      : t('broken', { problems: result.problems.join('; ') })}<//>`}
    ${error && html`<${Notice} tone="error">${error.message}<//>`}`;
}
