use super::*;

/// Questions about the speaker's own facts, with their first topic.
const OWN: &[(&str, &str)] = &[
    ("what do I do for a living again?", "job"),
    ("Where am I working these days?", "job"),
    ("Do you know what my job is?", "job"),
    ("which city do I live in?", "home"),
    ("Where am I from?", "home"),
    ("do I have any siblings", "family"),
    ("what's my name?", "name"),
    ("do I have pets?", "pet"),
    ("What am I allergic to?", "allergy"),
    ("what should we cook for dinner tonight?", "food"),
    ("Which dishes do I like?", "favorite-food"),
    ("when's my birthday", "birthday"),
    ("How old am I?", "birthday"),
    ("what are my hobbies?", "hobby"),
    ("Which university do I go to?", "study"),
    ("what pills am I on? I mean my medication", "health"),
    ("How many languages do I speak?", "language"),
    ("what am I scared of", "fear"),
    ("what do I have planned for June?", "plan"),
    ("what did I tell you about how to answer?", "wish"),
    ("How do I like my answers?", "wish"),
    ("what did I ask you never to do", "wish"),
    ("What have I asked you to remember?", "remembered"),
    ("我是做什么工作的来着", "job"),
    ("你知道我在哪家公司上班吗", "job"),
    ("我住在哪个城市？", "home"),
    ("我老家在哪儿", "home"),
    ("我家里都有谁", "family"),
    ("我叫什么名字", "name"),
    ("我养了几只宠物", "pet"),
    ("我对什么过敏来着？", "allergy"),
    ("今晚吃什么好呢", "food"),
    ("我爱喝什么", "favorite-food"),
    ("我生日是哪天", "birthday"),
    ("我今年多大了", "birthday"),
    ("我有什么爱好", "hobby"),
    ("我是学什么专业的", "study"),
    ("我每天吃的什么药", "health"),
    ("我会几门外语", "language"),
    ("我最怕什么", "fear"),
    ("我下周有什么安排", "plan"),
    ("我让你怎么回答来着", "wish"),
    ("我对你提过哪些要求？", "wish"),
    ("我不许你用什么", "wish"),
    ("我让你帮我记住的是什么", "remembered"),
];

/// Questions about a relative or an animal, with the first topic and a name of it in facts.
const OF_RELATIVES: &[(&str, &str, &str)] = &[
    ("what does my sister do?", "job", "sister"),
    ("Where does my older brother work now?", "job", "brother"),
    ("where does my mom live?", "home", "mother"),
    ("what's my dog's name?", "name", "dog"),
    ("Remind me, who is my roommate?", "name", "roommate"),
    ("when's my husband's birthday?", "birthday", "husband"),
    ("what's my daughter studying? Is my daughter's major maths?", "study", "daughter"),
    ("what is our cat called", "name", "cat"),
    ("what does my wife do for fun?", "hobby", "wife"),
    ("is my son allergic to anything?", "allergy", "son"),
    ("我妹妹是做什么的？", "job", "妹妹"),
    ("我哥在哪上班", "job", "哥哥"),
    ("我爸妈不说，我爸爸住在哪儿", "home", "爸爸"),
    ("我家狗叫啥", "name", "狗"),
    ("我室友叫什么来着", "name", "室友"),
    ("我老婆生日几号", "birthday", "老婆"),
    ("我女儿在哪所大学读书", "study", "女儿"),
    ("妈妈对什么过敏", "allergy", "妈妈"),
    ("我的猫几岁了", "birthday", "猫"),
    ("我老公有什么爱好", "hobby", "老公"),
];

/// Questions that ask for no fact about the speaker.
const OTHERS: &[&str] = &[
    "what does a plumber do?",
    "Where does the president live?",
    "what's the name of this song?",
    "how do I reset the router?",
    "Can you help me translate this letter?",
    "What do you do for a living?",
    "how old is the universe?",
    "what did his sister do?",
    "why is the sky blue",
    "Where should I put the comma?",
    "do you have a birthday?",
    "How should I answer this email?",
    "what should I remember about the French Revolution?",
    "我该怎么回答这个问题",
    "你记住了什么？",
    "What is the capital of Chile?",
    "how do I sort a list?",
    "is it going to rain tomorrow?",
    "who wrote Moby-Dick?",
    "Could you make my text shorter?",
    "what should I wear?",
    "how long does it take to fly to Oslo?",
    "what does the word 'sister' mean?",
    "Why does my code crash?",
    "你是做什么的",
    "她妹妹住在哪儿",
    "这首歌叫什么名字",
    "你的生日是哪天",
    "李白是哪里人",
    "怎么重启路由器",
    "帮我翻译一下这封信",
    "为什么天是蓝的",
    "我该怎么排序一个列表",
    "明天会下雨吗",
    "宇宙多少岁了",
    "我的代码为什么报错",
    "你会几门外语",
    "智利的首都是哪里",
    "医生一般住在哪里",
    "小明是学什么专业的",
    "从北京到上海要多久",
    "狗一般能活几岁",
    "这个词是什么意思",
    "我写的这段话能缩短吗",
];

#[test]
fn questions_about_the_speaker_have_a_topic() {
    let first = |text: &str| FactTopic::of_question(text).into_iter().next().map(|topic| (topic.name, topic.relatives));
    let wrong: Vec<_> = OWN.iter().filter(|(text, name)| first(text) != Some((*name, Vec::new()))).collect();
    let shown: Vec<_> = wrong.iter().map(|(text, name)| (text, name, first(text))).collect();
    assert!(wrong.is_empty(), "{shown:#?}");
}

#[test]
fn questions_about_relatives_name_the_relative() {
    let first = |text: &str| FactTopic::of_question(text).into_iter().next();
    let is_right = |text: &str, name: &str, relative: &str| {
        first(text).is_some_and(|topic| topic.name == name && topic.relatives.iter().any(|known| known == relative))
    };
    let wrong = OF_RELATIVES.iter().filter(|(text, name, relative)| !is_right(text, name, relative));
    let shown: Vec<_> = wrong.map(|case| (case, first(case.0))).collect();
    assert!(shown.is_empty(), "{shown:#?}");
}

#[test]
fn other_questions_have_no_topic() {
    let topics = OTHERS.iter().map(|text| (text, FactTopic::of_question(text)));
    let wrong: Vec<_> = topics.filter(|(_, topics)| !topics.is_empty()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn requests_have_the_topics_of_use() {
    for text in ["Recommend a restaurant near the office", "推荐几家好吃的餐厅", "晚饭推荐什么？"] {
        assert_eq!(FactTopic::of_request(text).first().map(|topic| topic.name), Some("food"), "{text}");
    }
    for text in ["my job is stressful", "我的工作好累", "I ate dinner"] {
        assert_eq!(FactTopic::of_request(text), [], "{text}");
    }
}

#[test]
fn slots_of_topics_exist() {
    for slot in DATA.topics.iter().flat_map(|topic| &topic.slots) {
        assert!(crate::fact::slot::Slots::built_in(slot).is_some(), "{slot}");
    }
    Expressions::new().unwrap().index.check().unwrap();
}
