//! Suggestions of synonyms from texts in which people use their words as they do.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use memory_engine_core::{Embedding, RecordId};
use memory_engine_keyword_store::TextAnalyzer;
use memory_engine_synonyms::{
    PairEvidence, PairReason, PairVerdict, SourceText, Suggester, Suggestion, SynonymGroup, Thesaurus, WordPair,
};

/// A user of half a year, whose wife, boss and friend have several names. No sentence has two of them.
const CHINESE: &[(&str, &str)] = &[
    ("s1", "老婆今天加班，晚饭我自己煮的面"),
    ("s1", "领导又改需求了，第三版方案白写"),
    ("s2", "媳妇说周末想去爬山，让我查查路线"),
    ("s2", "给孩子报了个游泳班，离家两站地铁"),
    ("s3", "老板让我下周去趟苏州"),
    ("s3", "跟媳妇商量了一下，年底前不换车"),
    ("s4", "孩子今天第一次自己系鞋带"),
    ("s4", "老婆的生日快到了，买点什么好"),
    ("s5", "领导说这个季度的奖金要推迟"),
    ("s5", "周末陪老婆看了场电影，挺闷的"),
    ("s6", "老板挺满意这次的报告"),
    ("s6", "媳妇嫌我打呼噜，让我去看医生"),
    ("s7", "老板请全组吃了火锅"),
    ("s7", "下周去苏州，孩子非要跟着"),
    ("s8", "领导问我愿不愿意带新人"),
    ("s8", "路上堵了一个小时，面都凉了"),
];

/// Two friends in a chat. One is called by two names, and both write of films and of a flat.
const ENGLISH: &[(&str, &str, &str)] = &[
    ("d1", "Caroline", "Hey Mel, did the pottery class go well in the end?"),
    ("d1", "Melanie", "It did, I watched a film about glazing before it."),
    ("d2", "Caroline", "Thanks, Melanie, the pottery looks so good on the shelf."),
    ("d2", "Melanie", "Put it next to the couch, then the kids see it."),
    ("d3", "Caroline", "Good night Mel, the pottery class is at nine, isn't it?"),
    ("d3", "Melanie", "Yes. The children want to come along this time."),
    ("d4", "Caroline", "How was the movie, Melanie, the class talked about it."),
    ("d4", "Melanie", "A slow film, but the kids liked it."),
    ("d5", "Caroline", "Hi Mel, can I bring my kids to the pottery class?"),
    ("d5", "Melanie", "Of course, children are free. We watch a movie after."),
    ("d6", "Caroline", "Hi Melanie, the pottery class was lovely, thank you."),
    ("d6", "Melanie", "The kids asked for that film again. Or any movie."),
    ("d7", "Caroline", "See you on Monday, Mel. The children say hello."),
];

fn id(n: usize) -> RecordId {
    RecordId::from_bytes([u8::try_from(n).unwrap() + 1; 16])
}

fn chinese() -> Vec<SourceText<'static>> {
    let text = |(n, (session, text)): (usize, &(&'static str, &'static str))| {
        SourceText::new(id(n), text).with_session(session)
    };
    CHINESE.iter().enumerate().map(text).collect()
}

fn english() -> Vec<SourceText<'static>> {
    let text = |(n, (session, speaker, text)): (usize, &(&'static str, &'static str, &'static str))| {
        SourceText::new(id(n), text).with_session(session).with_speaker(speaker)
    };
    ENGLISH.iter().enumerate().map(text).collect()
}

