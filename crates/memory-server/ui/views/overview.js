// Overview: how much is stored, how it grows, and whether the background work keeps up.

import { Fragment, html, useMemo, useState } from '../lib/ui.js';
import { useTexts } from '../lib/texts.js';
import { formatBytes, formatDate, formatNumber, formatPercent, formatTime } from '../lib/format.js';
import { ownerOf } from '../lib/owner.js';
import { routeTo } from '../lib/route.js';
import { useGet } from '../lib/api.js';
import { Badge, Bar, Empty, Figure, Loaded, MemoryName, Notice, Panel, Table, Tabs } from '../lib/components.js';
import { LineChart } from '../lib/chart.js';
import { jobName, kindName, stateName } from '../lib/names.js';

const texts = {
  en: {
    refresh: 'Refresh', records: 'Records', active: 'Active', users: 'Users', deleted: 'Deleted', since: 'Since',
    newest: 'Newest', recordsHint: 'in all states', activeHint: 'count in search', deletedHint: 'tombstones are kept',
    shownUser: 'Figures of {user}', noneTitle: 'No memories yet',
    noneText: 'Import conversations with “memory import”, connect an application to the chat gateway, or store a '
      + 'record with POST /v1/memories/. Then reload this page.',
    kinds: 'By kind', states: 'By state', growth: 'Records over time', total: 'Total', new: 'New',
    growthBy: 'What the chart shows', perDay: 'New records per day', perWeek: 'New records per week',
    perWeeks: 'New records per {weeks} weeks', cumulative: 'Total number of records', others: 'Others',
    allUsers: 'All users', user: 'User', filter: 'Filter users',
    noUser: 'No user in this list has “{filter}” in the name.',
    showAll: 'Show {count} more',
    tooMany: 'The {shown} users with the newest memories, of {total}. Type the whole name of another one above.',
    open: 'Open the user “{name}”',
    health: 'Services', database: 'Database', embedder: 'Embedder', queue: 'Jobs of all memories', ok: 'ready',
    queueOk: 'none failed', databaseDown: 'does not answer', embedderDown: 'failing: search uses keywords only',
    queueDown: 'jobs failed for good', unknown: 'not known', queueTitle: 'Background jobs', job: 'Job',
    waiting: 'Waiting', failed: 'Failed for good', waitingSince: 'Oldest since', noQueue: 'All jobs are done',
    noQueueText: 'Everything that was stored is indexed and processed.', failures: 'Failed jobs', record: 'Record',
    attempts: 'Attempts', reason: 'Reason', next: 'Next attempt', never: 'none',
    remedy: 'After the cause is removed, “memory reindex --failed” tries the jobs again.', indexes: 'Indexes',
    keywords: 'Keyword index', embedding: 'Vector index', filled: '{done} of {total}', server: 'Server',
    version: 'Version', backend: 'Database', other: 'another store', model: 'Embedder', zone: 'Time zone',
    size: 'Size of the database', journal: 'journal', caches: 'index caches', noSize: 'not known for this database',
  },
  zh: {
    refresh: '刷新', records: '记录', active: '有效', users: '用户', deleted: '已删除', since: '最早', newest: '最新',
    recordsHint: '所有状态', activeHint: '参与检索', deletedHint: '保留删除标记', shownUser: '{user} 的数据', noneTitle: '还没有记忆',
    noneText: '可用“memory import”导入对话，把应用接入聊天网关，或用 POST /v1/memories/ 写入记录，然后重新加载此页面。', kinds: '按类型', states: '按状态',
    growth: '记录随时间的变化', total: '累计', new: '新增', growthBy: '图表内容', perDay: '每天新增记录', perWeek: '每周新增记录',
    perWeeks: '每 {weeks} 周新增记录', cumulative: '累计记录数', others: '其他', allUsers: '所有用户', user: '用户', filter: '筛选用户',
    noUser: '此列表中没有名称包含“{filter}”的用户。', showAll: '再显示 {count} 个',
    tooMany: '共 {total} 个用户，此处为记忆最新的 {shown} 个。可在上方输入其他用户的完整名称。', open: '打开用户“{name}”',
    health: '服务', database: '数据库',
    embedder: '向量模型', queue: '全部记忆的任务', ok: '正常', queueOk: '没有失败', databaseDown: '没有响应', embedderDown: '故障：仅用关键词检索',
    queueDown: '有任务最终失败', unknown: '未知', queueTitle: '后台任务', job: '任务', waiting: '等待中', failed: '最终失败',
    waitingSince: '最早排队时间', noQueue: '所有任务均已完成', noQueueText: '已存储的内容都已建立索引并处理完毕。', failures: '失败的任务', record: '记录',
    attempts: '尝试次数', reason: '原因', next: '下次尝试', never: '无', remedy: '排除原因后，可用“memory reindex --failed”重新执行这些任务。',
    indexes: '索引', keywords: '关键词索引', embedding: '向量索引', filled: '{done} / {total}', server: '服务器', version: '版本',
    backend: '数据库', other: '其他存储', model: '向量模型', zone: '时区', size: '数据库大小', journal: '日志', caches: '索引缓存',
    noSize: '此数据库的大小未知',
  },
};

