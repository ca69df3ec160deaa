// Operations: how fast the server answers, what fails, and what the upstreams cost.

import { Fragment, html, useEffect, useRef, useState } from '../lib/ui.js';
import { useTexts } from '../lib/texts.js';
import { formatClock, formatDuration, formatNumber, formatPercent, formatTime } from '../lib/format.js';
import { ownerOf } from '../lib/owner.js';
import { useGet } from '../lib/api.js';
import { stageName } from '../lib/names.js';
import { Badge, Empty, Figure, Loaded, MemoryName, Notice, Panel, Table } from '../lib/components.js';

const texts = {
  en: {
    pause: 'Pause', resume: 'Resume', refresh: 'Refresh', every: 'Refreshes every 5 seconds', paused: 'Paused',
    at: 'as of {time}', since: 'Counted since {time}, when the server started.',
    off: 'Metrics are switched off, so there are no latencies, errors or tokens. Set “metrics.enabled = true” in '
      + 'the configuration of the server (it is the default), and start it again.',
    hidden: 'Latencies, errors and tokens are those of all users. Open the page with a key for all users to see them.',
    estimated: 'Percentiles (p50: half of the requests are at most this slow) are interpolated within the '
      + 'buckets of a histogram: estimates, not exact values. Fewer than 5 requests have none.',
    requests: 'Requests', perSecond: '{rate} per second', serverErrors: 'Server errors', refused: 'Refused',
    recalls: 'Recalls', hitRate: 'Something found', hitHint: 'also below the threshold',
    injectionRate: 'Injection rate',
    injectionHint: 'chat prompts with memories', none: 'no {what} yet', recallsName: 'recalls', chats: 'chats',
    routes: 'Routes', route: 'Route', count: 'Requests', mean: 'Mean', errors: 'Errors', noRoutes: 'No requests yet',
    noRoutesText: 'Requests are counted from the start of the server.', onlyOwn: 'Only this page has asked so far',
    ownRoutes: 'Show routes that this page uses',
    stages: 'Stages of a recall', stage: 'Stage', runs: 'Runs', degraded: 'Failed or late', whole: 'whole recall',
    noRecalls: 'No recalls yet', noRecallsText: 'Search in the view “Search”, or send a chat through the gateway.',
    upstreams: 'Upstreams of the chat gateway', upstream: 'Upstream', replies: 'Replies', prompt: 'Prompt tokens',
    cached: 'of them cached', completion: 'Reply tokens', cost: 'Cost', failed: 'Failed', noUpstreams: 'No chats yet',
    noUpstreamsText: 'Tokens are counted when a chat goes through the gateway. Upstreams are in '
      + '“gateway.upstreams” of the configuration.',
    noPrice: 'no price set',
    priceHint: 'Costs need a price: set “gateway.prices.NAME” with “prompt” and “completion”, per million '
      + 'tokens, in the configuration. No prices are built in.',
    unreported: ['{count} reply without reported tokens: the figures '
      + 'are lower than the truth. A stream reports them if the client sets “stream_options.include_usage”.',
      '{count} replies without reported tokens: the figures '
      + 'are lower than the truth. A stream reports them if the client sets “stream_options.include_usage”.'],
    models: 'Calls of models and upstreams', model: 'Call', calls: 'Calls', retries: 'Retries',
    prompts: 'Injection by rule', rule: 'Rule', injected: 'Injected', empty: 'Nothing to inject',
    notReady: 'Nothing, since a stage failed', log: 'Latest degraded recalls',
    logHint: 'Without queries and memories. This process keeps the latest 200.', time: 'Time', user: 'User',
    reasons: 'Stages and reasons', hits: 'Hits', showAll: 'Show {count} more', allFailed: 'failed',
    noDegraded: 'No degraded recalls',
    noDegradedText: 'Every stage took part in every recall since the server started.',
  },
  zh: {
    pause: '暂停', resume: '继续', refresh: '刷新', every: '每 5 秒刷新', paused: '已暂停', at: '截至 {time}',
    since: '自服务器启动（{time}）起累计。', off: '指标已关闭，因此没有延迟、错误和令牌数据。请在服务器配置中设置“metrics.enabled = true”（默认即为开启）并重新启动。',
    hidden: '延迟、错误和令牌属于全部用户的数据。请使用可访问所有用户的密钥打开此页面。',
    estimated: '百分位数（p50：一半的请求不慢于此值）由直方图分桶内插得到，是估计值而非精确值。少于 5 次请求时不显示。',
    requests: '请求', perSecond: '每秒 {rate} 次', serverErrors: '服务器错误', refused: '被拒绝', recalls: '检索', hitRate: '有结果的检索',
    hitHint: '包括低于阈值的结果', injectionRate: '注入率', injectionHint: '带有记忆的聊天提示', none: '还没有{what}', recallsName: '检索',
    chats: '聊天', routes: '路由', route: '路由', count: '请求数', mean: '平均', errors: '错误', noRoutes: '还没有请求',
    noRoutesText: '请求从服务器启动时开始计数。', onlyOwn: '目前只有本页面发出过请求', ownRoutes: '显示本页面使用的路由', stages: '检索的各阶段', stage: '阶段',
    runs: '次数',
    degraded: '失败或超时', whole: '整个检索', noRecalls: '还没有检索', noRecallsText: '可在“检索”视图中搜索，或通过网关发送聊天。',
    upstreams: '聊天网关的上游', upstream: '上游', replies: '回复', prompt: '提示令牌', cached: '其中已缓存', completion: '回复令牌',
    cost: '费用', failed: '失败', noUpstreams: '还没有聊天', noUpstreamsText: '聊天经过网关时会统计令牌。上游在配置的“gateway.upstreams”中设置。',
    noPrice: '未设置价格', priceHint: '费用需要价格：请在配置中设置“gateway.prices.名称”的“prompt”和“completion”（每百万令牌）。程序不内置任何价格。',
    unreported: '{count} 条回复未报告令牌数，因此数字低于实际。客户端设置“stream_options.include_usage”后，流式回复才会报告。', models: '模型与上游调用',
    model: '调用', calls: '次数', retries: '重试', prompts: '按规则的注入', rule: '规则', injected: '已注入', empty: '无可注入',
    notReady: '因阶段失败而未注入', log: '最近的降级检索', logHint: '不含查询和记忆。本进程保留最近 200 条。', time: '时间', user: '用户', reasons: '阶段与原因',
    hits: '命中', showAll: '再显示 {count} 条', allFailed: '失败', noDegraded: '没有降级的检索',
    noDegradedText: '自服务器启动以来，每次检索的所有阶段都已参与。',
  },
};