fn texts(lines: &[&'static str]) -> Vec<SourceText<'static>> {
    lines.iter().enumerate().map(|(n, text)| SourceText::new(id(n), text)).collect()
}

fn suggest(texts: &[SourceText<'_>]) -> Vec<Suggestion> {
    Suggester::default().suggest(texts, &[], &Thesaurus::default(), &[])
}

fn pairs(suggestions: &[Suggestion]) -> Vec<(&str, &str)> {
    suggestions.iter().map(|found| (found.pair.first(), found.pair.second())).collect()
}

#[test]
fn k18_suggests_words_that_share_no_sentence() {
    let found = suggest(&chinese());
    assert_eq!(pairs(&found), [("媳妇", "老婆"), ("老板", "领导")].map(|(a, b)| (a.min(b), a.max(b))), "{found:?}");
    for suggestion in &found {
        let PairEvidence { reason, records, together, examples, .. } = &suggestion.evidence;
        assert_eq!((*reason, *records, *together, examples.len()), (PairReason::Lexicon, [3, 3], 0, 2));
    }
}

#[test]
fn k18_suggests_short_names_and_everyday_words() {
    let found = suggest(&english());
    assert_eq!(pairs(&found), [("mel", "melanie"), ("children", "kids"), ("film", "movie")], "{found:?}");
    assert_eq!(found[0].evidence.reason, PairReason::ShortName);
}

#[test]
fn k18_collocations_are_not_suggested() {
    let lines = [
        "今天加班到十点，写PPT",
        "又加班到十点，PPT还没好",
        "加班写PPT，十点才走",
        "boss wants the ppt",
        "a ppt for the boss",
    ];
    assert_eq!(suggest(&texts(&lines)), []);
}

#[test]
fn k18_known_and_decided_pairs_are_left_out() {
    let known = Thesaurus::new(&TextAnalyzer, [SynonymGroup::new("老婆", ["媳妇"])]);
    let pair = WordPair::new("领导", "老板").unwrap();
    let verdicts = [PairVerdict { pair, accepted: false }];
    assert_eq!(Suggester::default().suggest(&chinese(), &[], &known, &verdicts), []);
}

#[test]
fn decision_holds_for_other_forms() {
    let pair = WordPair::new("child", "kid").unwrap();
    let verdicts = [PairVerdict { pair, accepted: false }];
    let known = Thesaurus::new(&TextAnalyzer, [SynonymGroup::new("film", ["movie"])]);
    let found = Suggester::default().suggest(&english(), &[], &known, &verdicts);
    assert_eq!(pairs(&found), [("mel", "melanie")]);
}

#[test]
fn words_that_stand_together_are_no_alternatives() {
    let mut texts = chinese();
    let both = ["老婆说媳妇这个词太土", "老婆不让我叫她媳妇"];
    texts.extend(
        both.iter().enumerate().map(|(n, text)| SourceText::new(id(CHINESE.len() + n), text).with_session("s9")),
    );
    assert_eq!(pairs(&suggest(&texts)).len(), 1);
}

#[test]
fn few_texts_or_one_session_suggest_nothing() {
    assert_eq!(suggest(&chinese()[..4]), []);
    assert_eq!(suggest(&[]), []);
    let one_session: Vec<_> = chinese().into_iter().map(|text| text.with_session("s1")).collect();
    assert_eq!(suggest(&one_session), []);
}

#[test]
fn stated_alias_is_suggested() {
    let lines = ["Sus is short for suspicious, grandpa", "That van looks sus to me", "He was suspicious of the parcel"];
    let found = suggest(&texts(&lines));
    assert_eq!(pairs(&found), [("sus", "suspicious")]);
    assert_eq!(found[0].evidence.reason, PairReason::Stated);
    let chinese = ["团团又叫肥仔，因为太能吃", "团团把沙发抓破了", "肥仔今天体检，十二斤"];
    assert_eq!(pairs(&suggest(&texts(&chinese))).len(), 1);
    let described = ["那个挺活跃的男生，外号叫石头", "石头今天来了", "男生都去打球了"];
    assert_eq!(suggest(&texts(&described)), [], "a description is no name");
    let phrase =
        ["Soft determinism, also known as compatibilism, is odd", "determinism is odd", "I like compatibilism"];
    assert_eq!(suggest(&texts(&phrase)), [], "the end of a longer phrase is no name");
}

#[test]
fn two_names_of_one_relation_are_suggested() {
    let lines = [
        "My cat Luna knocked the vase over again",
        "Our cat is called Moonpie by the neighbours, she sleeps on the vase shelf",
        "Took Luna to the vet, she hates the carrier",
        "The vet says Moonpie needs a diet",
        "My cat Luna hates the diet food",
        "Moonpie hates the carrier and the vet",
        "I gave Luna the diet food in the carrier",
        "The carrier is where Moonpie sleeps",
    ];
    let found = suggest(&texts(&lines));
    assert_eq!(pairs(&found), [("luna", "moonpie")], "{found:?}");
    assert_eq!(found[0].evidence.reason, PairReason::SharedRelation);
    let chinese = [
        "我家猫叫团团，三岁了",
        "团团今天打翻了猫粮，还抓破了沙发",
        "肥仔不肯吃猫粮，在沙发底下趴着",
        "我家的猫名叫肥仔，因为太能吃",
        "带团团去打疫苗，医生说太胖",
        "肥仔打疫苗的时候一直叫，医生说太胖",
        "昨天有人问我家猫叫什么，我说我家猫叫团团",
    ];
    assert_eq!(pairs(&suggest(&texts(&chinese))), [("团团", "肥仔")].map(|(a, b)| (a.min(b), a.max(b))));
    let mut several = lines.to_vec();
    several.push("The cats fight all day");
    assert_eq!(suggest(&texts(&several)), [], "the user has several cats");
}

#[test]
fn short_name_of_two_people_is_ambiguous() {
    let mut texts = english();
    let other =
        ["Hey Melissa, are you new in the class?", "Thanks Melissa!", "Bye Melissa, see you at the pottery class"];
    let other = other.iter().enumerate().map(|(n, text)| (ENGLISH.len() + n, text));
    texts.extend(other.map(|(n, text)| SourceText::new(id(n), text).with_session(["e1", "e2", "e3"][n % 3])));
    assert!(!pairs(&suggest(&texts)).iter().any(|pair| pair.0 == "mel"));
}

#[test]
fn near_vectors_are_a_reason() {
    let lines = [
        "I met Ann at the harbour lately",
        "lately the harbour is full of boats",
        "lately Ann sails the boats",
        "I saw boats at the harbour recently",
        "recently Ann sold the boats",
        "Ann was ill recently, no harbour",
    ];
    let texts = texts(&lines);
    let vector = |x: f32, y: f32| Embedding::new(vec![x, y]).unwrap();
    let vectors = [
        ("lately".into(), vector(1.0, 0.1)),
        ("recently".into(), vector(1.0, 0.12)),
        ("boats".into(), vector(0.0, 1.0)),
    ];
    let found = Suggester::default().suggest(&texts, &vectors, &Thesaurus::default(), &[]);
    assert_eq!(pairs(&found), [("lately", "recently")]);
    assert!(found[0].evidence.nearness.unwrap() > 0.99 && found[0].evidence.reason == PairReason::Meaning);
    let words = Suggester::default().words(&texts);
    assert!(words.contains(&"harbour".to_owned()), "{words:?}");
}

#[test]
fn reading_is_bounded() {
    let mut suggester = Suggester::default();
    suggester.max_tokens = 20;
    assert_eq!(suggester.suggest(&chinese(), &[], &Thesaurus::default(), &[]), [], "later texts are not read");
    let long = "很长的一句话，".repeat(100_000);
    let mut texts = chinese();
    texts.push(SourceText::new(id(99), &long));
    assert_eq!(pairs(&suggest(&texts)).len(), 2);
}
