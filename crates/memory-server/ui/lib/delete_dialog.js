// A dialog that shows what a deletion would remove, and then deletes it for good.

import { html, useEffect, useState } from './ui.js';
import { useTexts } from './texts.js';
import { post } from './api.js';
import { formatNumber } from './format.js';
import { MemoryText, Notice } from './components.js';
import { ConfirmDialog } from './dialog.js';

const texts = {
  en: {
    action: 'Delete for good', loading: 'Looking for what goes with it …',
    forGood: 'Nothing is kept, and it cannot be restored. To keep the way back, retract it instead.',
    records: ['{n} record is deleted, with what was derived from it.', '{n} records are deleted, with what was derived '
      + 'from them.'],
    retracted: ['This message says it. It stays stored, but no longer counts:', 'These {n} messages say it. They stay '
      + 'stored, but no longer count:'],
    off: 'Deletions are switched off on this server (deletions.enabled).',
  },
  zh: {
    action: '永久删除', loading: '正在查找相关内容…', forGood: '不保留任何副本，也无法恢复。如果希望可以恢复，请改用撤回。',
    records: '将删除 {n} 条记录，包括由其派生的内容。', retracted: '以下 {n} 条消息提到了它。它们仍会保存，但不再生效：',
    off: '此服务器已关闭删除功能（deletions.enabled）。',
  },
};

const counted = (count) => ({ count, n: formatNumber(count) });

/** `body` is that of `POST /api/deletions`. `onDeleted(answer)` is called with its answer. */
export function DeleteDialog({ title, body, onDeleted, onClose, children }) {
  const t = useTexts(texts);
  const [state, setState] = useState({ preview: null, error: null });
  useEffect(() => {
    const controller = new AbortController();
    post('/api/inspector/deletion-preview', body, { signal: controller.signal }).then(
      (preview) => setState({ preview, error: null }),
      (error) => error.name === 'AbortError' || setState({ preview: null, error }),
    );
    return () => controller.abort();
  }, []);
  const remove = async () => {
    try {
      onDeleted(await post('/api/deletions', body));
    } catch (error) {
      throw error.status === 404 ? new Error(t('off')) : error;
    }
  };
  const { preview, error } = state;
  return html`<${ConfirmDialog} title=${title} action=${t('action')} danger onConfirm=${remove} onClose=${onClose}>
    ${children}
    ${!preview && !error && html`<p class="hint" role="status">${t('loading')}</p>`}
    ${error && html`<${Notice} tone="error">${error.message}<//>`}
    ${preview && html`<p>${t('records', counted(preview.records))}</p>
      ${preview.retracted > 0 && html`<p>${t('retracted', counted(preview.retracted))}</p>
        ${preview.retracted_sample.map((record) => html`<blockquote class="quoted" key=${record.id}>
          <${MemoryText} text=${record.text} /></blockquote>`)}`}`}
    <p class="hint">${t('forGood')}</p><//>`;
}
