// The view "Undo": retractions that can be restored, memories that wait for a review, branches, and merges.

import { html, useState } from '../lib/ui.js';
import { useTexts } from '../lib/texts.js';
import { useGet } from '../lib/api.js';
import { formatNumber, formatTime } from '../lib/format.js';
import { navigate, routeTo } from '../lib/route.js';
import { Badge, Empty, Loaded, MemoryName, MemoryText, Notice, Panel, Table, Tabs } from '../lib/components.js';
import { ChooseUser, mustChooseUser } from '../lib/choose_user.js';
import { sessionNames } from '../lib/owner.js';
import { Retractions } from '../lib/retractions.js';
import { ReviewQueue } from '../lib/review_queue.js';

const texts = {
  en: {
    tabs: 'What to undo', retractions: 'Retractions', review: 'Review', branches: 'Branches', merges: 'Merges',
    noBranches: 'No branches',
    noBranchesText: 'A conversation is continued on a second branch with “memory fork”, or with the call “fork”. '
      + 'The branches, their parents and the messages that they share are then listed here.',
    from: 'from {parent}, after message {at}', mainLine: 'the main line', forked: 'forked {time}',
    noSession: 'without a session', alone: 'sees nothing of its parent', shared: 'sees its parent up to the fork',
    branchRecords: ['{n} record of its own', '{n} records of its own'], lastShared: 'Last message that both share',
    noShared: 'No message before the fork is stored any more.', memories: 'Its memories', next: 'Older',
    first: 'Latest', noMerges: 'No merge in the audit log',
    conflicts: 'Conflicts of a merge are not stored. “memory merge” prints the first 20 of them with the version '
      + 'that was kept, and up to 1,000 with --json. “memory merge --dry-run” lists them before anything changes.',
    noMergesText: 'The audit log is off until “memory audit start”, and lists the merges after that.',
    started: 'Time', by: 'Key', program: 'Program', entries: 'Log entries', records: 'Records written',
    outcome: 'Outcome', ok: 'no failure logged', failed: 'failed: {error}', mergesTitle: 'Merges in the audit log',
    moreMerges: 'Look at older entries', contradictions: 'Facts that contradict each other are in the view “Facts”.',
    openFacts: 'Open “Facts”',
  },
  zh: {
    tabs: '可撤销的内容', retractions: '撤回', review: '审核', branches: '分支', merges: '合并',
    noBranches: '没有分支',
    noBranchesText: '用“memory fork”命令或 fork 调用可以让会话在另一条分支上继续。分支、其上级分支以及共享的消息会列在这里。',
    from: '从{parent}分出，位于第 {at} 条消息之后', mainLine: '主线', forked: '{time} 分出', noSession: '没有会话', alone: '看不到上级分支的内容',
    shared: '可见上级分支在分叉点之前的内容', branchRecords: '自身有 {n} 条记录', lastShared: '两条分支共享的最后一条消息', noShared: '分叉点之前的消息均已不在。',
    memories: '查看其记忆', next: '更早', first: '最新', noMerges: '审计日志中没有合并',
    conflicts: '合并的冲突不会保存。“memory merge”会打印前 20 个冲突及所保留的版本，加 --json 最多打印 1,000 个。“memory merge '
      + '--dry-run”可以在改动之前列出冲突。',
    noMergesText: '执行“memory audit start”之后才会记录审计日志，此后的合并会列在这里。', started: '时间', by: '密钥', program: '程序',
    entries: '日志条目', records: '写入的记录', outcome: '结果', ok: '未记录失败', failed: '失败：{error}', mergesTitle: '审计日志中的合并',
    moreMerges: '查看更早的条目', contradictions: '相互矛盾的事实在“事实”视图中。', openFacts: '打开“事实”',
  },
};

const TABS = ['retractions', 'review', 'branches', 'merges'];
/** Log entries of the same key with at most this time between them belong to one merge, in milliseconds. */
const MERGE_GAP_MS = 5 * 60 * 1000;
const PAGE_ENTRIES = 500;

/** The view "Undo". */
export default function Undo({ params, owner, users }) {
  const t = useTexts(texts);
  if (mustChooseUser(owner, users)) return html`<${ChooseUser} view="undo" users=${users} />`;
  const selected = TABS.includes(params.tab) ? params.tab : TABS[0];
  const select = (tab) => navigate('undo', { ...params, tab }, { replace: true });
  const shown = { retractions: Retractions, review: ReviewQueue, branches: Branches, merges: Merges }[selected];
  // A changed owner is another list: its pages and choices begin again.
  return html`<${Tabs} label=${t('tabs')} selected=${selected} onSelect=${select}
      tabs=${TABS.map((id) => ({ id, title: t(id) }))} />
    <div role="tabpanel" aria-label=${t(selected)}>
      <${shown} key=${`${selected} ${JSON.stringify(owner)}`} owner=${owner} /></div>`;
}

