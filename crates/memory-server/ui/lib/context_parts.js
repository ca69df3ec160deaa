// The parts of a context preview: the decision, the text, the budget of each layer, and the candidates.

import { html, useState } from './ui.js';
import { useTexts } from './texts.js';
import { formatDuration, formatNumber, formatTime } from './format.js';
import { Badge, MemoryName, MemoryText } from './components.js';
import { Relevance } from './search_hit.js';
import { texts } from './context_texts.js';
import { kindName, sceneName } from './names.js';

/** Candidates that are shown before "Show all". */
const SHOWN_CANDIDATES = 12;
/** The order of the outcomes: what is injected first, what is not even relevant last. */
const OUTCOMES = [
  'injected', 'no_room', 'over_core_budget', 'repeated', 'over_limit', 'in_conversation',
  'derived_from_conversation', 'excluded', 'not_asked', 'no_content', 'not_relevant',
];

/** The rule that decides, what it asks for, and why something or nothing is injected. */
export function ContextDecision({ preview }) {
  const t = useTexts(texts);
  const { decision } = preview;
  const action = decision && actionName(decision.action);
  const settings = Object.entries(preview.settings);
  const [tone, label] = preview.text ? ['good', 'injects'] : ['warn', 'nothing'];
  return html`<p class="verdict"><${Badge} tone=${tone}>${t(label)}<//>${' '}
      <span>${t(...reasonOf(preview))}</span></p>
    <dl class="facts">
      ${decision && html`<dt>${t('rule')}</dt><dd>${t(`rule_${decision.rule}`)}</dd>
        <dt>${t('action')}</dt><dd>${t(`action_${action}`)}
          ${decision.action[action]?.search && html` ${t('action_andSearch')}`}</dd>`}
      ${decision?.word && html`<dt>${t('word')}</dt><dd><bdi>“${decision.word}”</bdi></dd>`}
      ${decision?.search_text && html`<dt>${t('searchText')}</dt><dd><bdi>${decision.search_text}</bdi></dd>`}
      ${preview.scene && html`<dt>${t('scene')}</dt><dd><bdi>${sceneName(preview.scene)}</bdi></dd>`}
      ${preview.round !== null && html`<dt>${t('round')}</dt><dd>${formatNumber(preview.round)}</dd>`}
      <dt>${t('user')}</dt><dd>${preview.user_id ? html`<${MemoryName} name=${preview.user_id} />` : t('allUsers')}</dd>
      ${preview.session_id && html`<dt>${t('session')}</dt><dd><${MemoryName} name=${preview.session_id} /></dd>`}
      <dt>${t('took')}</dt><dd>${formatDuration(preview.took_ms)}</dd>
    </dl>
    <details><summary>${t('details')}</summary><p>
      ${[decision?.rule, action, decision?.trigger].filter(Boolean).map((name) => html`
        <code class="setting" key=${name}>${name}</code> `)}
      ${settings.map(([name, value]) => html`
        <code class="setting" key=${name}>${name} = ${String(value)}</code> `)}</p></details>`;
}

/** Returns the name of an action, which is a text or an object with one field. */
function actionName(action) {
  return typeof action === 'string' ? action : Object.keys(action)[0];
}

/** Returns the text that says why something or nothing is injected, with its values. */
function reasonOf(preview) {
  const { candidates, decision } = preview;
  const count = (outcome) => candidates.filter((one) => one.outcome === outcome).length;
  const threshold = formatNumber(preview.min_relevance ?? 0, 2);
  if (preview.text) {
    const injected = candidates.filter((one) => one.outcome === 'injected');
    const isCoreOnly = decision !== null && injected.every((one) => ['pinned', 'core'].includes(one.source));
    const included = new Set(preview.layers.flatMap((layer) => layer.included)).size;
    return [isCoreOnly ? 'becauseCore' : 'becauseInjected', { count: included }];
  }
  if (decision?.rule === 'nothing') return ['becauseNoRule'];
  if (candidates.length === 0) return [decision === null ? 'becauseEmpty' : 'becauseNotFound'];
  if (count('not_relevant') === candidates.length) {
    const best = Math.max(...candidates.map((one) => one.relevance ?? 0));
    return ['becauseNotRelevant', { count: candidates.length, threshold, best: formatNumber(best, 2) }];
  }
  const known = count('in_conversation') + count('derived_from_conversation') + count('excluded');
  return known > 0 ? ['becauseKnown', { count: known }] : ['becauseRejected', { count: candidates.length }];
}

/** The exact text, with its size. */
export function ContextBlock({ preview }) {
  const t = useTexts(texts);
  const [state, setState] = useState(null);
  if (!preview.text) return html`<p class="hint">${t('noText')}</p>`;
  const copy = () => {
    navigator.clipboard.writeText(preview.text).then(() => setState('copied'), () => setState('notCopied'));
  };
  return html`<pre class="context-text memory-text" dir="auto" tabindex="0" role="region"
      aria-label=${t('exactText')}>${preview.text}</pre>
    <p class="hint context-size">${t('size', {
      characters: formatNumber(Array.from(preview.text).length), tokens: formatNumber(preview.tokens),
    })} <button type="button" class="link" onClick=${copy}>${t('copy')}</button>
      <span role="status">${state && t(state)}</span></p>`;
}

