// The companion: affection over time, the stages of the relationship, key moments, and the profile of the user.

import { html, useMemo, useState } from '../lib/ui.js';
import { useTexts } from '../lib/texts.js';
import { pageOf } from '../lib/evidence.js';
import { useGet } from '../lib/api.js';
import { navigate, routeTo } from '../lib/route.js';
import { ownerOf } from '../lib/owner.js';
import { formatDate, formatNumber, formatTime } from '../lib/format.js';
import { Badge, Empty, Field, Figure, Loaded, MemoryName, MemoryText, Panel, Table } from '../lib/components.js';
import { LineChart } from '../lib/chart.js';
import { RecordActions, isStruck } from '../lib/record.js';

const texts = {
  en: {
    companion: 'Companion', affection: 'Affection', ofMax: 'of {max} points', stage: 'Stage', chapter: 'Stage {number}',
    streak: 'Days in a row', messages: 'Messages', lastActive: 'Last message', moments: 'Key moments', noStage: '–',
    relationship: 'Relationship', stages: 'Stages', from: 'from {points} points', current: 'now', reached: 'reached',
    toNext: ['{points} point to “{name}”', '{points} points to “{name}”'], last: 'The last stage is reached.',
    noStages: 'The companion stores the names and thresholds of its stages with its next message.',
    curve: 'Affection over time', curveEmpty: 'No change of affection is stored yet.',
    incomplete: 'Only the newest 20,000 changes are shown.', outcome: 'Outcome: {name}',
    failed: 'failed', points: '{points} points',
    noMoments: 'None yet. A key moment is stored when the model finds that its condition is met.',
    deleted: 'Happened, but the messages were deleted: {names}', open: 'Show the messages', close: 'Hide the messages',
    page: 'Open this memory', changes: 'What changed affection', changesEmpty: 'Only messages so far.',
    day: 'Day', reason: 'Reason', change: 'Change', after: 'After',
    reason_streak: ['{count} day in a row', '{count} days in a row'],
    reason_idle: ['No message for {count} day', 'No message for {count} days'], reason_moment: 'Key moment: {name}',
    profile: 'Profile of the user', noProfile: 'None yet. The companion writes it after some messages.',
    updated: 'Written {time}', summaries: 'Summaries', facts: 'Facts about the user', emptyTitle: 'No companion',
    empty: 'A companion stores its memories here: affection, stages and key moments. They arise when an application '
      + 'answers through the library “memory-engine-companion”. Choose a user or an agent that has one.',
  },
  zh: {
    companion: '陪伴角色', affection: '好感度', ofMax: '满分 {max}', stage: '阶段', chapter: '第 {number} 阶段',
    streak: '连续天数', messages: '消息数', lastActive: '最近一条消息', moments: '关键时刻', noStage: '–',
    relationship: '关系', stages: '阶段', from: '{points} 分起', current: '当前', reached: '已达到',
    toNext: '距离“{name}”还差 {points} 分', last: '已达到最后一个阶段。',
    noStages: '陪伴角色会在下一条消息时存储各阶段的名称和分数线。',
    curve: '好感度变化', curveEmpty: '还没有好感度变化的记录。',
    incomplete: '仅显示最近 20,000 次变化。', outcome: '结果：{name}', failed: '未达成', points: '{points} 分',
    noMoments: '还没有。当模型判断条件满足时，会存储关键时刻。',
    deleted: '已发生，但消息已被删除：{names}', open: '显示消息', close: '隐藏消息',
    page: '打开这条记忆', changes: '好感度变化原因', changesEmpty: '目前只有消息带来的变化。', day: '日期',
    reason: '原因', change: '变化', after: '变化后', reason_streak: '连续 {count} 天',
    reason_idle: '{count} 天没有消息', reason_moment: '关键时刻：{name}',
    profile: '用户画像', noProfile: '还没有。陪伴角色会在若干条消息后写入。', updated: '写于 {time}',
    summaries: '摘要', facts: '关于用户的事实', emptyTitle: '没有陪伴角色',
    empty: '陪伴角色的记忆会显示在这里：好感度、阶段和关键时刻。当应用程序通过 “memory-engine-companion” 库回复用户时，'
      + '这些记忆就会产生。请选择有陪伴角色的用户或智能体。',
  },
};

const DAY_SECONDS = 24 * 60 * 60;

