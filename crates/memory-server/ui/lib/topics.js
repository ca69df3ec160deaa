// The topics under which the page shows what is known about a person.

const texts = {
  en: {
    who: 'Who', home: 'Home', people: 'People and animals', work: 'Work and studies', likes: 'Likes and habits',
    health: 'Health', plans: 'Plans', wishes: 'Standing wishes and notes', other: 'Other',
  },
  zh: {
    who: '身份', home: '住处', people: '身边的人和动物', work: '工作与学习', likes: '喜好与习惯', health: '健康', plans: '计划',
    wishes: '长期要求与备注', other: '其他',
  },
};

/** The topics in the order of the page, with the attributes of each. */
const TOPICS = {
  who: ['name', 'nickname', 'age', 'birthday', 'language', 'death'],
  home: ['home', 'hometown', 'staying'],
  people: ['family', 'kin', 'relationship', 'pet', 'animal'],
  work: ['job', 'workplace', 'school', 'major', 'grade', 'skill', 'business'],
  likes: ['like', 'favorite', 'eat', 'drink', 'habit', 'fear', 'own'],
  health: ['allergy', 'health', 'medicine', 'diet'],
  plans: ['plan', 'activity'],
  wishes: ['wish', 'remembered', 'withdrawn', 'ended', 'note'],
};
const TOPIC_OF = new Map(Object.entries(TOPICS).flatMap(([topic, names]) => names.map((name) => [name, topic])));

export { texts as topicTexts };

/** Returns the topic of a memory. What is known about others belongs to the people around the user. */
function topicOf({ subject = 'user', attribute = 'note' }) {
  if (subject !== 'user') return 'people';
  return TOPIC_OF.get(attribute.split('.')[0]) ?? 'other';
}

/** Groups memories by topic, as pairs in the order of the page. The core comes first, then the newest. */
export function byTopic(memories) {
  const rank = (memory) => (memory.isCore ? 0 : 1);
  const sorted = [...memories].sort((a, b) => rank(a) - rank(b)
    || (b.occurred_at ?? '').localeCompare(a.occurred_at ?? ''));
  const topics = [...Object.keys(TOPICS), 'other'];
  return topics.map((topic) => [topic, sorted.filter((memory) => topicOf(memory) === topic)])
    .filter(([, found]) => found.length > 0);
}
