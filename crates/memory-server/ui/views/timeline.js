// Placeholder of the view "timeline".

import { html } from '../lib/ui.js';

export default function View() {
  return html`<p>…</p>`;
}