/** The view "Companion". */
export default function CompanionView({ params, owner }) {
  const t = useTexts(texts);
  const read = useGet('/api/inspector/companion', { ...owner, id: params.id });
  return html`<${Loaded} read=${read}>${(report) => {
    const companion = report.companions.find((one) => one.id === report.selected?.id);
    if (!companion) return html`<${Empty} title=${t('emptyTitle')}>${t('empty')}<//>`;
    const { selected } = report;
    return html`
      ${report.companions.length > 1 && html`<${Picker} params=${params} report=${report} />`}
      <${Relationship} companion=${companion} selected=${selected} />
      <${Curve} companion=${companion} selected=${selected} />
      <div class="columns">
        <${Moments} companion=${companion} selected=${selected} onChanged=${read.reload} />
        <${Changes} selected=${selected} />
      </div>
      <${Profile} companion=${companion} selected=${selected} />`;
  }}<//>`;
}

/** Chooses one of several companions. */
function Picker({ params, report }) {
  const t = useTexts(texts);
  const choose = (event) => navigate('companion', { ...params, id: event.target.value });
  const nameOf = (one) => [one.user_id, one.agent_id, one.session_id, one.branch].filter(Boolean).join(' · ');
  return html`<div class="panel fields"><${Field} label=${t('companion')}>
    <select value=${report.selected.id} onChange=${choose}>${report.companions.map((one) => html`
      <option value=${one.id}>${nameOf(one) || one.id}</option>`)}</select><//></div>`;
}

/** The figures of the relationship, and its stages. */
function Relationship({ companion, selected }) {
  const t = useTexts(texts);
  const current = selected.stages.find((stage) => stage.is_current);
  const chapter = companion.chapter ? t('chapter', { number: companion.chapter }) : t('noStage');
  return html`<${Panel} title=${t('relationship')}>
    <div class="figures">
      <${Figure} label=${t('affection')} value=${companion.affection}
        hint=${t('ofMax', { max: formatNumber(companion.max_affection) })} />
      <${Figure} label=${t('stage')} value=${html`<bdi>${current?.name ?? chapter}</bdi>`}
        hint=${current ? chapter : ''} />
      <${Figure} label=${t('streak')} value=${companion.consecutive_days} />
      <${Figure} label=${t('messages')} value=${companion.messages} />
      <${Figure} label=${t('moments')} value=${companion.moments} />
      <${Figure} label=${t('lastActive')} value=${formatTime(companion.last_active_at)} />
    </div>
    <${Stages} companion=${companion} stages=${selected.stages} />
  <//>`;
}

/** The stages in order: what is reached, where the companion is now, and what comes next. */
function Stages({ companion, stages }) {
  const t = useTexts(texts);
  if (stages.length === 0) return html`<p class="hint companion-next">${t('noStages')}</p>`;
  const next = stages.find((stage) => stage.from > companion.affection);
  const points = next ? next.from - companion.affection : 0;
  const values = next && { count: points, points: formatNumber(points), name: next.name };
  return html`<ol class="stages" aria-label=${t('stages')}>${stages.map((stage) => {
    const isReached = stage.from <= companion.affection;
    return html`<li class=${stage.is_current ? 'current' : isReached ? 'reached' : ''}
        aria-current=${stage.is_current ? 'step' : null}>
      <bdi class="stage-name">${stage.name}</bdi>
      <span class="hint">${t('from', { points: formatNumber(stage.from) })}</span>
      ${isReached && html`<span class="hint">${t(stage.is_current ? 'current' : 'reached')}</span>`}
      <span class="stage-track" aria-hidden="true"><span class="stage-fill"
        style=${{ width: `${shareOf(stage, companion) * 100}%` }}></span></span></li>`;
  })}</ol>
  <p class="hint companion-next"><bdi>${next ? t('toNext', values) : t('last')}</bdi></p>`;
}

/** Returns the share of a stage that is reached, from 0 to 1. */
function shareOf(stage, companion) {
  const until = stage.until ?? companion.max_affection;
  const share = (companion.affection - stage.from) / Math.max(1, until - stage.from);
  return Math.max(0, Math.min(1, share));
}

/** Affection at the end of each day, with the thresholds of the stages. */
function Curve({ companion, selected }) {
  const t = useTexts(texts);
  const label = t('affection');
  const { times, series, markers } = useMemo(() => curveOf(selected, label), [selected, label]);
  return html`<${Panel} title=${t('curve')}>
    ${times.length === 0
      ? html`<p class="hint">${t('curveEmpty')}</p>`
      : html`<${LineChart} title=${t('curve')} times=${times} series=${series} markers=${markers}
          format=${wholeNumber} formatTime=${(seconds) => formatDate(seconds * 1000)} />`}
    ${!selected.is_complete && html`<p class="hint">${t('incomplete')}</p>`}
  <//>`;
}

