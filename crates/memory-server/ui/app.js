// The frame of the page: navigation, owner, language, the form for a key, and the current view.

import { html, render, useEffect, useId, useRef, useState } from './lib/ui.js';
import { LANGUAGES, setLanguage, useLanguage, useTexts } from './lib/texts.js';
import { navigate, routeTo, useRoute } from './lib/route.js';
import { onKeyRefused, storeKey, storedKey, useGet } from './lib/api.js';
import { OWNER_NAMES, ownerOf, sessionNames } from './lib/owner.js';
import { formatDate } from './lib/format.js';
import { MemoryName, Notice } from './lib/components.js';
import { Keys } from './lib/keys.js';
import { useCounts } from './lib/live.js';
import { THEMES, setTheme, theme } from './lib/theme.js';

const texts = {
  en: {
    about: 'What it knows', conversations: 'Conversations',
    memories: 'Memories', record: 'Memory', audit: 'Audit log', server: 'Server and keys',
    overview: 'Overview', search: 'Search', facts: 'Facts', graph: 'Graph',
    context: 'Context preview', companion: 'Companion', undo: 'Undo', deletion: 'Deletion', operations: 'Operations',
    views: 'Views', skip: 'Skip to content', inspector: 'Memory inspector', owner: 'Owner of the memories',
    user_id: 'User', agent_id: 'Agent', session_id: 'Session', branch: 'Branch', all: 'All', language: 'Language',
    forgetKey: 'Forget key', keyTitle: 'This server needs a key', key: 'Key', open: 'Open',
    keyText: 'The key stays in this browser tab and is sent only to this server.',
    more: 'More settings',
    waiting: ['1 waits for review', '{count} wait for review'],
    database: 'Database', theme: 'Colours', theme_system: 'Auto', theme_light: 'Light', theme_dark: 'Dark',
    wrongKey: 'The server does not accept this key.', unknown: 'There is no such view.',
    broken: 'The view could not be loaded. Is the server still running? Reload the page to try again.',
  },
  zh: {
    about: '它知道什么', conversations: '对话', overview: '概览', memories: '记忆', record: '记忆详情', audit: '审计日志',
    server: '服务器与密钥', search: '检索', facts: '事实', graph: '关系图', context: '上下文预览',
    companion: '陪伴', undo: '撤销', deletion: '删除', operations: '运行状况', views: '视图', skip: '跳到内容',
    inspector: '记忆检查器', owner: '记忆的所有者', user_id: '用户', agent_id: '智能体', session_id: '会话', branch: '分支',
    all: '全部', language: '语言', forgetKey: '清除密钥', keyTitle: '此服务器需要密钥', key: '密钥', open: '打开',
    keyText: '密钥只保存在当前浏览器标签页中，并且只发送给此服务器。', wrongKey: '服务器不接受此密钥。', unknown: '没有这个视图。',
    more: '更多设置', waiting: '{count} 条待审核', database: '数据库', theme: '颜色', theme_system: '自动', theme_light: '浅色',
    theme_dark: '深色',
    broken: '无法加载视图。服务器是否仍在运行？请重新加载页面。',
  },
};

/** The views in the order of the navigation. Each is a module whose default export is a component. */
const VIEWS = [
  'about', 'conversations', 'memories', 'search', 'facts', 'graph', 'context', 'companion', 'undo', 'deletion',
  'overview', 'operations', 'audit', 'server',
];
/** Views without an entry in the navigation, each with the entry that it belongs to. */
const INNER_VIEWS = { record: 'memories' };
const isView = (name) => VIEWS.includes(name) || name in INNER_VIEWS;
/** Characters of a name in a list from which the owner is chosen. */
const MAX_OPTION_CHARACTERS = 60;
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
  const [isOpen, setOpen] = useState(false);
  const nav = useRef(null);
  const users = useGet('/api/inspector/users');
  useEffect(() => onKeyRefused(() => setRefused(true)), []);
  useEffect(() => {
    const name = isView(route.view) ? t(route.view) : t('inspector');
    document.title = `${name} · memory-engine`;
  });
  // On a narrow screen the navigation is wider than the screen.
  useEffect(() => nav.current && showCurrent(nav.current), [route.view, refused]);
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
    <header class="top ${isOpen ? 'open' : ''}"><a class="brand" href=${routeTo('about', ownerOf(route.params))}>
        <img src="icon.svg" alt="" width="24" height="24" /><span>${t('inspector')}</span></a>
      ${users.data?.database && html`<${DatabaseName} path=${users.data.database} />`}
      <${OwnerPicker} route=${route} owner=${owner} users=${users.data} />
      <button type="button" class="top-more" aria-label=${t('more')} aria-expanded=${isOpen}
        onClick=${() => setOpen(!isOpen)}>⋯</button>
      <div class="settings"><${LanguagePicker} /><${ThemePicker} /><${Keys} />
      ${storedKey() && html`<button type="button" class="quiet" onClick=${forget}>${t('forgetKey')}</button>`}</div>
    </header>
    <nav class="views" aria-label=${t('views')} ref=${nav}>${VIEWS.map((view) => html`
      <a key=${view} href=${routeTo(view, ownerOf(route.params))}
        aria-current=${view === (INNER_VIEWS[route.view] ?? route.view) ? 'page' : null}>
        <span class="view-name">${t(view)}</span>
        ${view === 'about' && users.data && html`<${WaitingCount} owner=${owner} />`}</a>`)}</nav>
    <main id="main" tabindex="-1"><${CurrentView} route=${route} owner=${owner} users=${users} /></main>`;
}

/** Number of memories of the user that wait for a review, for the navigation. */
function WaitingCount({ owner }) {
  const t = useTexts(texts);
  const count = useCounts(owner)?.states.pending ?? 0;
  if (count === 0) return null;
  return html` <span class="count" title=${t('waiting', { count })}><span aria-hidden="true">${count}</span>
    <span class="visually-hidden">${t('waiting', { count })}</span></span>`;
}

/** Names the file, so that what is shown and deleted is that of the right database. */
function DatabaseName({ path }) {
  const t = useTexts(texts);
  return html`<span class="database hint" title=${path}><span class="visually-hidden">${t('database')}${' '}</span>
    <${MemoryName} name=${path.split(/[\\/]/).pop()} /></span>`;
}

/** Returns the owner in the route. A single user need not be chosen. */
function chosenOwner(params, users) {
  const owner = ownerOf(params);
  const only = users?.total === 1 ? users.users[0].user_id : undefined;
  return owner.user_id || !only ? owner : { ...owner, user_id: only };
}

/** Scrolls the navigation, and not the page, to the current view. */
function showCurrent(nav) {
  const link = nav.querySelector('[aria-current]');
  if (!link) return;
  const [outer, inner] = [nav.getBoundingClientRect(), link.getBoundingClientRect()];
  nav.scrollLeft += inner.left - outer.left - (outer.width - inner.width) / 2;
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
    if (!isView(route.view)) return undefined;
    loadView(route.view).then(
      (component) => isCurrent && setLoaded({ name: route.view, component }),
      (error) => isCurrent && setLoaded({ name: route.view, error }),
    );
    return () => {
      isCurrent = false;
    };
  }, [route.view]);
  if (!isView(route.view)) return html`<${Notice} tone="warn">${t('unknown')}<//>`;
  const heading = html`<h1>${t(route.view)}</h1>`;
  if (loaded.name !== route.view) return heading;
  if (loaded.error) return html`${heading}<${Notice} tone="error">${t('broken')}<//>`;
  return html`${heading}<${loaded.component} key=${route.view} params=${route.params} owner=${owner} users=${users} />`;
}

