// Context preview: the text that the server would put before a model for a message, and what decided about it.

import { html, useEffect, useState } from '../lib/ui.js';
import { useTexts } from '../lib/texts.js';
import { post, withParams } from '../lib/api.js';
import { navigate, routeTo } from '../lib/route.js';
import { ownerOf } from '../lib/owner.js';
import { Empty, Loaded, Notice, Panel } from '../lib/components.js';
import { stageName } from '../lib/names.js';
import { ContextForm, requestOf } from '../lib/context_form.js';
import { ContextBlock, ContextBudget, ContextDecision, ContextGate } from '../lib/context_parts.js';

const texts = {
  en: {
    emptyTitle: 'See what a model would be told',
    emptyText: 'Enter a message as a user would send it. The preview runs the code of the server with its '
      + 'configuration, shows the exact text that would be added, and stores nothing.',
    decision: 'Decision', budget: 'Budget', gate: 'Candidates', block: 'What the model gets',
    search: 'Search with this message',
    notServed: 'This server does not serve this path at present. The preview follows its configuration all the same.',
    degraded: 'A part of the memory did not take part', degradedStage: '{stage}: {reason}',
  },
  zh: {
    emptyTitle: '查看模型会得到什么', emptyText: '像用户那样输入一条消息。预览会按服务器的配置运行同样的代码，显示将要加入的确切文本，并且不会存储任何内容。', search: '以此消息检索',
    decision: '决定', budget: '预算', gate: '候选记忆', block: '模型得到的内容', notServed: '此服务器目前没有提供这一路径。预览仍按其配置进行。',
    degraded: '记忆的一部分没有参与', degradedStage: '{stage}：{reason}',
  },
};

/** The view. The message is in the address, so that a preview can be shared. */
export default function View({ params, owner }) {
  const t = useTexts(texts);
  const body = requestOf(params);
  const read = usePreview(withParams('/api/inspector/context', owner), body);
  const open = (values) => navigate('context', { ...ownerOf(params), ...values });
  const sent = body === null ? null : JSON.stringify(body);
  return html`
    <${Panel}><${ContextForm} key=${sent} params=${params} hasSession=${Boolean(owner.session_id)}
      onPreview=${open} /><//>
    ${body === null && html`<${Panel}><${Empty} title=${t('emptyTitle')}>${t('emptyText')}<//><//>`}
    ${body !== null && html`<${Loaded} read=${read}>${(preview) => html`<${Preview} preview=${preview}
      query=${preview.decision?.search_text ?? body.message} owner=${owner} />`}<//>`}`;
}

function Preview({ preview: answer, query, owner }) {
  const t = useTexts(texts);
  const preview = withOutcomes(answer);
  const records = new Map(preview.records.map((record) => [record.id, record]));
  return html`
    ${!preview.served && html`<${Notice}>${t('notServed')}<//>`}
    ${preview.degraded.length > 0 && html`<${Notice} tone="warn"><strong>${t('degraded')}.</strong>
      <ul class="plain">${preview.degraded.map(({ stage, reason }) => html`
        <li>${t('degradedStage', { stage: stageName(stage), reason })}</li>`)}</ul><//>`}
    <${Panel} title=${t('decision')}><${ContextDecision} preview=${preview} /><//>
    <${Panel} title=${t('block')}><${ContextBlock} preview=${preview} /><//>
    ${preview.layers.length > 0 && html`<${Panel} title=${t('budget')}>
      <${ContextBudget} preview=${preview} records=${records} /><//>`}
    ${preview.candidates.length > 0 && html`<${Panel} title=${t('gate')}
      actions=${query && html`<a href=${routeTo('search', { ...owner, q: query })}>${t('search')}</a>`}>
      <${ContextGate} preview=${preview} records=${records} /><//>`}`;
}

/** Marks what is in the text as such. The answer has one outcome for a memory that two sources found. */
function withOutcomes(preview) {
  const included = new Set(preview.layers.flatMap((layer) => layer.included));
  const mark = (candidate) => {
    if (!included.has(candidate.id) || candidate.outcome === 'injected') return candidate;
    // Found by the search and left out there, but in the text by the core.
    return { ...candidate, outcome: 'injected', source: 'core' };
  };
  return { ...preview, candidates: preview.candidates.map(mark) };
}

/** Asks for a preview, and again when the address or the request changes. Without a request it asks for nothing. */
function usePreview(address, body) {
  const sent = body === null ? null : JSON.stringify(body);
  const [state, setState] = useState({ data: null, error: null, loading: false });
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    if (sent === null) {
      setState({ data: null, error: null, loading: false });
      return undefined;
    }
    const controller = new AbortController();
    setState((earlier) => ({ ...earlier, error: null, loading: true }));
    post(address, JSON.parse(sent), { signal: controller.signal }).then(
      (data) => setState({ data, error: null, loading: false }),
      (error) => {
        if (error.name !== 'AbortError') setState({ data: null, error, loading: false });
      },
    );
    return () => controller.abort();
  }, [address, sent, attempt]);
  return { ...state, reload: () => setAttempt(attempt + 1) };
}
