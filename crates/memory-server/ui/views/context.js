// Placeholder of the view "context".

import { html } from '../lib/ui.js';

export default function View() {
  return html`<p>…</p>`;
}
