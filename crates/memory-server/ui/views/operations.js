// Placeholder of the view "operations".

import { html } from '../lib/ui.js';

export default function View() {
  return html`<p>…</p>`;
}
