// Dialogs: the browser's own element traps the focus, and closes with Escape.

import { html, useLayoutEffect, useRef, useState } from './ui.js';
import { useTexts } from './texts.js';

const texts = {
  en: { cancel: 'Cancel', close: 'Close' },
  zh: { cancel: '取消', close: '关闭' },
};

/** A modal dialog with a title. It is shown while it is rendered; `onClose` is called on Escape and on Close. */
export function Dialog({ title, onClose, children }) {
  const t = useTexts(texts);
  const element = useRef(null);
  // Before the next event, so that an Escape right after the click closes the dialog.
  useLayoutEffect(() => {
    const dialog = element.current;
    const opener = document.activeElement;
    dialog.showModal();
    return () => {
      dialog.close();
      opener?.focus?.();
    };
  }, []);
  const cancel = (event) => {
    event.preventDefault();
    onClose();
  };
  return html`<dialog ref=${element} class="dialog" aria-label=${title} onCancel=${cancel}>
    <header><h2>${title}</h2>
      <button type="button" class="quiet" aria-label=${t('close')} onClick=${onClose}>✕</button></header>
    ${children}
  </dialog>`;
}

/**
 * A dialog that asks before an action. `onConfirm` may return a promise: the button is disabled until it ends, and an
 * error is shown in the dialog. `children` is the question; `mustType`, if given, is a text to type first.
 */
export function ConfirmDialog({ title, action, danger = false, mustType, typeLabel, onConfirm, onClose, children }) {
  const t = useTexts(texts);
  const [typed, setTyped] = useState('');
  const [state, setState] = useState({ busy: false, error: null });
  const confirm = async (event) => {
    event.preventDefault();
    setState({ busy: true, error: null });
    try {
      await onConfirm();
    } catch (error) {
      setState({ busy: false, error });
    }
  };
  const blocked = state.busy || (mustType !== undefined && typed !== mustType);
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <form onSubmit=${confirm}>
      <div class="dialog-body">${children}
        ${mustType !== undefined && html`<label class="field"><span>${typeLabel}</span>
          <input value=${typed} autocomplete="off" onInput=${(event) => setTyped(event.target.value)} /></label>`}
        ${state.error && html`<p class="notice error" role="alert">${state.error.message}</p>`}
      </div>
      <footer>
        <button type="button" onClick=${onClose}>${t('cancel')}</button>
        <button type="submit" class=${danger ? 'danger' : 'primary'} disabled=${blocked}>${action}</button>
      </footer>
    </form>
  <//>`;
}
