// Certificates of deletions: readable, as a file, and verified by the server.

import { html, useState } from './ui.js';
import { useTexts } from './texts.js';
import { post } from './api.js';
import { download } from './download.js';
import { formatNumber, formatTime } from './format.js';
import { Badge, Field, MemoryName, Notice, Panel, Table } from './components.js';

const texts = {
  en: {
    keep: 'The server does not keep the certificate. Download it before you leave this page.',
    download: 'Download certificate', verify: 'Verify against the store', verifying: 'Searching the store …',
    scope: 'Scope', target: 'Target', ids: 'records by id', matching: 'records that match a filter',
    text: 'records that contain a text', redaction: 'a text in records', everything: 'everything within the scope',
    begun: 'Begun', searched: 'Search ended', records: 'Records',
    residue: 'Traces', copies: 'Records with the same content that remain', store: 'Store', engine: 'Program',
    signedBy: 'Signed by', removed: 'What was removed', item: 'Item', count: 'Number',
    recordsOf: 'records of kind {kind}', places: ['{n} place was searched', '{n} places were searched'],
    place: 'Place', kind: 'Sort', rows: 'Searched', traces: 'Traces', notSearched: 'not searched: {reason}',
    limits: 'What this search does not cover',
    shortTexts: [
      '{n} text is too short to be searched for as bytes; its id was searched for.',
      '{n} texts are too short to be searched for as bytes; their ids were searched for.',
    ],
    outside: 'A certificate does not cover copies outside of the store: backups, exports, snapshots, logs of '
      + 'other systems.',
    reference: 'Everything that it does not cover', verifyTitle: 'Verify a certificate',
    verifyText: 'Compare a certificate with this store: whether it is unchanged, whether this server has signed '
      + 'it, and whether a deleted record is back.',
    file: 'File with a certificate (JSON)', notJson: '{name} is not a JSON file. Choose the file of a certificate.',
    tooLarge: '{name} is larger than 32 MB. Choose the file of a certificate.', passed: 'Every check has passed.',
    failed: ['{n} check has failed.', '{n} checks have failed.'], check: 'Check', result: 'Result', detail: 'Detail',
    ok: 'passed', bad: 'failed', checks: 'Checks of the certificate', of: 'Certificate of {scope}, {time}',
    tenant: 'tenant', user: 'user', agent: 'agent', session: 'session', branch: 'branch',
    item_cascade_deleted: 'records deleted with their source', item_keywords: 'records in the keyword index',
    item_vectors: 'vectors', item_mentions: 'mentions of entities', item_aliases: 'other names of entities',
    item_relations: 'relations', item_queued: 'queued jobs',
    item_tombstones: 'tombstones, which block another import', item_synonyms: 'synonyms and decisions about them',
    check_signature: 'signature', check_public_key: 'public key', check_deletion: 'deletion', check_store: 'store',
    check_tables: 'tables', check_indexes: 'indexes', check_queue: 'queue', check_files: 'files',
    check_contents: 'contents', check_tombstones: 'tombstones', kind_table: 'table', kind_index: 'index',
    kind_file: 'file', kind_memory: 'memory',
  },
  zh: {
    keep: '服务器不会保存证书。请在离开本页之前下载。', download: '下载证书', verify: '与存储核对', verifying: '正在搜索存储…', scope: '范围', target: '对象',
    ids: '按 ID 指定的记录', matching: '符合筛选条件的记录', text: '包含某段文字的记录', redaction: '记录中的某段文字',
    everything: '范围内的全部', begun: '开始', searched: '搜索结束', records: '记录',
    residue: '残留', copies: '仍存在的内容相同的记录', store: '存储', engine: '程序', signedBy: '签名者', removed: '已移除的内容', item: '项目',
    count: '数量', recordsOf: '类型为 {kind} 的记录', places: '已搜索 {n} 处', place: '位置', kind: '类别', rows: '已搜索', traces: '残留',
    notSearched: '未搜索：{reason}', limits: '此次搜索未涵盖的内容', shortTexts: '{n} 段文本太短，无法按字节搜索；已搜索其 ID。',
    outside: '证书不涵盖存储之外的副本：备份、导出、快照以及其他系统的日志。', reference: '未涵盖内容的完整说明', verifyTitle: '核验证书',
    verifyText: '将证书与当前存储比较：是否未被改动，是否由此服务器签名，以及已删除的记录是否又出现。', file: '证书文件（JSON）',
    notJson: '{name} 不是 JSON 文件。请选择证书文件。', tooLarge: '{name} 超过 32 MB。请选择证书文件。', passed: '全部检查通过。',
    failed: '{n} 项检查未通过。', check: '检查', result: '结果', detail: '说明', ok: '通过', bad: '未通过', checks: '证书的检查',
    of: '{scope} 的证书，{time}', tenant: '租户', user: '用户', agent: '智能体', session: '会话', branch: '分支',
    item_cascade_deleted: '随来源删除的记录', item_keywords: '关键词索引中的记录', item_vectors: '向量', item_mentions: '实体提及',
    item_aliases: '实体别名', item_relations: '关系', item_queued: '排队的任务', item_tombstones: '墓碑（阻止再次导入）',
    item_synonyms: '同义词及判定', check_signature: '签名', check_public_key: '公钥', check_deletion: '删除', check_store: '存储',
    check_tables: '表', check_indexes: '索引', check_queue: '队列', check_files: '文件', check_contents: '内容',
    check_tombstones: '墓碑', kind_table: '表', kind_index: '索引', kind_file: '文件', kind_memory: '内存',
  },
};

