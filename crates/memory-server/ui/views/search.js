// Placeholder of the view "search".

import { html } from '../lib/ui.js';

export default function View() {
  return html`<p>…</p>`;
}
