// The form of a search: the query, and what restricts it.

import { html, useId, useState } from './ui.js';
import { useTexts } from './texts.js';
import { Field } from './components.js';

const texts = {
  en: {
    query: 'Query', placeholder: 'What did I say about …?', search: 'Search', filters: 'Filters', kind: 'Kind',
    any: 'any', scene: 'Scene of the question', since: 'Occurred from', until: 'Occurred before',
    asOf: 'As memory was at', limit: 'Hits', clear: 'Remove filters',
    sceneHint: 'Only what is visible from this scene is found.',
  },
  zh: {
    query: '查询', placeholder: '我之前说过关于……的什么？', search: '检索', filters: '筛选', kind: '类型', any: '不限', scene: '提问时的场景',
    since: '发生于（起）', until: '发生于（止）', asOf: '按此时的记忆', limit: '结果数', clear: '清除筛选', sceneHint: '只检索从该场景可见的内容。',
  },
};

/** The parameters of a search, besides those of the owner. */
export const SEARCH_NAMES = ['q', 'kind', 'scene', 'since', 'until', 'as_of', 'limit', 'why'];
const FILTER_NAMES = ['kind', 'scene', 'since', 'until', 'as_of', 'limit'];
const DATES = [{ name: 'since', text: 'since' }, { name: 'until', text: 'until' }, { name: 'as_of', text: 'asOf' }];
/** The kinds of the library. Callers can add their own. */
const KINDS = ['turn', 'chunk', 'summary', 'fact', 'profile', 'key_moment', 'event', 'note'];

/** Returns the search in the parameters of a route. */
export function searchOf(params) {
  const known = SEARCH_NAMES.filter((name) => params[name]).map((name) => [name, params[name]]);
  const search = Object.fromEntries(known);
  // The public API also accepts this name.
  if (!search.q && params.query) search.q = params.query;
  return search;
}

/** The form. `onSearch(search)` is called when it is sent. */
export function SearchForm({ search, onSearch }) {
  const t = useTexts(texts);
  const [values, setValues] = useState(search);
  const kinds = useId();
  const set = (name) => (event) => setValues({ ...values, [name]: event.target.value });
  const empty = Object.fromEntries(FILTER_NAMES.map((name) => [name, '']));
  const submit = (event) => {
    event.preventDefault();
    onSearch({ ...empty, ...trimmed(values) });
  };
  const hasFilter = FILTER_NAMES.some((name) => search[name]);
  return html`<form class="search-form" role="search" onSubmit=${submit}>
    <div class="search-line"><${Field} label=${t('query')} className="grow"><input type="search" name="q" required
        value=${values.q ?? ''} placeholder=${t('placeholder')} maxlength="4000" onInput=${set('q')} /><//>
      <button type="submit" class="primary">${t('search')}</button></div>
    <details open=${hasFilter}><summary>${t('filters')}</summary><div class="fields">
      <${Field} label=${t('kind')}><input name="kind" size="12" list=${kinds} value=${values.kind ?? ''}
        placeholder=${t('any')} onInput=${set('kind')} /><//>
      <datalist id=${kinds}>${KINDS.map((kind) => html`<option value=${kind}></option>`)}</datalist>
      <${Field} label=${t('scene')}><input name="scene" size="10" value=${values.scene ?? ''} placeholder=${t('any')}
        title=${t('sceneHint')} onInput=${set('scene')} /><//>
      ${DATES.map(({ name, text }) => html`<${Field} key=${name} label=${t(text)}><input type="date" name=${name}
        value=${dateOf(values[name])} onInput=${set(name)} /><//>`)}
      <${Field} label=${t('limit')}><input type="number" name="limit" min="1" max="100" value=${values.limit ?? ''}
        placeholder="10" onInput=${set('limit')} /><//>
      ${hasFilter && html`<button type="button" onClick=${() => onSearch(empty)}>${t('clear')}</button>`}
    </div></details>
  </form>`;
}

/** Returns the date of a time, for a date input: a shared address may contain a whole time. */
function dateOf(time) {
  return (time ?? '').slice(0, 10);
}

function trimmed(values) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value.trim()]));
}
