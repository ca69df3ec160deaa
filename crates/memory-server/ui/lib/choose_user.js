// The users of the key as links, where a view shows one user at a time.

import { html, useState } from './ui.js';
import { useTexts } from './texts.js';
import { formatNumber, formatTime } from './format.js';
import { routeTo } from './route.js';
import { Empty, Field, Loaded, MemoryName, Panel } from './components.js';

const texts = {
  en: {
    title: 'Choose a user', filter: 'Find a user', hint: 'This view shows one user at a time.',
    records: ['{n} record', '{n} records'], more: 'The {shown} users with the newest memories, of {total}. Type the '
      + 'whole name of another one to open it.',
    open: 'Open the user “{name}”', none: 'No user in this list has “{name}” in the name.',
    noneTitle: 'No memories yet',
    noneText: 'Import conversations with “memory import”, connect an application to the chat gateway, or store a '
      + 'record with POST /v1/memories/. Then reload this page.',
  },
  zh: {
    title: '请选择用户', filter: '查找用户', hint: '此视图一次显示一个用户。', records: '{n} 条记录',
    more: '共 {total} 个用户，此处为记忆最新的 {shown} 个。输入其他用户的完整名称即可打开。', open: '打开用户“{name}”',
    none: '此列表中没有名称包含“{name}”的用户。', noneTitle: '还没有记忆',
    noneText: '可用“memory import”导入对话，把应用接入聊天网关，或用 POST /v1/memories/ 写入记录，然后重新加载此页面。',
  },
};

const SHOWN_USERS = 30;

/** Returns true if a view of one user has to ask which one. */
export function mustChooseUser(owner, users) {
  return !owner.user_id && users.data?.total !== 1;
}

/** The users, each a link to the same view. `users` is the read of `/api/inspector/users`. */
export function ChooseUser({ view, users }) {
  return html`<${Loaded} read=${users}>${(list) => html`<${UserLinks} view=${view} list=${list} />`}<//>`;
}

function UserLinks({ view, list }) {
  const t = useTexts(texts);
  const [typed, setTyped] = useState('');
  const name = typed.trim();
  if (list.total === 0) return html`<${Panel}><${Empty} title=${t('noneTitle')}>${t('noneText')}<//><//>`;
  const matching = list.users.filter((user) => user.user_id.toLowerCase().includes(name.toLowerCase()));
  const isMissing = name !== '' && !list.users.some((user) => user.user_id === name);
  return html`<${Panel} title=${t('title')} className="choose-user">
    <p class="hint">${t('hint')}</p>
    ${list.users.length > 5 && html`<${Field} label=${t('filter')}><input type="search" value=${typed}
      onInput=${(event) => setTyped(event.target.value)} /><//>`}
    ${matching.length === 0 && html`<p class="hint" role="status"><bdi>${t('none', { name })}</bdi></p>`}
    <ul class="plain">${matching.slice(0, SHOWN_USERS).map((user) => html`<li key=${user.user_id}>
      <a href=${routeTo(view, { user_id: user.user_id })}><${MemoryName} name=${user.user_id} /></a>
      <span class="hint">${t('records', { count: user.records, n: formatNumber(user.records) })}
        ${' · '}${formatTime(user.newest)}</span></li>`)}</ul>
    ${isMissing && list.total > list.users.length && html`<p>
      <a href=${routeTo(view, { user_id: name })}><bdi>${t('open', { name })}</bdi></a></p>`}
    ${list.total > list.users.length && html`<p class="hint">${t('more', {
      shown: formatNumber(list.users.length), total: formatNumber(list.total),
    })}</p>`}
  <//>`;
}