/** The branches of the user's conversations, the latest first. */
function Branches({ owner }) {
  const t = useTexts(texts);
  const [cursor, setCursor] = useState('');
  const read = useGet('/api/inspector/undo/branches', { ...owner, cursor });
  return html`<${Panel}><${Loaded} read=${read}>${(page) => html`
    ${page.branches.length === 0 && html`<${Empty} title=${t('noBranches')}>${t('noBranchesText')}<//>`}
    ${page.branches.map((branch) => html`<${BranchCard} key=${branchKey(branch)} branch=${branch} owner=${owner} />`)}
    ${(page.next_cursor || cursor) && html`<div class="form-actions">
      <button type="button" disabled=${!cursor} onClick=${() => setCursor('')}>${t('first')}</button>
      <button type="button" disabled=${!page.next_cursor}
        onClick=${() => setCursor(page.next_cursor)}>${t('next')}</button></div>`}
  `}<//><//>`;
}

const branchKey = (branch) => JSON.stringify([branch.agent_id, branch.session_id, branch.branch]);

function BranchCard({ branch, owner }) {
  const t = useTexts(texts);
  const { agent_id, session_id } = branch;
  const memories = routeTo('memories', { user_id: owner.user_id, agent_id, session_id, branch: branch.branch });
  const from = t('from', { parent: branch.parent ?? t('mainLine'), at: branch.at });
  return html`<article class="record" data-branch=${branch.branch}>
    <header><strong>${branch.session_id ? html`<${MemoryName}
          name=${sessionNames(branch.session_id, branch.title).join(' · ')} />` : t('noSession')}
        ${' › '}<${MemoryName} name=${branch.branch ?? ''} /></strong>
      <span class="branch-from">${from}</span></header>
    <p class="hint">${t('forked', { time: formatTime(branch.forked_at) })} · ${t('branchRecords', {
      count: branch.records, n: formatNumber(branch.records) })} · ${t(branch.inherits ? 'shared' : 'alone')}</p>
    ${branch.last_shared && html`<p class="hint">${t('lastShared')}</p>
      <blockquote class="quoted"><${MemoryText} text=${branch.last_shared.text} /></blockquote>`}
    ${branch.inherits && !branch.last_shared && html`<p class="hint">${t('noShared')}</p>`}
    <div class="record-actions"><a href=${memories}>${t('memories')}</a></div>
  </article>`;
}

/** The merges in the audit log. Their conflicts are not stored anywhere. */
function Merges({ owner }) {
  const t = useTexts(texts);
  const [after, setAfter] = useState(null);
  const { user_id, agent_id, session_id } = owner;
  const read = useGet('/api/audit', { user_id, agent_id, session_id, action: 'import', limit: PAGE_ENTRIES, after });
  const columns = [
    { title: t('started'), cell: (merge) => formatTime(merge.began) },
    { title: t('by'), cell: (merge) => html`<${MemoryName} name=${merge.key ?? '–'} />` },
    { title: t('program'), cell: (merge) => html`<${MemoryName} name=${merge.agent ?? '–'} />` },
    { title: t('entries'), align: 'end', cell: (merge) => formatNumber(merge.entries) },
    { title: t('records'), align: 'end', cell: (merge) => formatNumber(merge.records) },
    { title: t('outcome'), cell: (merge) => (merge.error
      ? html`<${Badge} tone="bad">${t('failed', { error: merge.error })}<//>` : t('ok')) },
  ];
  return html`<${Panel} title=${t('mergesTitle')}>
    <${Notice}>${t('conflicts')}${' '}${t('contradictions')}${' '}
      <a href=${routeTo('facts', owner)}>${t('openFacts')}</a><//>
    <${Loaded} read=${read}>${(page) => {
      const merges = mergesOf(page.entries);
      return html`${merges.length === 0 && html`<${Empty} title=${t('noMerges')}>${t('noMergesText')}<//>`}
        ${merges.length > 0 && html`<${Table} caption=${t('mergesTitle')} columns=${columns} rows=${merges}
          rowKey=${(merge) => merge.sequence} />`}
        ${page.next !== undefined && html`<div class="form-actions"><span></span><button type="button"
          onClick=${() => setAfter(page.next)}>${t('moreMerges')}</button></div>`}`;
    }}<//><//>`;
}

/** Groups log entries, the newest first, into merges: a merge writes an entry for each page of records. */
export function mergesOf(entries) {
  const merges = [];
  for (const entry of entries.filter((one) => one.operation === 'merge')) {
    const last = merges[merges.length - 1];
    const continues = last && last.key === entry.key && new Date(last.began) - new Date(entry.at) <= MERGE_GAP_MS;
    if (!continues) merges.push({ key: entry.key, agent: entry.agent, entries: 0, records: 0, error: null });
    const merge = merges[merges.length - 1];
    merge.began = entry.at;
    merge.sequence = entry.sequence;
    merge.entries += 1;
    if (entry.outcome === 'failed') merge.error = entry.error ?? '?';
    else merge.records += entry.count ?? 0;
  }
  return merges;
}