const REFRESH_MS = 5000;
/** Above this, a percentile is in the last bucket, of which only the lower bound is known. */
const LARGEST_BUCKET_MS = 120000;
/** Number of degraded recalls that are shown before "Show more". */
const SHOWN_RECALLS = 15;
/** Routes that this page itself uses. Other programs may use some of them as well. */
const OWN_ROUTES = [
  '/ui', '/openapi.json', '/api/inspector', '/api/records', '/api/review', '/api/deletions', '/api/audit',
];
/** Number of requests below which a percentile says nothing. */
const MIN_COUNT = 5;

/** The view. */
export default function Operations({ params }) {
  const t = useTexts(texts);
  const owner = ownerOf(params);
  const read = useGet('/api/inspector/operations', owner);
  const [isPaused, setPaused] = useState(false);
  useRefresh(read.reload, isPaused);
  const rate = useRequestRate(read.data);
  return html`<div class="operations">
    <div class="view-actions">
      <span class="hint">${t(isPaused ? 'paused' : 'every')}${rate.at && `, ${t('at', { time: rate.at })}`}</span>
      <button type="button" onClick=${() => setPaused(!isPaused)}>${t(isPaused ? 'resume' : 'pause')}</button>
      <button type="button" onClick=${read.reload}>${t('refresh')}</button></div>
    <${Loaded} read=${read}>${(data) => html`
      ${data.metrics === 'off' && html`<${Notice} tone="warn">${t('off')}<//>`}
      ${data.metrics === 'hidden' && html`<${Notice}>${t('hidden')}<//>`}
      ${data.process && html`<${Process} process=${data.process} rate=${rate.perSecond} />`}
      <${DegradedLog} recalls=${data.degraded_recalls} />`}<//>
  </div>`;
}

