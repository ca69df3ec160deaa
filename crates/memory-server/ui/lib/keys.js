// Keys of the page: `/` searches, `j` and `k` move through a list, `?` shows this list of keys.

import { html, useEffect, useState } from './ui.js';
import { useTexts } from './texts.js';
import { navigate, parseRoute } from './route.js';
import { ownerOf } from './owner.js';
import { Dialog } from './dialog.js';

const texts = {
  en: {
    title: 'Keys', search: 'Go to the search field of the view, or to “Search”', next: 'Next entry of a list',
    previous: 'Previous entry of a list', help: 'Show these keys', enabled: 'Use these keys',
  },
  zh: {
    title: '快捷键', search: '转到此视图的搜索框，或转到“检索”', next: '列表的下一项', previous: '列表的上一项', help: '显示快捷键',
    enabled: '启用快捷键',
  },
};

const STORED = 'memory-engine.keys';
const HELP = [['/', 'search'], ['j', 'next'], ['k', 'previous'], ['?', 'help']];
/** The entries of the lists, in any view. */
const ENTRIES = 'main .sentence-text, main .conversation-title, main .bubble, main .turn, main .search-hits article, '
  + 'main .fact-subject .fact-link, main .candidates > li, main .record, main .choose-user li a';

const isEnabled = () => localStorage.getItem(STORED) !== 'off';

/** Handles the keys, and shows the list of them. A person whose software types by itself can switch them off. */
export function Keys() {
  const t = useTexts(texts);
  const [isOpen, setOpen] = useState(false);
  const [isOn, setOn] = useState(isEnabled);
  useEffect(() => {
    const press = (event) => handle(event, isOn, () => setOpen(true));
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, [isOn]);
  const toggle = (event) => {
    setOn(event.target.checked);
    localStorage.setItem(STORED, event.target.checked ? 'on' : 'off');
  };
  return html`<button type="button" class="quiet keys-button" aria-label=${t('title')} title=${t('title')}
      onClick=${() => setOpen(true)}>?</button>
    ${isOpen && html`<${Dialog} title=${t('title')} onClose=${() => setOpen(false)}><div class="dialog-body">
      <dl class="facts">${HELP.map(([key, name]) => html`<dt><kbd>${key}</kbd></dt><dd>${t(name)}</dd>`)}</dl>
      <label class="check"><input type="checkbox" checked=${isOn} onChange=${toggle} />${t('enabled')}</label>
    </div><//>`}`;
}

function handle(event, isOn, showHelp) {
  const isTyping = event.target.closest?.('input, textarea, select, dialog');
  if (!isOn || isTyping || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const action = { '/': search, j: () => move(1), k: () => move(-1), '?': showHelp }[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

/** Moves to the search field of the view; without one, to the view "Search". */
function search() {
  const field = document.querySelector('main input[type=search]');
  if (field) field.focus();
  else navigate('search', ownerOf(parseRoute(location.hash).params));
}

/** Moves the focus to the next or the previous entry; at first to the first one on the screen. */
function move(step) {
  const entries = [...document.querySelectorAll(ENTRIES)].filter((entry) => entry.getClientRects().length > 0);
  const current = entries.findIndex((entry) => entry.contains(document.activeElement));
  const first = entries.findIndex((entry) => entry.getBoundingClientRect().top >= 0);
  const next = entries[current < 0 ? first : current + step];
  if (!next) return;
  // An article is no control: it only takes the focus from here.
  if (next.tabIndex < 0) next.tabIndex = -1;
  next.focus();
  next.scrollIntoView({ block: 'nearest' });
}
