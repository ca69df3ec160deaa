// The names of kinds, states, roles and scenes of records, of jobs, and of the stages of a recall, in the language of
// the page. Callers can add kinds and scenes: they are shown as they are.

import { language } from './texts.js';

const NAMES = {
  en: {
    kind: {
      turn: 'message', chunk: 'part of a message', key_moment: 'key moment', 'ledger/': 'internal: ',
    },
    state: { active: 'current', pending: 'waiting for review', superseded: 'replaced', revoked: 'retracted' },
    stage: {
      branches: 'Branches', past: 'Past states', synonyms: 'Synonyms', retrievers: 'Retrievers', keyword: 'Keywords',
      vector: 'Vectors', graph: 'Graph', neighbors: 'Neighbors', fetch: 'Records', terms: 'Index terms',
      tokens: 'Token vectors', sentences: 'Sentences', rerank: 'Reranker', topics: 'Topics', updates: 'Replaced facts',
    },
    scene: {},
    job: {},
    role: { user: 'User', assistant: 'Assistant', system: 'System', tool: 'Tool' },
  },
  zh: {
    kind: {
      turn: '消息', chunk: '消息片段', summary: '摘要', fact: '事实', profile: '画像', key_moment: '关键时刻', event: '事件',
      note: '备注', 'ledger/': '内部：',
    },
    state: { active: '当前', pending: '待审核', superseded: '已被取代', revoked: '已撤回', deleted: '已删除' },
    stage: {
      branches: '分支', past: '过去的状态', synonyms: '同义词', retrievers: '检索器', keyword: '关键词', vector: '向量', graph: '关系图',
      neighbors: '相邻记录', fetch: '读取记录', terms: '索引词', tokens: '词元向量', sentences: '分句', rerank: '重排器', topics: '话题',
      updates: '被取代的事实',
    },
    scene: { daily: '日常', plot: '剧情', meta: '戏外' },
    job: {
      keywords: '关键词索引', embedding: '向量索引', chunks: '切分', metadata: '元数据', facts: '事实', summary: '摘要', profile: '画像',
      graph: '关系图',
    },
    role: { user: '用户', assistant: '助手', system: '系统', tool: '工具' },
  },
};

const nameIn = (group) => (name) => {
  const names = NAMES[language()][group];
  return Object.hasOwn(names, name) ? names[name] : name;
};

/** Returns the name of the state of a record. */
export const stateName = nameIn('state');
/** Returns the name of the role of a speaker. */
export const roleName = nameIn('role');
/** Returns the name of a scene. */
export const sceneName = nameIn('scene');
/** Returns the name of a stage of a recall. */
export const stageName = nameIn('stage');
/** Returns the name of a background job. */
export const jobName = nameIn('job');

/** Returns the name of a kind. The kinds of the engine's own entries have a prefix. */
export function kindName(kind) {
  const prefix = 'ledger/';
  const name = nameIn('kind');
  return kind.startsWith(prefix) ? name(prefix) + kind.slice(prefix.length).replaceAll('_', ' ') : name(kind);
}
