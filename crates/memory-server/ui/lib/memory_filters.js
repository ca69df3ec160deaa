// The filters of the list of memories. They are part of the address of the page.

import { html, useEffect, useState } from './ui.js';
import { useTexts } from './texts.js';
import { navigate, routeTo } from './route.js';
import { ownerOf } from './owner.js';
import { Field } from './components.js';
import { kindName, sceneName } from './names.js';

const texts = {
  en: {
    text: 'Text', textHint: 'words as they are in the memory', kind: 'Kind', all: 'All', scene: 'Scene', tag: 'Tag',
    since: 'From', until: 'Until', more: 'Filters', order: 'Order', newest: 'Newest first', oldest: 'Oldest first',
    asOf: 'As it was at', inactive: 'Show what no longer counts', show: 'Show', reset: 'Remove the filters',
  },
  zh: {
    text: '文字', textHint: '记忆中的原文', kind: '类型', all: '全部', scene: '场景', tag: '标签', since: '从', until: '到', more: '筛选',
    order: '顺序', newest: '最新在前', oldest: '最早在前', asOf: '查看当时的状态', inactive: '显示不再生效的记录', show: '显示', reset: '清除筛选',
  },
};

const KINDS = ['turn', 'fact', 'note', 'summary', 'profile', 'key_moment', 'event'];
const SCENES = ['daily', 'plot', 'meta'];
/** The parameters of the address that are filters. */
const FILTERS = ['text', 'kind', 'scene', 'tag', 'since', 'until', 'order', 'as_of', 'inactive'];
/** Below this width the filters are closed at first, so that the first memory is on the screen. */
const WIDE_PX = 760;

/** Returns true if the address has a filter. */
export function isFiltered(params) {
  return FILTERS.some((name) => params[name]);
}

/** Returns the parameters of the request for the filters in the address. Days are those of the browser. */
export function requestOf(params, owner) {
  const { text, kind, scene, tag, order, as_of, inactive } = params;
  const until = params.until && dayAfter(params.until);
  return { ...owner, text, kind, scene, tag, order, as_of, inactive, since: startOf(params.since), until };
}

function startOf(date) {
  const start = new Date(`${date}T00:00`);
  return Number.isNaN(start.getTime()) ? date : start.toISOString();
}

/** Returns the end of a day, which is the last one that is shown. */
function dayAfter(date) {
  const start = new Date(`${date}T00:00`);
  if (Number.isNaN(start.getTime())) return date;
  start.setDate(start.getDate() + 1);
  return start.toISOString();
}

/** Returns the values of the fields that a person types. */
function typedOf({ text = '', tag = '', since = '', until = '', as_of }) {
  return { text, tag, since, until, as_of: as_of ? toLocalInput(as_of) : '' };
}

/** Lists and the order apply at once, what is typed with "Show". */
export function MemoryFilters({ params }) {
  const t = useTexts(texts);
  const [typed, setTyped] = useState(typedOf(params));
  useEffect(() => setTyped(typedOf(params)), [JSON.stringify(params)]);
  const open = (changes) => {
    const as_of = typed.as_of ? new Date(typed.as_of).toISOString() : '';
    navigate('memories', { ...params, ...typed, text: typed.text.trim(), tag: typed.tag.trim(), as_of, ...changes });
  };
  const submit = (event) => {
    event.preventDefault();
    open({});
  };
  const input = (name, type) => html`<${Field} label=${t(name === 'as_of' ? 'asOf' : name)}><input type=${type}
    value=${typed[name]} onInput=${(event) => setTyped({ ...typed, [name]: event.target.value })} /><//>`;
  const choice = (name, options, usual = '') => html`<${Field} label=${t(name)}><select name=${name}
    value=${params[name] ?? usual} onChange=${(event) => open({
      [name]: event.target.value === usual ? '' : event.target.value,
    })}>${options.map(([value, label]) => html`<option value=${value}>${label}</option>`)}</select><//>`;
  const named = (values, current, nameOf) => [['', t('all')],
    ...[...new Set([...values, current].filter(Boolean))].map((value) => [value, nameOf(value)])];
  const others = FILTERS.filter((name) => name !== 'text' && params[name]).length;
  return html`<form class="panel memory-filters" role="search" onSubmit=${submit}>
    <div class="search-line"><${Field} label=${t('text')} className="grow"><input type="search" maxlength="200"
        placeholder=${t('textHint')} value=${typed.text}
        onInput=${(event) => setTyped({ ...typed, text: event.target.value })} /><//>
      <button type="submit" class="primary">${t('show')}</button></div>
    <details open=${others > 0 || innerWidth > WIDE_PX}><summary>${t('more')}${others > 0 && ` (${others})`}</summary>
      <div class="fields">
        ${choice('kind', named(KINDS, params.kind, kindName))}
        ${choice('scene', named(SCENES, params.scene, sceneName))}
        ${input('tag', 'text')}${input('since', 'date')}${input('until', 'date')}
        ${choice('order', [['newest', t('newest')], ['oldest', t('oldest')]], 'newest')}
        ${input('as_of', 'datetime-local')}
        <label class="check"><input type="checkbox" checked=${params.inactive !== 'false'}
          onChange=${(event) => open({ inactive: event.target.checked ? '' : 'false' })} /> ${t('inactive')}</label>
        ${isFiltered(params) && html`<a href=${routeTo('memories', ownerOf(params))}>${t('reset')}</a>`}
      </div></details>
  </form>`;
}

/** Returns a time as the value of a `datetime-local` input, in the time zone of the browser. */
function toLocalInput(time) {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return '';
  return new Date(date.getTime() - date.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}