/** Number of users that are shown before "Show more". */
const SHOWN_USERS = 12;
/** Number of kinds with a line of their own. */
const CHART_KINDS = 5;
const BACKENDS = { sqlite: 'SQLite', postgres: 'PostgreSQL' };

/** The view. */
export default function Overview({ params, users }) {
  const t = useTexts(texts);
  const owner = ownerOf(params);
  const overview = useGet('/api/inspector/overview', owner);
  const growth = useGet('/api/inspector/overview/growth', owner);
  const refresh = () => [overview, growth, users].forEach((read) => read.reload());
  const [beforeUser, afterUser] = t('shownUser', { user: '\n' }).split('\n');
  return html`<div class="overview">
    <div class="view-actions">${owner.user_id && html`<span>${beforeUser}<bdi>${owner.user_id}</bdi>${afterUser}
        ${' '}<a href="#/overview">${t('allUsers')}</a></span>`}
      <button type="button" onClick=${refresh}>${t('refresh')}</button></div>
    <${Loaded} read=${overview}>${(data) => html`
      <${Totals} totals=${data.totals} users=${owner.user_id ? null : users.data} />
      ${data.totals.records === 0 ? html`<${Panel}><${Empty} title=${t('noneTitle')}>${t('noneText')}<//><//>` : html`
        <${Panel} title=${t('growth')}>
          <${Loaded} read=${growth}>${(counts) => html`<${GrowthChart} growth=${counts} />`}<//><//>
        <div class="columns">
          <${Panel} title=${t('kinds')}><${Counts} counts=${data.totals.kinds} nameOf=${kindName} /><//>
          <${Panel} title=${t('states')}><${Counts} counts=${data.totals.states} nameOf=${stateName} /><//>
        </div>`}
      ${!owner.user_id && html`<${Loaded} read=${users}>${(list) => html`<${UserList} list=${list} />`}<//>`}
      <${Queue} data=${data} />
      <div class="columns"><${Services} /><${ServerFacts} data=${data} /></div>`}<//>
  </div>`;
}

function Totals({ totals, users }) {
  const t = useTexts(texts);
  return html`<${Panel}><div class="figures">
    <${Figure} label=${t('records')} value=${totals.records} hint=${t('recordsHint')} />
    <${Figure} label=${t('active')} value=${totals.states.active ?? 0} hint=${t('activeHint')} />
    ${users && html`<${Figure} label=${t('users')} value=${users.total} />`}
    <${Figure} label=${t('deleted')} value=${totals.tombstones} hint=${t('deletedHint')} />
    <${Figure} label=${t('since')} value=${formatDate(totals.oldest)} />
    <${Figure} label=${t('newest')} value=${formatDate(totals.newest)} />
  </div><//>`;
}

/** Bars of numbers by name, largest first. */
function Counts({ counts, nameOf }) {
  const entries = Object.entries(counts).sort(([, a], [, b]) => b - a);
  const total = entries.reduce((sum, [, count]) => sum + count, 0);
  return html`<div class="bars">${entries.map(([name, count]) => html`<${Bar} key=${name} label=${nameOf(name)}
    share=${count / total} value=${`${formatNumber(count)} · ${formatPercent(count / total)}`} />`)}</div>`;
}