/** The page that says what a certificate does not cover. */
const REFERENCE = 'https://github.com/memory-engine/memory-engine/blob/main/docs/reference/deletion-certificate.md';
const MAX_FILE_BYTES = 32 * 1024 * 1024;
const SCOPE_NAMES = ['tenant', 'user', 'agent', 'session', 'branch'];

/** A certificate in readable form, with its download and its verification. */
export function CertificatePanel({ certificate }) {
  const t = useTexts(texts);
  return html`<p>${t('keep')}</p>
    <div class="actions"><${DownloadButton} certificate=${certificate} /></div>
    <${CertificateDetails} certificate=${certificate} />
    <${Verification} certificate=${certificate} />`;
}

/** Chooses a file with a certificate, and verifies it. */
export function VerifyPanel() {
  const t = useTexts(texts);
  const [state, setState] = useState({ certificate: null, error: null });
  const choose = async (event) => {
    const [file] = event.target.files;
    if (!file) return;
    if (file.size > MAX_FILE_BYTES) {
      setState({ certificate: null, error: t('tooLarge', { name: file.name }) });
      return;
    }
    setState(parsed(await file.text(), t('notJson', { name: file.name })));
  };
  const { certificate, error } = state;
  return html`<${Panel} title=${t('verifyTitle')} className="verify-certificate"><p class="hint">${t('verifyText')}</p>
    <${Field} label=${t('file')}><input type="file" accept=".json,application/json" onChange=${choose} /><//>
    ${error && html`<${Notice} tone="error">${error}<//>`}
    ${certificate && html`<p class="hint">${t('of', {
        scope: scopeText(certificate.scope, t), time: formatTime(certificate.begun_at) })}</p>
      <${Verification} key=${certificate.signature} certificate=${certificate} />`}<//>`;
}

/** Parses a certificate. The server says what is wrong with an object that is none. */
function parsed(text, problem) {
  try {
    const certificate = JSON.parse(text);
    const isObject = certificate !== null && typeof certificate === 'object' && !Array.isArray(certificate);
    if (isObject) return { certificate, error: null };
  } catch {
    // The message below says what to do.
  }
  return { certificate: null, error: problem };
}

function DownloadButton({ certificate }) {
  const t = useTexts(texts);
  const name = `deletion-certificate-${certificate.begun_at.replace(/[^0-9TZ]/g, '')}.json`;
  const save = () => download(name, 'application/json', `${JSON.stringify(certificate, null, 2)}\n`);
  return html`<button type="button" class="primary" onClick=${save}>${t('download')}</button>`;
}

/** Returns the name of a counted item, a place or a check; a name of a later version is shown as it is. */
function named(t, group, name) {
  const key = `${group}_${name.replace(/ /g, '_')}`;
  return key in texts.en ? t(key) : name;
}

/** The names of a scope. */
function scopeText(scope, t) {
  const names = SCOPE_NAMES.filter((name) => typeof scope?.[name] === 'string');
  return names.map((name) => `${t(name)} ${scope[name]}`).join(', ');
}

