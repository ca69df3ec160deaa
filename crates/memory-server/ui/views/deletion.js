// Placeholder of the view "deletion".

import { html } from '../lib/ui.js';

export default function View() {
  return html`<p>…</p>`;
}
