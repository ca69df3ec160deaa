// The form of a context preview: the message, the part of the server, and the conversation before the message.

import { html, useState } from './ui.js';
import { useTexts } from './texts.js';
import { Field } from './components.js';

const texts = {
  en: {
    path: 'Part of the server', gateway: 'Chat gateway', hook: 'Hook of a coding agent, before a prompt',
    session_start: 'Hook of a coding agent, at the start of a session', library: 'Library, for an application',
    message: 'Message of the user', placeholder: 'Do you remember …?', preview: 'Preview',
    earlier: 'Earlier messages, one per line: the first is of the user, the next of the model, and so on',
    earlierStored: 'If this is empty, the stored turns of the chosen session come before the message.',
    earlierEmpty: 'If this is empty, the message is the first of its conversation. Choose a session above to continue '
      + 'it.',
    hookStored: 'The stored turns of the chosen session come before the prompt.',
    hookNew: 'The prompt is the first of its session. Choose a session above to continue it.',
    before: 'Conversation before the message', maxTokens: 'Limit in tokens', recent: 'Latest turns to add',
    persona: 'Persona', nothingSaved: 'A preview stores nothing.',
  },
  zh: {
    path: '服务器的组成部分', gateway: '聊天网关', hook: '编程智能体的钩子：提示之前', session_start: '编程智能体的钩子：会话开始时', library: '库（供应用程序调用）',
    message: '用户的消息', placeholder: '还记得……吗？', preview: '预览', earlier: '之前的消息，每行一条：第一条来自用户，下一条来自模型，依次交替',
    earlierStored: '若留空，则所选会话中已存储的对话排在此消息之前。', earlierEmpty: '若留空，此消息是对话的第一条。可在上方选择一个会话来接续。',
    hookStored: '所选会话中已存储的对话排在此提示之前。', hookNew: '此提示是会话的第一条。可在上方选择一个会话来接续。', before: '此消息之前的对话', maxTokens: '上限（词元）',
    recent: '附加的最近对话数', persona: '人设', nothingSaved: '预览不会存储任何内容。',
  },
};

const PATHS = ['gateway', 'hook', 'session_start', 'library'];

/** Returns the body of the request that a route asks for; null if it has no message. */
export function requestOf(params) {
  const path = params.path ?? 'gateway';
  if (path === 'session_start') return { path };
  if (!params.message?.trim()) return null;
  const request = { path, message: params.message };
  if (path === 'gateway' && params.earlier?.trim()) request.earlier = earlierMessages(params.earlier);
  if (path === 'library') {
    if (params.max_tokens) request.max_tokens = Number(params.max_tokens);
    if (params.recent) request.recent = Number(params.recent);
    if (params.persona) request.persona = params.persona;
  }
  return request;
}

/** Returns the messages in a text with one message per line: by turns of the user and of the model. */
function earlierMessages(text) {
  const lines = text.split('\n').map((line) => line.trim()).filter(Boolean);
  return lines.map((line, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', text: line }));
}

/** The form. `onPreview(values)` is called with the parameters of the route. */
export function ContextForm({ params, hasSession, onPreview }) {
  const t = useTexts(texts);
  const [values, setValues] = useState({
    path: params.path ?? 'gateway', message: params.message ?? '', earlier: params.earlier ?? '',
    max_tokens: params.max_tokens ?? '', recent: params.recent ?? '', persona: params.persona ?? '',
  });
  const set = (name) => (event) => setValues({ ...values, [name]: event.target.value });
  const submit = (event) => {
    event.preventDefault();
    onPreview(relevantValues(values));
  };
  return html`<form class="context-form" onSubmit=${submit}>
    <${Field} label=${t('path')}><select name="path" value=${values.path} onChange=${set('path')}>
      ${PATHS.map((path) => html`<option value=${path}>${t(path)}</option>`)}</select><//>
    ${values.path !== 'session_start' && html`<${Field} label=${t('message')}><textarea name="message" rows="2" required
      dir="auto" value=${values.message} placeholder=${t('placeholder')} onInput=${set('message')}></textarea><//>`}
    ${values.path === 'gateway' && html`<details open=${Boolean(values.earlier)}><summary>${t('before')}</summary>
      <${Field} label=${t('earlier')}><textarea name="earlier" rows="4" dir="auto" value=${values.earlier}
        onInput=${set('earlier')}></textarea><//>
      <p class="hint">${t(hasSession ? 'earlierStored' : 'earlierEmpty')}</p></details>`}
    ${values.path === 'hook' && html`<p class="hint">${t(hasSession ? 'hookStored' : 'hookNew')}</p>`}
    ${values.path === 'library' && html`<div class="fields">
      <${Field} label=${t('maxTokens')}><input type="number" name="max_tokens" min="1" max="1000000" placeholder="1000"
        value=${values.max_tokens} onInput=${set('max_tokens')} /><//>
      <${Field} label=${t('recent')}><input type="number" name="recent" min="0" max="1000" placeholder="0"
        value=${values.recent} onInput=${set('recent')} /><//>
      <${Field} label=${t('persona')} className="grow"><input name="persona" dir="auto" value=${values.persona}
        onInput=${set('persona')} /><//></div>`}
    <div class="form-actions"><span class="hint">${t('nothingSaved')}</span>
      <button type="submit" class="primary">${t('preview')}</button></div>
  </form>`;
}

/** Returns the values that the chosen path uses. */
function relevantValues({ path, message, earlier, ...library }) {
  if (path === 'session_start') return { path };
  if (path === 'library') return { path, message, ...library };
  return path === 'gateway' ? { path, message, earlier } : { path, message };
}