function CertificateDetails({ certificate }) {
  const t = useTexts(texts);
  const { search, removed } = certificate;
  const facts = [
    ['scope', html`<${MemoryName} name=${scopeText(certificate.scope, t)} />`],
    ['target', t(certificate.target)],
    ['begun', formatTime(certificate.begun_at)],
    ['searched', formatTime(certificate.searched_at)],
    ['records', formatNumber(certificate.records.length)],
    ['residue', html`<${Badge} tone=${certificate.residue === 0 ? 'good' : 'bad'}>
      ${formatNumber(certificate.residue)}<//>`],
    ['copies', formatNumber(search.remaining_copies.length + search.remaining_statements)],
    ['store', certificate.store.id ? `${certificate.store.system}, ${certificate.store.id}` : certificate.store.system],
    ['engine', certificate.engine],
    ['signedBy', html`<code>${certificate.algorithm} ${certificate.public_key}</code>`],
  ];
  return html`<dl class="certificate">${facts.map(([name, value]) => html`<div key=${name}>
      <dt>${t(name)}</dt><dd>${value}</dd></div>`)}</dl>
    <${RemovedItems} removed=${removed} />
    <${SearchedPlaces} places=${search.places} />
    <h3>${t('limits')}</h3>
    <ul class="limits">${search.limits.map((limit) => html`<li key=${limit}>${limit}</li>`)}
      ${search.short_texts > 0 && html`<li>${t('shortTexts', {
        count: search.short_texts, n: formatNumber(search.short_texts) })}</li>`}
      <li>${t('outside')}${' '}
        <a href=${REFERENCE} target="_blank" rel="noreferrer noopener">${t('reference')}</a></li></ul>`;
}

function RemovedItems({ removed }) {
  const t = useTexts(texts);
  const rows = [
    ...Object.entries(removed.records).map(([kind, count]) => ({ name: t('recordsOf', { kind }), count })),
    ...Object.entries(removed.items).map(([name, count]) => ({ name: named(t, 'item', name), count })),
  ].filter((row) => row.count > 0);
  const columns = [
    { title: t('item'), name: 'name' },
    { title: t('count'), align: 'end', cell: (row) => formatNumber(row.count) },
  ];
  return html`<details><summary>${t('removed')}</summary>
    <${Table} caption=${t('removed')} columns=${columns} rows=${rows} rowKey=${(row) => row.name} /></details>`;
}

const tracesOf = (place) => (place.keeps_ids ? 0 : place.ids ?? 0) + (place.orphans ?? 0) + (place.texts ?? 0);

function SearchedPlaces({ places }) {
  const t = useTexts(texts);
  const title = t('places', { count: places.length, n: formatNumber(places.length) });
  const columns = [
    { title: t('place'), name: 'name' },
    { title: t('kind'), cell: (place) => named(t, 'kind', place.kind) },
    { title: t('rows'), align: 'end', cell: (place) => (place.not_searched
      ? t('notSearched', { reason: place.not_searched }) : formatNumber(place.searched)) },
    { title: t('traces'), align: 'end', cell: (place) => formatNumber(tracesOf(place)) },
  ];
  // Places with traces are what a reader looks for.
  const rows = [...places].sort((left, right) => tracesOf(right) - tracesOf(left));
  return html`<details open=${rows.some((place) => tracesOf(place) > 0)}><summary>${title}</summary>
    <${Table} caption=${title} columns=${columns} rows=${rows}
      rowKey=${(place) => `${place.kind} ${place.name}`} /></details>`;
}

/** A button that verifies a certificate, and the checks. */
function Verification({ certificate }) {
  const t = useTexts(texts);
  const [state, setState] = useState({ busy: false, answer: null, error: null });
  const verify = async () => {
    setState({ busy: true, answer: null, error: null });
    try {
      setState({ busy: false, answer: await post('/api/deletions/verify', certificate), error: null });
    } catch (error) {
      setState({ busy: false, answer: null, error });
    }
  };
  const columns = [
    { title: t('check'), cell: (check) => named(t, 'check', check.name) },
    { title: t('result'), cell: (check) => html`<${Badge} tone=${check.passed ? 'good' : 'bad'}>
      ${t(check.passed ? 'ok' : 'bad')}<//>` },
    { title: t('detail'), name: 'detail' },
  ];
  const failed = state.answer?.checks.filter((check) => !check.passed).length ?? 0;
  return html`<div class="verification"><button type="button" disabled=${state.busy} onClick=${verify}>
      ${t(state.busy ? 'verifying' : 'verify')}</button>
    ${state.error && html`<${Notice} tone="error">${state.error.message}<//>`}
    ${state.answer && html`<${Notice} tone=${state.answer.passed ? 'success' : 'error'}>
        ${state.answer.passed ? t('passed') : t('failed', { count: failed, n: formatNumber(failed) })}<//>
      <${Table} caption=${t('checks')} columns=${columns} rows=${state.answer.checks}
        rowKey=${(check) => check.name} />`}</div>`;
}