/** Chooses user, agent, session and branch. They are part of the address, so that a view can be shared. */
function OwnerPicker({ route, owner, users }) {
  const t = useTexts(texts);
  const path = owner.user_id || !users?.all_users ? '/api/inspector/addresses' : null;
  const addresses = useGet(path, { user_id: owner.user_id });
  const values = (name) => {
    if (name === 'user_id') return users?.users.map((user) => user.user_id) ?? [];
    const found = addresses.data?.addresses.filter((address) => hasChosenOwner(address, owner, name)) ?? [];
    return [...new Set(found.map((address) => address[name]).filter(Boolean))];
  };
  // The addresses are ordered by time, so that the first one has the date of its session.
  const label = (name, value) => {
    const session = name === 'session_id' && addresses.data?.addresses.find((address) => address[name] === value);
    if (!session) return shortened(value);
    return [...sessionNames(value, session.title).map(shortened), formatDate(session.newest)].join(' · ');
  };
  const choose = (name, value) => {
    const rest = name === 'user_id' ? {} : ownerOf(route.params);
    navigate(route.view, { ...rest, [name]: value });
  };
  const isCut = (name) => {
    if (name === 'user_id') return users?.total > users?.users.length;
    return addresses.data?.total > addresses.data?.addresses.length;
  };
  const shown = OWNER_NAMES.filter((name) => name === 'user_id' || owner[name] || values(name).length > 0);
  return html`<div class="owner" role="group" aria-label=${t('owner')}>${shown.map((name) => html`
    <${NamePicker} key=${name} name=${name} value=${owner[name]} values=${values(name)} isCut=${isCut(name)}
      label=${(value) => label(name, value)} hasAll=${name !== 'user_id' || users?.total !== 1}
      onChoose=${(value) => choose(name, value)} />`)}</div>`;
}

/** Chooses a name from a list. If the list is not complete, a name can be typed as well. */
function NamePicker({ name, value, values, isCut, label, hasAll, onChoose }) {
  const t = useTexts(texts);
  const id = useId();
  const change = (event) => onChoose(event.target.value.trim());
  const options = withCurrent(values, value).map((one) => html`
    <option key=${one} value=${one}>${label(one)}</option>`);
  return html`<label class="pick-${name}"><span>${t(name)}</span>${isCut
    ? html`<input type="text" list=${id} value=${value ?? ''} placeholder=${t('all')} autocomplete="off"
        onChange=${change} />`
    : html`<select value=${value ?? ''} onChange=${change}>
        ${hasAll && html`<option value="">${t('all')}</option>`}${options}</select>`}</label>
    ${isCut && html`<datalist id=${id}>${options}</datalist>`}`;
}

/** Returns true if an address has the chosen agent, session and branch. `name` is being chosen and does not count. */
function hasChosenOwner(address, owner, name) {
  return OWNER_NAMES.slice(1).every((other) => other === name || !owner[other] || address[other] === owner[other]);
}

/** Adds the current value to a list that may not contain it. */
function withCurrent(values, current) {
  return current && !values.includes(current) ? [current, ...values] : values;
}

/** Shortens a name for a list. */
function shortened(name) {
  const characters = Array.from(name);
  return characters.length > MAX_OPTION_CHARACTERS ? `${characters.slice(0, MAX_OPTION_CHARACTERS).join('')}…` : name;
}

/** Chooses the colours. */
function ThemePicker() {
  const t = useTexts(texts);
  const [current, setCurrent] = useState(theme);
  const choose = (event) => {
    setTheme(event.target.value);
    setCurrent(event.target.value);
  };
  return html`<label class="theme"><span class="visually-hidden">${t('theme')}</span>
    <select value=${current} onChange=${choose}>
      ${THEMES.map((name) => html`<option value=${name}>${t(`theme_${name}`)}</option>`)}</select></label>`;
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
