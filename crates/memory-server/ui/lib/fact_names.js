// Names of attributes and people of facts, in the language of the page.

import { language } from './texts.js';

/** Attributes that the built-in rules use, in Chinese. In English their own names are shown. */
const ATTRIBUTES = {
  name: '姓名', nickname: '昵称', age: '年龄', birthday: '生日', job: '职业', workplace: '工作单位', school: '学校', major: '专业',
  home: '住处', hometown: '家乡', staying: '暂住', relationship: '感情状况', family: '家人', pet: '宠物', animal: '动物', allergy: '过敏',
  health: '健康', diet: '饮食', eat: '吃', drink: '喝', habit: '习惯', like: '喜好', favorite: '最喜欢', language: '语言', skill: '技能',
  own: '拥有', plan: '计划', activity: '活动', kin: '亲属', business: '生意', medicine: '药物', fear: '害怕', note: '备注',
};

/** Returns the name of an attribute: `favorite.food` as `favorite · food`. */
export function attributeName(attribute) {
  const [family, ...rest] = attribute.split('.');
  const hasName = language() === 'zh' && Object.hasOwn(ATTRIBUTES, family);
  const name = hasName ? ATTRIBUTES[family] : family.replaceAll('_', ' ');
  return [name, ...rest].join(' · ');
}

/** Returns the name of a subject: `user.sister` as `User · sister`. `user` is the word for the user. */
export function subjectName(subject, user) {
  const [person, ...rest] = subject.split('.');
  return [person === 'user' ? user : person, ...rest].join(' · ');
}
