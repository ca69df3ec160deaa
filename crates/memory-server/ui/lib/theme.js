// The colours of the page: those of the system, or light or dark by choice.

const STORED = 'memory-engine.theme';
const SYSTEM_DARK = '(prefers-color-scheme: dark)';
/** When the dark colours count. */
const MEDIA = { system: SYSTEM_DARK, light: 'not all', dark: 'all' };

/** The choices. */
export const THEMES = Object.keys(MEDIA);

const listeners = new Set();
let current = localStorage.getItem(STORED);
if (!THEMES.includes(current)) [current] = THEMES;
apply();
matchMedia(SYSTEM_DARK).addEventListener('change', announce);

function apply() {
  document.getElementById('dark-scheme').media = MEDIA[current];
  // The browser's own controls follow.
  document.documentElement.style.colorScheme = current === 'system' ? '' : current;
}

function announce() {
  listeners.forEach((listener) => listener());
}

/** Returns the choice. */
export function theme() {
  return current;
}

/** Changes the colours, and keeps the choice in this browser. */
export function setTheme(next) {
  current = next;
  localStorage.setItem(STORED, next);
  apply();
  announce();
}

/** Calls a function when the colours change. Returns a function that ends this. */
export function onThemeChanged(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
