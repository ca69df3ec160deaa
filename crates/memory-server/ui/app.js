// The frame of the page: navigation, owner, language, the form for a key, and the current view.

import { html, render, useEffect, useRef, useState } from './lib/ui.js';
import { LANGUAGES, setLanguage, useLanguage, useTexts } from './lib/texts.js';
import { navigate, routeTo, useRoute } from './lib/route.js';
import { onKeyRefused, storeKey, storedKey, useGet } from './lib/api.js';
import { OWNER_NAMES, ownerOf } from './lib/owner.js';
import { Notice } from './lib/components.js';

const texts = {
  en: {
    overview: 'Overview', timeline: 'Timeline', search: 'Search', facts: 'Facts', graph: 'Graph', context: 'Context preview',
    companion: 'Companion', undo: 'Undo', deletion: 'Deletion', operations: 'Operations', views: 'Views', skip: 'Skip to content',
    inspector: 'Memory inspector', user_id: 'User', agent_id: 'Agent', session_id: 'Session', branch: 'Branch', all: 'All',
    more: 'Agent and session', owner: 'Whose memories', language: 'Language', signOut: 'Forget key', keyTitle: 'This server needs a key',
    keyText: 'The key stays in this browser tab and is sent only to this server.', key: 'Key', open: 'Open',
    wrongKey: 'The server does not accept this key.', unknown: 'There is no such view.', broken: 'The view could not be loaded: {reason}',
  },
  zh: {
    overview: '概览', timeline: '时间线', search: '检索', facts: '事实', graph: '关系图', context: '上下文预览', companion: '陪伴',
    undo: '撤销', deletion: '删除', operations: '运行状况', views: '视图', skip: '跳到内容', inspector: '记忆检查器', user_id: '用户',
    agent_id: '智能体', session_id: '会话', branch: '分支', all: '全部', more: '智能体与会话', owner: '记忆所属', language: '语言',
    signOut: '清除密钥', keyTitle: '此服务器需要密钥', keyText: '密钥只保存在当前浏览器标签页中，并且只发送给此服务器。', key: '密钥', open: '打开',
    wrongKey: '服务器不接受此密钥。', unknown: '没有这个视图。', broken: '无法加载视图：{reason}',
  },
};

/** The views in the order of the navigation. Each is a module whose default export is a component. */
const VIEWS = ['overview', 'timeline', 'search', 'facts', 'graph', 'context', 'companion', 'undo', 'deletion', 'operations'];
const modules = {};

/** Loads the module of a view once. */
function loadView(name) {
  modules[name] ??= import(`./views/${name}.js`).then((module) => module.default);
  return modules[name];
}

function App() {
  const t = useTexts(texts);
  const route = useRoute();
  const [refused, setRefused] = useState(false);
  const users = useGet('/api/inspector/users');
  useEffect(() => onKeyRefused(() => setRefused(true)), []);
  useEffect(() => {
    const name = VIEWS.includes(route.view) ? t(route.view) : t('inspector');
    document.title = `${name} · memory-engine`;
  });
  if (refused) {
    const enter = (key) => {
      storeKey(key);
      setRefused(false);
      users.reload();
    };
    return html`<${KeyForm} onKey=${enter} />`;
  }
  const forget = () => {
    storeKey(null);
    setRefused(true);
  };
  const owner = chosenOwner(route.params, users.data);
  return html`
    <a class="skip" href="#main" onClick=${focusMain}>${t('skip')}</a>
    <header class="top"><a class="brand" href="#/overview"><img src="icon.svg" alt="" width="24" height="24" />
        <span>${t('inspector')}</span></a>
      <${OwnerPicker} route=${route} owner=${owner} users=${users.data} />
      <${LanguagePicker} />
      ${storedKey() && html`<button type="button" class="quiet" onClick=${forget}>${t('signOut')}</button>`}
    </header>
    <nav class="views" aria-label=${t('views')}>${VIEWS.map((view) => html`<a href=${routeTo(view, ownerOf(route.params))}
      aria-current=${view === route.view ? 'page' : null}>${t(view)}</a>`)}</nav>
    <main id="main" tabindex="-1"><${CurrentView} route=${route} owner=${owner} users=${users} /></main>`;
}

/** Returns the owner in the route. A single user need not be chosen. */
function chosenOwner(params, users) {
  const owner = ownerOf(params);
  const only = users?.total === 1 ? users.users[0].user_id : undefined;
  return owner.user_id || !only ? owner : { ...owner, user_id: only };
}

