// The route of the page, in the fragment of its address: `#/search?user_id=anna&q=tea`.

import { useEffect, useState } from './ui.js';

/** Parses a fragment. Returns the name of the view, and the parameters as an object of texts. */
export function parseRoute(fragment) {
  const [path, query = ''] = fragment.replace(/^#?\/?/, '').split('?');
  return { view: path || 'about', params: Object.fromEntries(new URLSearchParams(query)) };
}

/** Returns the fragment of a view with parameters. Missing and empty parameters are left out. */
export function routeTo(view, params = {}) {
  const present = Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== '');
  const query = new URLSearchParams(present.map(([name, value]) => [name, String(value)])).toString();
  return `#/${view}${query ? `?${query}` : ''}`;
}

/** Opens a view. `replace` keeps the current address out of the history, for changes while the user types. */
export function navigate(view, params, { replace = false } = {}) {
  const target = routeTo(view, params);
  if (replace) {
    history.replaceState(null, '', target);
    dispatchEvent(new HashChangeEvent('hashchange'));
  } else {
    location.hash = target;
  }
}

/** Returns the current route, and renders again when it changes. */
export function useRoute() {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const update = () => setRoute(parseRoute(location.hash));
    addEventListener('hashchange', update);
    return () => removeEventListener('hashchange', update);
  }, []);
  return route;
}