/** Calls a function every 5 seconds while the page is visible. */
function useRefresh(reload, isPaused) {
  useEffect(() => {
    if (isPaused) return undefined;
    const timer = setInterval(() => document.hidden || reload(), REFRESH_MS);
    return () => clearInterval(timer);
  }, [reload, isPaused]);
}

/** Returns the time of the figures, and the requests per second between the last two reads. */
function useRequestRate(data) {
  const last = useRef({ data: null });
  if (data && last.current.data !== data) {
    const now = performance.now();
    const requests = data.process ? total(data.process.routes, (route) => route.requests) : 0;
    const { requests: earlier, now: before } = last.current;
    const isLater = before !== undefined && now > before && requests >= earlier;
    const perSecond = isLater ? (requests - earlier) / ((now - before) / 1000) : null;
    last.current = { data, now, requests, perSecond, at: formatClock(new Date()) };
  }
  return last.current;
}

const total = (rows, value) => rows.reduce((sum, row) => sum + value(row), 0);

/** Returns the number of responses with these first digits of the status. */
function errorsOf(route, digit) {
  return total(Object.entries(route.errors), ([status, count]) => (status.startsWith(digit) ? count : 0));
}

function Process({ process, rate }) {
  const t = useTexts(texts);
  return html`<${Fragment}>
    <${Summary} process=${process} rate=${rate} />
    <p class="hint">${t('since', { time: formatTime(process.since) })} ${t('estimated')}</p>
    <${Routes} routes=${process.routes} />
    <${Stages} recall=${process.recall} />
    <${Upstreams} upstreams=${process.upstreams} />
    ${process.prompts.length > 0 && html`<${Prompts} prompts=${process.prompts} />`}
    ${process.models.length > 0 && html`<${Models} models=${process.models} />`}
  <//>`;
}

function Summary({ process, rate }) {
  const t = useTexts(texts);
  const { routes, recall, prompts } = process;
  const promptCount = total(prompts, (row) => row.count);
  const injected = total(prompts, (row) => (row.outcome === 'injected' ? row.count : 0));
  const share = (part, whole) => (whole > 0 ? formatPercent(part / whole) : '–');
  const rateHint = rate === null || rate === undefined ? null : t('perSecond', { rate: formatNumber(rate, 1) });
  return html`<${Panel}><div class="figures">
    <${Figure} label=${t('requests')} value=${total(routes, (route) => route.requests)} hint=${rateHint} />
    <${Figure} label=${t('serverErrors')} value=${total(routes, (route) => errorsOf(route, '5'))} hint="5xx" />
    <${Figure} label=${t('refused')} value=${total(routes, (route) => errorsOf(route, '4'))} hint="4xx" />
    <${Figure} label=${t('recalls')} value=${recall.recalls + recall.failed} />
    <${Figure} label=${t('hitRate')} value=${share(recall.with_hits, recall.recalls)}
      hint=${recall.recalls > 0 ? t('hitHint') : t('none', { what: t('recallsName') })} />
    <${Figure} label=${t('injectionRate')} value=${share(injected, promptCount)}
      hint=${promptCount > 0 ? t('injectionHint') : t('none', { what: t('chats') })} />
  </div><//>`;
}

/** Columns of a latency. */
function latencyColumns(t) {
  const cell = (name) => (row) => html`<span class="nowrap">${duration(row.latency[name])}</span>`;
  return [
    { title: t('mean'), align: 'end', cell: cell('mean_ms') },
    ...['p50', 'p90', 'p99'].map((name) => ({
      title: name, align: 'end', cell: (row) => (row.latency.count < MIN_COUNT ? '–' : cell(`${name}_ms`)(row)),
    })),
  ];
}