/** Numbers of records by kind over time, as totals or for each period. */
function GrowthChart({ growth }) {
  const t = useTexts(texts);
  const [shown, setShown] = useState('total');
  const others = t('others');
  const { times, series } = useMemo(() => chartOf(growth, shown === 'total', others), [growth, shown, others]);
  const perPeriod = { 1: 'perDay', 7: 'perWeek' }[growth.period_days] ?? 'perWeeks';
  const title = shown === 'total' ? t('cumulative') : t(perPeriod, { weeks: growth.period_days / 7 });
  const time = (seconds) => formatDate(new Date(seconds * 1000).toISOString());
  return html`<${Fragment}>
    <${Tabs} label=${t('growthBy')} selected=${shown} onSelect=${setShown}
      tabs=${[{ id: 'total', title: t('total') }, { id: 'new', title: t('new') }]} />
    <p class="hint">${title}</p>
    <${LineChart} title=${title} times=${times} series=${series} format=${formatNumber} formatTime=${time}
      isCount />
  <//>`;
}

/** Returns the times in seconds, and a series for each of the most frequent kinds and for all others. */
function chartOf(growth, isCumulative, others) {
  const times = growth.starts.map((start) => Date.parse(start) / 1000);
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const kinds = Object.entries(growth.kinds).sort(([, a], [, b]) => sum(b) - sum(a));
  const rows = kinds.slice(0, CHART_KINDS).map(([kind, values]) => [kindName(kind), values]);
  const rest = kinds.slice(CHART_KINDS).map(([, values]) => values);
  if (rest.length > 0) rows.push([others, times.map((_, index) => sum(rest.map((values) => values[index])))]);
  const series = rows.map(([label, values], index) => ({
    label, values: isCumulative ? runningTotals(values) : values, color: `--series-${index + 1}`,
  }));
  return { times, series };
}

function runningTotals(values) {
  let total = 0;
  return values.map((value) => {
    total += value;
    return total;
  });
}

/** The users of the key. A name opens what is known about the user. */
function UserList({ list }) {
  const t = useTexts(texts);
  const [filter, setFilter] = useState('');
  const [showsAll, setShowsAll] = useState(false);
  if (list.users.length === 0) return null;
  const matching = list.users.filter((user) => user.user_id.toLowerCase().includes(filter.trim().toLowerCase()));
  const rows = showsAll ? matching : matching.slice(0, SHOWN_USERS);
  const hidden = matching.length - rows.length;
  const isCut = list.total > list.users.length;
  const columns = [
    { title: t('user'), cell: (user) => html`<a href=${routeTo('about', { user_id: user.user_id })}><${MemoryName}
      name=${user.user_id} /></a>` },
    { title: t('records'), align: 'end', cell: (user) => formatNumber(user.records) },
    { title: t('newest'), align: 'end', cell: (user) => formatTime(user.newest) },
  ];
  const search = list.users.length > SHOWN_USERS && html`<label><span class="visually-hidden">${t('filter')}</span>
    <input type="search" placeholder=${t('filter')} value=${filter}
      onInput=${(event) => setFilter(event.target.value)} /></label>`;
  return html`<${Panel} title=${t('users')} actions=${search}>
    ${rows.length === 0 ? html`<p class="hint" role="status">${t('noUser', { filter })}</p>`
      : html`<${Table} caption=${t('users')} columns=${columns} rows=${rows} rowKey=${(user) => user.user_id} />`}
    ${hidden > 0 && html`<p><button type="button" class="link" onClick=${() => setShowsAll(true)}>
      ${t('showAll', { count: hidden })}</button></p>`}
    ${isCut && filter.trim() && html`<p><a href=${routeTo('about', { user_id: filter.trim() })}>
      <bdi>${t('open', { name: filter.trim() })}</bdi></a></p>`}
    ${isCut && html`<p class="hint">
      ${t('tooMany', { shown: list.users.length, total: list.total })}</p>`}
  <//>`;
}