/** Returns the points of the curve. It begins a day earlier, with the affection before the first change. */
function curveOf(selected, label) {
  const { days, stages } = selected;
  if (days.length === 0) return { times: [], series: [], markers: [] };
  const times = days.map((day) => new Date(`${day.day}T00:00`).getTime() / 1000);
  const values = days.map((day) => day.after);
  const markers = stages.filter((stage) => stage.from > 0).map((stage) => ({ value: stage.from, label: stage.name }));
  return {
    times: [times[0] - DAY_SECONDS, ...times],
    series: [{ label, values: [days[0].before, ...values], color: '--series-1' }],
    markers,
  };
}

/** The key moments, the newest first. */
function Moments({ companion, selected, onChanged }) {
  const t = useTexts(texts);
  const { moments, deleted_moments: deleted } = selected;
  return html`<${Panel} title=${t('moments')}>
    ${moments.length === 0 && html`<p class="hint">${t('noMoments')}</p>`}
    ${moments.map((moment) => html`<${Moment} key=${moment.id} moment=${moment} companion=${companion}
      onChanged=${onChanged} />`)}
    ${deleted.length > 0 && html`<p class="hint"><bdi>${t('deleted', { names: deleted.join(', ') })}</bdi></p>`}
  <//>`;
}

/** A key moment. Its messages are shown on request. */
function Moment({ moment, companion, onChanged }) {
  const t = useTexts(texts);
  const [isOpen, setOpen] = useState(false);
  return html`<article class="record" data-id=${moment.id}>
    <header><strong class=${isStruck(moment) ? 'memory-text struck' : ''}><bdi>${moment.topic}</bdi></strong>
      <time datetime=${moment.occurred_at}>${formatTime(moment.occurred_at)}</time></header>
    <span class="badges">
      ${moment.affection !== null && html`<${Badge} tone=${moment.affection < 0 ? 'bad' : 'good'}>
        ${t('points', { points: signed(moment.affection) })}<//>`}
      ${moment.outcome && html`<${Badge}><bdi>${t('outcome', { name: moment.outcome })}</bdi><//>`}
      ${moment.status === 'failed' && html`<${Badge} tone="warn">${t('failed')}<//>`}
      ${moment.chapter !== null && html`<${Badge}>${t('chapter', { number: moment.chapter })}<//>`}
    </span>
    <div class="record-actions"><button type="button" class="link" aria-expanded=${isOpen}
      onClick=${() => setOpen(!isOpen)}>${t(isOpen ? 'close' : 'open')}</button>
      <a href=${pageOf(moment, companion)}>${t('page')}</a></div>
    ${isOpen && html`<${MemoryText} text=${moment.text} strike=${isStruck(moment)} />
      <${RecordActions} record=${moment} owner=${ownerOf(companion)} onChanged=${onChanged} />`}
  </article>`;
}

/** The changes other than those of messages, the newest first. */
function Changes({ selected }) {
  const t = useTexts(texts);
  const columns = [
    { title: t('day'), cell: (change) => formatDate(`${change.day}T00:00`) },
    { title: t('reason'), cell: (change) => html`<bdi>${t(`reason_${change.reason}`,
      { count: change.days, name: change.moment })}</bdi>` },
    { title: t('change'), align: 'end', cell: (change) => signed(change.delta) },
    { title: t('after'), align: 'end', cell: (change) => formatNumber(change.after) },
  ];
  return html`<${Panel} title=${t('changes')}>
    ${selected.changes.length === 0
      ? html`<p class="hint">${t('changesEmpty')}</p>`
      : html`<${Table} caption=${t('changes')} columns=${columns} rows=${selected.changes} />`}
  <//>`;
}

/** The latest profile of the user, and the latest summaries. */
function Profile({ companion, selected }) {
  const t = useTexts(texts);
  const { profile, summaries } = selected;
  const actions = html`<a href=${routeTo('facts', { user_id: companion.user_id })}>${t('facts')}</a>`;
  return html`<${Panel} title=${t('profile')} actions=${actions}>
    ${profile
      ? html`<p class="hint">${t('updated', { time: formatTime(profile.occurred_at) })}</p>
          <${MemoryText} text=${profile.text} strike=${isStruck(profile)} />`
      : html`<p class="hint">${t('noProfile')}</p>`}
  <//>
  ${summaries.length > 0 && html`<${Panel} title=${t('summaries')}>${summaries.map((summary) => html`
    <article class="record" key=${summary.id}>
      <header><time datetime=${summary.occurred_at}>${formatTime(summary.occurred_at)}</time>
        ${summary.topic && html`<${MemoryName} name=${summary.topic} />`}</header>
      <${MemoryText} text=${summary.text} strike=${isStruck(summary)} /></article>`)}<//>`}`;
}

/** Formats a number of points. A tick of the chart between two points has no label. */
function wholeNumber(value) {
  return Number.isInteger(value) ? formatNumber(value) : '';
}

function signed(points) {
  return points > 0 ? `+${formatNumber(points)}` : formatNumber(points);
}