function duration(ms) {
  return ms >= LARGEST_BUCKET_MS ? `> ${formatDuration(LARGEST_BUCKET_MS)}` : formatDuration(ms);
}

function Routes({ routes }) {
  const t = useTexts(texts);
  const [showsOwn, setShowsOwn] = useState(false);
  const isOwn = ({ route }) => OWN_ROUTES.some((own) => route === own || route.startsWith(`${own}/`));
  const rows = showsOwn ? routes : routes.filter((route) => !isOwn(route));
  const columns = [
    { title: t('route'), cell: (row) => html`<code><span class="method">${row.method}</span> ${row.route}</code>` },
    { title: t('count'), align: 'end', cell: (row) => formatNumber(row.requests) },
    ...latencyColumns(t),
    { title: t('errors'), align: 'end', cell: (row) => html`<${ErrorBadges} errors=${row.errors} />` },
  ];
  const toggle = html`<label class="check"><input type="checkbox" checked=${showsOwn}
    onChange=${(event) => setShowsOwn(event.target.checked)} />${t('ownRoutes')}</label>`;
  return html`<${Panel} title=${t('routes')} actions=${toggle}>
    ${rows.length === 0 ? html`<${Empty} title=${t(routes.length > 0 ? 'onlyOwn' : 'noRoutes')}>
        ${t('noRoutesText')}<//>`
      : html`<${Table} caption=${t('routes')} columns=${columns} rows=${rows}
        rowKey=${(row) => `${row.method} ${row.route}`} />`}
  <//>`;
}

function ErrorBadges({ errors }) {
  const entries = Object.entries(errors);
  if (entries.length === 0) return '–';
  return html`<span class="badges">${entries.map(([status, count]) => html`<${Badge} key=${status}
    tone=${status.startsWith('5') ? 'bad' : 'warn'}>${status}: ${formatNumber(count)}<//>`)}</span>`;
}

function Stages({ recall }) {
  const t = useTexts(texts);
  const rows = [...recall.stages].sort((a, b) => (b.latency.p90_ms ?? 0) - (a.latency.p90_ms ?? 0));
  if (recall.latency.count > 0) rows.unshift({ stage: t('whole'), degraded: recall.failed, latency: recall.latency });
  const columns = [
    { title: t('stage'), cell: (row) => stageName(row.stage) },
    { title: t('runs'), align: 'end', cell: (row) => formatNumber(row.latency.count) },
    ...latencyColumns(t),
    { title: t('degraded'), align: 'end', cell: (row) => (row.degraded > 0
      ? html`<${Badge} tone="warn">${formatNumber(row.degraded)}<//>` : '–') },
  ];
  return html`<${Panel} title=${t('stages')}>
    ${rows.length === 0 ? html`<${Empty} title=${t('noRecalls')}>${t('noRecallsText')}<//>`
      : html`<${Table} caption=${t('stages')} columns=${columns} rows=${rows} rowKey=${(row) => row.stage} />`}
  <//>`;
}

function Upstreams({ upstreams }) {
  const t = useTexts(texts);
  const number = (name) => (row) => formatNumber(row[name]);
  const columns = [
    { title: t('upstream'), name: 'upstream' },
    { title: t('replies'), align: 'end', cell: number('replies') },
    { title: t('failed'), align: 'end', cell: (row) => (row.failed > 0
      ? html`<${Badge} tone="bad">${formatNumber(row.failed)}<//>` : '–') },
    { title: t('prompt'), align: 'end', cell: number('prompt_tokens') },
    { title: t('cached'), align: 'end', cell: number('cached_tokens') },
    { title: t('completion'), align: 'end', cell: number('completion_tokens') },
    { title: t('cost'), align: 'end', cell: (row) => (row.cost === undefined
      ? html`<span class="hint">${t('noPrice')}</span>` : `${formatNumber(row.cost, 4)} ${row.currency}`) },
  ];
  const unreported = total(upstreams, (row) => row.replies_without_usage);
  return html`<${Panel} title=${t('upstreams')}>
    ${upstreams.length === 0 ? html`<${Empty} title=${t('noUpstreams')}>${t('noUpstreamsText')}<//>`
      : html`<${Table} caption=${t('upstreams')} columns=${columns} rows=${upstreams}
        rowKey=${(row) => row.upstream} />`}
    ${unreported > 0 && html`<p class="hint">${t('unreported', { count: unreported })}</p>`}
    ${upstreams.some((row) => row.cost === undefined) && html`<p class="hint">${t('priceHint')}</p>`}
  <//>`;
}