/** The used part of the whole budget, and of each layer, with the records that did not fit. */
export function ContextBudget({ preview, records }) {
  const t = useTexts(texts);
  const { budget, layers } = preview;
  const unit = t(`unit_${budget.unit}`);
  const isSingle = layers.length === 1 && layers[0].budget === budget.limit;
  return html`${!isSingle && html`<${BudgetBar} label=${t('whole')} used=${budget.used} budget=${budget.limit}
      unit=${unit} isWhole />`}
    <ul class="plain layers">${layers.map((layer) => html`<li key=${layer.name}>
      <${BudgetBar} label=${layerName(layer.name, t)} used=${layer.used} budget=${layer.budget} flowed=${layer.flowed}
        unit=${unit} />
      <p class="hint">${t('included', { count: layer.included.length })}${layer.cut && ` · ${t('cut')}`}</p>
      ${layer.left_out.length > 0 && html`<${LeftOut} leftOut=${layer.left_out} records=${records} />`}
    </li>`)}</ul>`;
}

function LeftOut({ leftOut, records }) {
  const t = useTexts(texts);
  return html`<details class="left-out"><summary>${t('leftOut', { count: leftOut.length })}</summary>
    <ul>${leftOut.map((left) => html`<li key=${left.id} data-id=${left.id}>
      <span class="hint">${t(`left_${left.reason}`)}</span>
      <${MemoryText} text=${records.get(left.id)?.text ?? left.id} /></li>`)}</ul></details>`;
}

/** A bar of the used part of a budget. What other layers left to this one is drawn behind its own budget. */
function BudgetBar({ label, used, budget, flowed = 0, unit, isWhole = false }) {
  const t = useTexts(texts);
  const available = budget + flowed;
  const share = (part) => `${available > 0 ? Math.min(1, part / available) * 100 : 0}%`;
  const value = t(flowed > 0 ? 'usedWithFlow' : 'used', {
    used: formatNumber(used), budget: formatNumber(budget), flowed: formatNumber(flowed), unit,
  });
  return html`<div class="bar budget ${isWhole ? 'whole' : ''}"><span class="bar-label"><bdi>${label}</bdi></span>
    <span class="bar-track marked" aria-hidden="true"><span class="bar-fill" style=${{ width: share(used) }}></span>
      ${flowed > 0 && html`<span class="bar-mark" style=${{ insetInlineStart: share(budget) }}></span>`}</span>
    <span class="bar-value">${value}</span></div>`;
}

/** Returns the name of a layer in the language of the page, if it is one of the fixed names. */
function layerName(name, t) {
  return ['block', 'opening', 'persona', 'memories', 'recent'].includes(name) ? t(`layer_${name}`) : name;
}

/** The memories that were considered: where they are from, their relevance, and why each is in the text or not. */
export function ContextGate({ preview, records }) {
  const t = useTexts(texts);
  const [isOpen, setOpen] = useState(false);
  const sorted = [...preview.candidates].sort((a, b) => OUTCOMES.indexOf(a.outcome) - OUTCOMES.indexOf(b.outcome)
    || (b.relevance ?? 0) - (a.relevance ?? 0));
  const shown = isOpen ? sorted : sorted.slice(0, SHOWN_CANDIDATES);
  return html`<p class="hint">${t('gateText', { threshold: formatNumber(preview.min_relevance ?? 0, 2) })}</p>
    <ul class="plain candidates">${shown.map((candidate) => html`<li key=${candidate.id} data-id=${candidate.id}>
      <${ContextCandidate} candidate=${candidate} record=${records.get(candidate.id)}
        threshold=${preview.min_relevance} /></li>`)}</ul>
    ${sorted.length > shown.length && html`<button type="button" onClick=${() => setOpen(true)}>${t('showAll', {
      count: sorted.length,
    })}</button>`}`;
}

function ContextCandidate({ candidate, record, threshold }) {
  const t = useTexts(texts);
  const isIn = candidate.outcome === 'injected';
  return html`<article class="record candidate"><header>
      <${Badge} tone=${isIn ? 'good' : 'neutral'}>${t(`outcome_${candidate.outcome}`)}<//>
      <${Badge} tone="info">${t(`source_${candidate.source}`)}<//>
      ${record && html`<span class="hint"><${MemoryName} name=${kindName(record.kind)} />
        ${' '}· ${formatTime(record.occurred_at)}</span>`}</header>
    <${MemoryText} text=${record?.text ?? candidate.id} />
    ${candidate.relevance !== null && html`<${Relevance} relevance=${candidate.relevance}
      threshold=${threshold ?? 0} />`}
  </article>`;
}
