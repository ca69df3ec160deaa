// The server: its database, its parts, the key of this tab, and where settings, keys and synonyms are changed.

import { html } from '../lib/ui.js';
import { useTexts } from '../lib/texts.js';
import { useGet } from '../lib/api.js';
import { formatNumber, formatTime } from '../lib/format.js';
import { Empty, Loaded, MemoryName, Panel, Table } from '../lib/components.js';

const texts = {
  en: {
    server: 'This server', version: 'Version', database: 'Database', embedder: 'Embedder', zone: 'Time zone',
    certified: 'Certificates of deletions', yes: 'yes', no: 'no: the server has no key for them', off: 'deletions are '
      + 'switched off',
    parts: 'Enabled parts', routes: ['1 route', '{n} routes'], settings: 'Settings',
    settingsText: 'The server reads its settings when it starts. This command prints each with its value and source:',
    keys: 'Keys', key: 'Key of this tab', reach: 'It reaches', allUsers: 'all users of its tenant',
    keysText: 'The configuration has the hash of each key, so that no key can be shown again. A new key, for one user '
      + 'or for all:',
    synonyms: 'Synonyms', synonymsText: 'Words that a search takes for the same. They are listed, suggested and '
      + 'accepted with:',
    kept: 'Texts that are kept out', keptText: 'Each was deleted with the wish that it is never stored again. The text '
      + 'itself is not stored, only its length.',
    keptNone: 'Nothing is kept out', keptNoneText: 'Delete a text in “Deletion”, and choose that it is not stored '
      + 'again.',
    chooseUser: 'Choose a user at the top to see what is kept out of their memories.', id: 'Id', since: 'Since',
    length: 'Characters',
  },
  zh: {
    server: '此服务器', version: '版本', database: '数据库', embedder: '向量模型', zone: '时区', certified: '删除证书', yes: '有',
    no: '没有：服务器没有证书密钥', off: '删除功能已关闭', parts: '已启用的部分', routes: '{n} 个接口', settings: '设置',
    settingsText: '服务器启动时读取设置。以下命令会列出每项设置的值和来源：', keys: '密钥', key: '此标签页的密钥', reach: '可访问', allUsers: '其租户的全部用户',
    keysText: '配置中只有每个密钥的哈希，因此无法再次显示。为一个用户或全部用户创建新密钥：', synonyms: '同义词', synonymsText: '检索时视为相同的词。用以下命令列出、建议和接受：',
    kept: '不再存储的文字', keptText: '这些文字在删除时被要求今后不再存储。文字本身不保存，只保存长度。', keptNone: '没有不再存储的文字',
    keptNoneText: '可在“删除”中删除一段文字，并选择今后不再存储。', chooseUser: '请在页面顶部选择用户，以查看其不再存储的文字。', id: 'ID', since: '自',
    length: '字符数',
  },
};

/** The view. */
export default function ServerView({ owner, users }) {
  return html`<div class="columns"><${Server} users=${users} /><${Access} users=${users} /></div>
    <${KeptOut} key=${JSON.stringify(owner)} owner=${owner} />`;
}

/** Rows of a name and a value. One without a value is left out. */
function Pairs({ rows }) {
  return html`<dl class="facts-list">${rows.filter(([, value]) => value).map(([name, value]) => html`
    <div key=${name}><dt>${name}</dt><dd><bdi>${value}</bdi></dd></div>`)}</dl>`;
}

function Server({ users }) {
  const t = useTexts(texts);
  const overview = useGet('/api/inspector/overview');
  const deletions = useGet('/api/deletions');
  const certified = deletions.error ? t('off') : deletions.data && t(deletions.data.certified ? 'yes' : 'no');
  return html`<div><${Panel} title=${t('server')}><${Loaded} read=${overview}>${({ server }) => html`<${Pairs} rows=${[
    [t('version'), server.version], [t('database'), users.data?.database ?? server.backend],
    [t('embedder'), server.embedder], [t('zone'), server.zone], [t('certified'), certified],
  ]} />`}<//><//><${Parts} /></div>`;
}

/** The parts of the server, from the description of its routes. */
function Parts() {
  const t = useTexts(texts);
  const read = useGet('/openapi.json');
  const count = (name, paths) => Object.values(paths).flatMap((path) => Object.values(path))
    .filter((operation) => operation.tags?.includes(name)).length;
  return html`<${Panel} title=${t('parts')}><${Loaded} read=${read}>${({ tags, paths }) => html`<${Pairs}
    rows=${tags.map(({ name }) => {
      const routes = count(name, paths);
      return [name, t('routes', { count: routes, n: formatNumber(routes) })];
    })} />`}<//><//>`;
}

/** The key of this tab, and the commands for what no route changes. */
function Access({ users }) {
  const t = useTexts(texts);
  const command = (title, text, line) => html`<${Panel} title=${t(title)}><p>${t(text)}</p>
    <p><code class="setting">${line}</code></p><//>`;
  return html`<div><${Panel} title=${t('keys')}><${Loaded} read=${users}>${(data) => html`<${Pairs} rows=${[
      [t('key'), data.key],
      [t('reach'), data.all_users ? t('allUsers') : data.users.map((user) => user.user_id).join(', ')],
    ]} />`}<//>
    <p>${t('keysText')}</p><p><code class="setting">memory keys new NAME --user USER</code></p><//>
    ${command('settings', 'settingsText', 'memory config show')}
    ${command('synonyms', 'synonymsText', 'memory synonyms --help')}</div>`;
}

/** The texts that are kept out of the memories of a user. */
function KeptOut({ owner }) {
  const t = useTexts(texts);
  const read = useGet(owner.user_id ? '/api/deletions/standing' : null, owner);
  const columns = [
    { title: t('since'), cell: (entry) => formatTime(entry.since) },
    { title: t('length'), align: 'end', cell: (entry) => formatNumber(entry.length) },
    { title: t('id'), cell: (entry) => html`<${MemoryName} name=${entry.id} />` },
  ];
  if (read.error?.status === 404) return null;
  return html`<${Panel} title=${t('kept')}>
    ${!owner.user_id && html`<p class="hint">${t('chooseUser')}</p>`}
    ${owner.user_id && html`<${Loaded} read=${read}>${({ standing }) => (standing.length === 0
      ? html`<${Empty} title=${t('keptNone')}>${t('keptNoneText')}<//>`
      : html`<p class="hint">${t('keptText')}</p>
        <${Table} caption=${t('kept')} columns=${columns} rows=${standing} />`)}
    <//>`}<//>`;
}
