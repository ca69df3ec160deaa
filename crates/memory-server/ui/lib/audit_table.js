// Entries of the audit log as a table.

import { html } from './ui.js';
import { useTexts } from './texts.js';
import { routeTo } from './route.js';
import { formatNumber, formatTime } from './format.js';
import { Badge, MemoryName, Table } from './components.js';

const texts = {
  en: {
    at: 'Time', action: 'What', operation: 'Call', key: 'Key', agent: 'Program', user: 'User', records: 'Records',
    failed: 'failed: {error}', write: 'stored', change: 'changed', retract: 'retracted', restore: 'restored',
    delete: 'deleted', import: 'imported', export: 'listed or exported', review: 'reviewed', redact: 'secrets removed',
    derive: 'derived', expire: 'expired', start: 'log began', prune: 'log shortened', open: 'Open this memory',
  },
  zh: {
    at: '时间', action: '操作', operation: '调用', key: '密钥', agent: '程序', user: '用户', records: '记录',
    failed: '失败：{error}', write: '存入', change: '更改', retract: '撤回', restore: '恢复', delete: '删除',
    import: '导入', export: '列出或导出', review: '审核', redact: '移除机密',
    derive: '派生', expire: '过期', start: '日志开始', prune: '日志缩短', open: '打开这条记忆',
  },
};

/** The actions of the log. */
export const ACTIONS = [
  'write', 'change', 'retract', 'restore', 'delete', 'import', 'export', 'review', 'redact', 'derive', 'expire',
  'start', 'prune',
];

/** Returns the function that names an action. */
export function useActionName() {
  const t = useTexts(texts);
  return (action) => (ACTIONS.includes(action) ? t(action) : action);
}

/** A table of entries. An entry about one record opens it. */
export function AuditTable({ entries, caption }) {
  const t = useTexts(texts);
  const actionName = useActionName();
  const name = (value) => (value ? html`<${MemoryName} name=${value} />` : '–');
  const records = ({ count, records: ids = [], scope, action }) => (ids.length === 1 && action !== 'delete'
    ? html`<a href=${routeTo('record', { user_id: scope?.user, id: ids[0] })} title=${t('open')}>
        ${formatNumber(count)}</a>`
    : formatNumber(count));
  const columns = [
    { title: t('at'), cell: (entry) => html`<span class="nowrap">${formatTime(entry.at)}</span>` },
    { title: t('action'), cell: (entry) => html`<span class="nowrap">${actionName(entry.action)}</span>
      ${entry.error && html` <${Badge} tone="bad">${t('failed', { error: entry.error })}<//>`}` },
    { title: t('records'), align: 'end', cell: records },
    { title: t('user'), cell: (entry) => name(entry.scope?.user) },
    { title: t('key'), cell: (entry) => name(entry.key) },
    { title: t('agent'), cell: (entry) => name(entry.agent) },
    { title: t('operation'), cell: (entry) => html`<code>${entry.operation}</code>` },
  ];
  return html`<${Table} caption=${caption} columns=${columns} rows=${entries} />`;
}
