// Placeholder of the view "overview".

import { html } from '../lib/ui.js';

export default function View() {
  return html`<p>…</p>`;
}
