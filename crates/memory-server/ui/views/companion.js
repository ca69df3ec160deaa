// Placeholder of the view "companion".

import { html } from '../lib/ui.js';

export default function View() {
  return html`<p>…</p>`;
}
