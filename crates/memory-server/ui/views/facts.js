// Placeholder of the view "facts".

import { html } from '../lib/ui.js';

export default function View() {
  return html`<p>…</p>`;
}
