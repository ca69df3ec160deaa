// The languages of the page: English and Chinese.

import { useEffect, useState } from './ui.js';

const STORED = 'memory-engine.language';

/** Languages with their own names. */
export const LANGUAGES = { en: 'English', zh: '中文' };

let current = localStorage.getItem(STORED) ?? (navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en');
if (!(current in LANGUAGES)) current = 'en';
document.documentElement.lang = current === 'zh' ? 'zh-CN' : 'en';
const listeners = new Set();

/** Returns the current language, `en` or `zh`. */
export function language() {
  return current;
}

/** Changes the language of the page. */
export function setLanguage(next) {
  current = next;
  localStorage.setItem(STORED, next);
  document.documentElement.lang = next === 'zh' ? 'zh-CN' : 'en';
  listeners.forEach((listener) => listener());
}

/** Returns the current language, and renders again when it changes. */
export function useLanguage() {
  const [, count] = useState(0);
  useEffect(() => {
    const listener = () => count((n) => n + 1);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, []);
  return current;
}

/**
 * Returns the function `t(key, values)` for the texts of a module, `{ en: {...}, zh: {...} }`. `{name}` in a text is
 * replaced by `values.name`. In English, a text may be a pair of singular and plural, chosen by `values.count`.
 */
export function useTexts(texts) {
  useLanguage();
  return (key, values = {}) => textOf(texts, key, values);
}

/** Returns a text in the current language. */
export function textOf(texts, key, values = {}) {
  const entry = texts[current][key];
  if (entry === undefined) throw new Error(`the text ${key} is missing in ${current}`);
  const text = Array.isArray(entry) ? entry[values.count === 1 ? 0 : 1] : entry;
  return text.replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ''));
}