function focusMain(event) {
  event.preventDefault();
  document.getElementById('main').focus();
}

/** Shows the view of the route. Views get `params`, `owner` and `users`. */
function CurrentView({ route, owner, users }) {
  const t = useTexts(texts);
  const [loaded, setLoaded] = useState({ name: null });
  useEffect(() => {
    let isCurrent = true;
    if (!VIEWS.includes(route.view)) return undefined;
    loadView(route.view).then(
      (component) => isCurrent && setLoaded({ name: route.view, component }),
      (error) => isCurrent && setLoaded({ name: route.view, error }),
    );
    return () => {
      isCurrent = false;
    };
  }, [route.view]);
  if (!VIEWS.includes(route.view)) return html`<${Notice} tone="warn">${t('unknown')}<//>`;
  const heading = html`<h1>${t(route.view)}</h1>`;
  if (loaded.name !== route.view) return heading;
  if (loaded.error) return html`${heading}<${Notice} tone="error">${t('broken', { reason: loaded.error.message })}<//>`;
  return html`${heading}<${loaded.component} key=${route.view} params=${route.params} owner=${owner} users=${users} />`;
}

/** Chooses user, agent, session and branch. They are part of the address, so that a view can be shared. */
function OwnerPicker({ route, owner, users }) {
  const t = useTexts(texts);
  const places = useGet(owner.user_id || !users?.all_users ? '/api/inspector/places' : null, { user_id: owner.user_id });
  const values = (name) => {
    if (name === 'user_id') return users?.users.map((user) => user.user_id) ?? [];
    const found = places.data?.places.filter((place) => matches(place, owner, name)).map((place) => place[name]) ?? [];
    return [...new Set(found.filter(Boolean))];
  };
  const choose = (name, value) => {
    const rest = name === 'user_id' ? {} : ownerOf(route.params);
    navigate(route.view, { ...rest, [name]: value });
  };
  const shown = OWNER_NAMES.filter((name) => name === 'user_id' || owner[name] || values(name).length > 0);
  return html`<div class="owner" role="group" aria-label=${t('owner')}>${shown.map((name) => html`
    <label><span>${t(name)}</span><select value=${owner[name] ?? ''} onChange=${(event) => choose(name, event.target.value)}>
      ${(name !== 'user_id' || users?.total !== 1) && html`<option value="">${t('all')}</option>`}
      ${withCurrent(values(name), owner[name]).map((value) => html`<option value=${value}>${shortened(value)}</option>`)}
    </select></label>`)}</div>`;
}

/** Returns true if a place has the chosen agent and session, apart from the dimension that is being chosen. */
function matches(place, owner, name) {
  return OWNER_NAMES.slice(1).every((other) => other === name || !owner[other] || place[other] === owner[other]);
}

/** Adds the current value to a list that may not contain it. */
function withCurrent(values, current) {
  return current && !values.includes(current) ? [current, ...values] : values;
}

/** Shortens a name for a list. */
function shortened(name) {
  const characters = Array.from(name);
  return characters.length > 60 ? `${characters.slice(0, 60).join('')}…` : name;
}

function LanguagePicker() {
  const t = useTexts(texts);
  const current = useLanguage();
  return html`<label class="language"><span class="visually-hidden">${t('language')}</span>
    <select value=${current} onChange=${(event) => setLanguage(event.target.value)}>
      ${Object.entries(LANGUAGES).map(([code, name]) => html`<option value=${code} lang=${code}>${name}</option>`)}
    </select></label>`;
}

/** Asks for the key of the server. */
function KeyForm({ onKey }) {
  const t = useTexts(texts);
  const [key, setKey] = useState('');
  const wasRefused = useRef(storedKey() !== null);
  const submit = (event) => {
    event.preventDefault();
    onKey(key.trim());
  };
  return html`<main class="key-form"><form class="panel" onSubmit=${submit}>
    <h1>${t('keyTitle')}</h1><p>${t('keyText')}</p>
    ${wasRefused.current && html`<${Notice} tone="error">${t('wrongKey')}<//>`}
    <label class="field"><span>${t('key')}</span><input type="password" autocomplete="off" required value=${key}
      onInput=${(event) => setKey(event.target.value)} /></label>
    <div class="form-actions"><${LanguagePicker} /><button type="submit" class="primary">${t('open')}</button></div>
  </form></main>`;
}

render(html`<${App} />`, document.getElementById('app'));
