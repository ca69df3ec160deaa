// Placeholder of the view "graph".

import { html } from '../lib/ui.js';

export default function View() {
  return html`<p>…</p>`;
}