/** Prompts of the chat gateway by injection rule. */
function Prompts({ prompts }) {
  const t = useTexts(texts);
  const rules = [...new Set(prompts.map((row) => row.rule))];
  const count = (rule, outcome) => prompts.find((row) => row.rule === rule && row.outcome === outcome)?.count ?? 0;
  const columns = [
    { title: t('rule'), cell: (rule) => html`<code>${rule}</code>` },
    ...[['injected', 'injected'], ['empty', 'empty'], ['degraded', 'notReady']].map(([outcome, title]) => ({
      title: t(title), align: 'end', cell: (rule) => formatNumber(count(rule, outcome)),
    })),
  ];
  return html`<${Panel} title=${t('prompts')}><${Table} caption=${t('prompts')} columns=${columns} rows=${rules}
    rowKey=${(rule) => rule} /><//>`;
}

function Models({ models }) {
  const t = useTexts(texts);
  const columns = [
    { title: t('model'), cell: (row) => html`<code>${row.operation}</code>` },
    { title: t('calls'), align: 'end', cell: (row) => formatNumber(row.calls) },
    ...latencyColumns(t),
    { title: t('failed'), align: 'end', cell: (row) => (row.failed > 0
      ? html`<${Badge} tone="bad">${formatNumber(row.failed)}<//>` : '–') },
    { title: t('retries'), align: 'end', cell: (row) => formatNumber(row.retries) },
  ];
  return html`<${Panel} title=${t('models')}><${Table} caption=${t('models')} columns=${columns} rows=${models}
    rowKey=${(row) => row.operation} /><//>`;
}

/** The latest recalls in which a stage failed or was late. */
function DegradedLog({ recalls }) {
  const t = useTexts(texts);
  const [showsAll, setShowsAll] = useState(false);
  const rows = showsAll ? recalls : recalls.slice(0, SHOWN_RECALLS);
  const columns = [
    { title: t('time'), cell: (row) => html`<span class="nowrap">${formatTime(row.at)}</span>` },
    { title: t('user'), cell: (row) => (row.user_id ? html`<${MemoryName} name=${row.user_id} />` : '–') },
    { title: t('reasons'), cell: (row) => html`<ul class="reasons">${row.stages.map(({ stage, reason }) => html`
      <li>${stageName(stage)}: <span class="reason">${withoutStage(reason, stage)}</span></li>`)}</ul>` },
    { title: t('hits'), align: 'end', cell: (row) => (row.hits === undefined
      ? html`<${Badge} tone="bad">${t('allFailed')}<//>` : formatNumber(row.hits)) },
  ];
  return html`<${Panel} title=${t('log')}>
    <p class="hint">${t('logHint')}</p>
    ${recalls.length === 0 ? html`<${Empty} title=${t('noDegraded')}>${t('noDegradedText')}<//>`
      : html`<${Table} caption=${t('log')} columns=${columns} rows=${rows} />`}
    ${rows.length < recalls.length && html`<p><button type="button" class="link" onClick=${() => setShowsAll(true)}>
      ${t('showAll', { count: recalls.length - rows.length })}</button></p>`}
  <//>`;
}

/** Returns a reason without the stage that begins it. */
function withoutStage(reason, stage) {
  return reason.startsWith(`${stage}: `) ? reason.slice(stage.length + 2) : reason;
}
