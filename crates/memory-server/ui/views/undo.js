// Placeholder of the view "undo".

import { html } from '../lib/ui.js';

export default function View() {
  return html`<p>…</p>`;
}