/** Waiting and failed jobs, and how full the indexes are. */
function Queue({ data }) {
  const t = useTexts(texts);
  const columns = [
    { title: t('job'), cell: (row) => jobName(row.job) },
    { title: t('waiting'), align: 'end', cell: (row) => formatNumber(row.waiting) },
    { title: t('failed'), align: 'end', cell: (row) => (row.dead_letters > 0
      ? html`<${Badge} tone="bad">${formatNumber(row.dead_letters)}<//>` : '0') },
    { title: t('waitingSince'), align: 'end', cell: (row) => formatTime(row.waiting_since) },
  ];
  const hasFailed = data.queue.some((row) => row.dead_letters > 0);
  return html`<${Panel} title=${t('queueTitle')}>
    ${data.queue.length === 0
      ? html`<p><${Badge} tone="good">${t('noQueue')}<//> <span class="hint">${t('noQueueText')}</span></p>`
      : html`<${Table} caption=${t('queueTitle')} columns=${columns} rows=${data.queue} rowKey=${(row) => row.job} />`}
    ${hasFailed && html`<${Notice} tone="warn">${t('remedy')}<//>`}
    ${data.totals.records > 0 && html`<div class="bars indexes">${data.indexes.map((index) => html`
      <${IndexBar} key=${index.index} index=${index} />`)}</div>`}
    ${data.failures.length > 0 && html`<${Failures} failures=${data.failures} />`}
  <//>`;
}

function IndexBar({ index }) {
  const t = useTexts(texts);
  const done = Math.max(0, index.records - index.waiting - index.dead_letters);
  const value = t('filled', { done: formatNumber(done), total: formatNumber(index.records) });
  const share = index.records === 0 ? 1 : done / index.records;
  return html`<${Bar} label=${t(index.index)} share=${share} value=${value} />`;
}

function Failures({ failures }) {
  const t = useTexts(texts);
  const columns = [
    { title: t('job'), cell: (row) => jobName(row.job) },
    { title: t('user'), cell: (row) => (row.user_id ? html`<${MemoryName} name=${row.user_id} />` : '–') },
    { title: t('reason'), cell: (row) => html`<span class="reason">${row.reason}</span>` },
    { title: t('attempts'), align: 'end', name: 'attempts' },
    { title: t('next'), align: 'end', cell: (row) => (row.retry_at ? formatTime(row.retry_at) : t('never')) },
  ];
  return html`<h3 class="sub">${t('failures')}</h3>
    <${Table} caption=${t('failures')} columns=${columns} rows=${failures}
      rowKey=${(row) => `${row.id} ${row.job}`} />`;
}

/** What `/ready` says about database, queue and embedder. It answers 503 if the database is down. */
function Services() {
  const t = useTexts(texts);
  const ready = useGet('/ready');
  const states = ready.data ?? (ready.error ? { database: 'down' } : null);
  const state = (name) => {
    if (states === null) return html`<${Badge}>…<//>`;
    if (states[name] === undefined) return html`<${Badge}>${t('unknown')}<//>`;
    if (states[name] === 'ok') return html`<${Badge} tone="good">${t(name === 'queue' ? 'queueOk' : 'ok')}<//>`;
    return html`<${Badge} tone=${name === 'database' ? 'bad' : 'warn'}>${t(`${name}Down`)}<//>`;
  };
  const names = ['database', 'embedder', 'queue'];
  return html`<${Panel} title=${t('health')}><dl class="facts-list">${names.map((name) => html`
    <div key=${name}><dt>${t(name)}</dt><dd>${state(name)}</dd></div>`)}</dl><//>`;
}

function ServerFacts({ data }) {
  const t = useTexts(texts);
  const { server, storage } = data;
  const parts = storage && [['journal', storage.journal_bytes], ['caches', storage.cache_bytes]]
    .filter(([, bytes]) => bytes > 0).map(([name, bytes]) => `${t(name)} ${formatBytes(bytes)}`).join(', ');
  const size = storage && html`${formatBytes(storage.database_bytes)}
    ${parts && html` <span class="hint">+ ${parts}</span>`}`;
  const facts = [
    ['version', server.version],
    ['backend', BACKENDS[server.backend] ?? t('other')],
    ['size', size ?? html`<span class="hint">${t('noSize')}</span>`],
    ['model', server.embedder],
    ['zone', server.zone],
  ];
  return html`<${Panel} title=${t('server')}><dl class="facts-list">${facts.map(([name, value]) => html`
    <div key=${name}><dt>${t(name)}</dt><dd>${value}</dd></div>`)}</dl><//>`;
}
