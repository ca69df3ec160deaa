//! Key moments from the user's messages to the stored record, with a model that judges from its request only.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "../../memory-engine/tests/integration/given/mod.rs"]
mod given;

use std::sync::Arc;

use given::{Backend, lin};
use memory_engine::{
    Field, Filter, MemoryEngine, PutMode, Record, ScanQuery,
    llm::{ChatRequest, ScriptedModel},
};
use memory_engine_companion::{Companion, Language, Pack, TurnReply};

/// Headings of the section about a possible key moment.
const POSSIBLE: [&str; 2] = ["【可能触发的关键时刻】", "[A key moment may happen]"];

/// A moment that the judge recognises: the number in the prompt, and for each part of it the wordings of the user.
struct Judgement {
    number: u32,
    moment: &'static str,
    outcome: &'static str,
    parts: &'static [&'static [&'static str]],
}

const fn judgement(
    number: u32,
    moment: &'static str,
    outcome: &'static str,
    parts: &'static [&'static [&'static str]],
) -> Judgement {
    Judgement { number, moment, outcome, parts }
}

const CHINESE: &[Judgement] = &[
    judgement(1, "first_meet", "认识", &[&["你好", "初次见面", "认识一下"]]),
    judgement(4, "first_mistake", "原谅", &[&["分析错了", "你不是说", "算错"], &["没关系", "谁都会犯错", "这不怪你"]]),
    judgement(4, "first_mistake", "责备", &[&["分析错了"], &["再也不信"]]),
    judgement(6, "confession", "认真", &[&["我喜欢你", "爱上你了", "想一直和你在一起"]]),
];

const ENGLISH: &[Judgement] = &[
    judgement(1, "first_meet", "met", &[&["Hello", "Nice to meet you"]]),
    judgement(
        3,
        "first_mistake",
        "forgiven",
        &[&["forecast was wrong", "You told me", "misread"], &["That's all right", "could have happened", "no hard"]],
    ),
    judgement(3, "first_mistake", "blamed", &[&["forecast was wrong"], &["never ask you again"]]),
    judgement(4, "confession", "meant", &[&["I love you", "feelings for you", "falling in love"]]),
];

/// Returns true if the prompt names this moment as possible.
fn offers(request: &ChatRequest, number: u32) -> bool {
    let system = &request.messages[0].content;
    POSSIBLE.iter().any(|heading| {
        let section = system.split_once(heading).map(|(_, section)| section);
        section.is_some_and(|section| section.contains(&format!("#{number} ")))
    })
}

/// Returns the user's words in the request: those of the recent conversation and the message itself.
fn words_of_user(request: &ChatRequest) -> String {
    let lines = request.messages[0].content.lines();
    let earlier = lines.filter(|line| line.starts_with("用户：") || line.starts_with("User: "));
    let message = request.messages.last().unwrap().content.as_str();
    earlier.chain([message]).collect::<Vec<_>>().join("\n")
}

fn verdict(judgement: &Judgement, quote: &str) -> String {
    let Judgement { moment, outcome, .. } = judgement;
    let quote = if quote.is_empty() { String::new() } else { format!(",\"quote\":\"{quote}\"") };
    format!("（点头）\n<verdict>{{\"moment\":\"{moment}\",\"outcome\":\"{outcome}\"{quote}}}</verdict>")
}

/// A model that gives a verdict if the prompt asks for it and every part of the moment is in the dialogue it was given.
fn truthful(judgements: &'static [Judgement]) -> ScriptedModel {
    let mut model = ScriptedModel::default();
    for judgement in judgements {
        let holds = |request: &ChatRequest| {
            let said = words_of_user(request);
            offers(request, judgement.number)
                && judgement.parts.iter().all(|wordings| wordings.iter().any(|wording| said.contains(wording)))
        };
        model = model.when(holds, verdict(judgement, ""));
    }
    model.otherwise("（点头）")
}

/// A model that gives the verdict of every moment, without looking at the prompt or the dialogue.
fn credulous(judgement: &'static Judgement, quote: &str) -> ScriptedModel {
    ScriptedModel::default().otherwise(verdict(judgement, quote))
}

struct World {
    memory: MemoryEngine,
    model: ScriptedModel,
    companion: Companion,
}

/// Returns a companion whose user has this affection.
async fn world(backend: &Backend, language: Language, affection: i32, model: ScriptedModel) -> World {
    let memory = backend.builder().background(false).build().await.unwrap();
    let pack = Pack::example_in(language).unwrap();
    let quiet = Companion::new(memory.clone(), ScriptedModel::default().otherwise("嗯。"), pack.clone());
    if affection > 0 {
        quiet.turn(&lin(), language.pick("路上堵车", "Traffic was slow")).await.unwrap();
        let mut state = kind(&memory, "ledger/companion").await.remove(0);
        state.metadata.insert("affection".into(), affection.into());
        memory.store(&lin(), vec![state], PutMode::Upsert).await.unwrap();
    }
    let companion = Companion::new(memory.clone(), Arc::new(model.clone()), pack);
    World { memory, model, companion }
}

async fn kind(memory: &MemoryEngine, kind: &str) -> Vec<Record> {
    let filter = Filter::eq(Field::Kind, kind);
    memory.scan(&lin(), &ScanQuery::oldest(100).with_filter(filter)).await.unwrap().records
}

async fn turns(companion: &Companion, messages: &[&str]) -> Vec<TurnReply> {
    let mut replies = Vec::new();
    for message in messages {
        replies.push(companion.turn(&lin(), *message).await.unwrap());
    }
    replies
}

/// A dialogue, the user's affection before it, and the moment that its last message triggers: id, outcome, points.
type Dialogue = (Language, i32, &'static [&'static str], (&'static str, &'static str, i32));

/// Plays a dialogue. The moment happens once, at the last message, and is stored with all of them.
async fn play(backend: &Backend, (language, affection, messages, (moment, outcome, points)): &Dialogue) {
    let model = truthful(language.pick(CHINESE, ENGLISH));
    let World { memory, companion, .. } = world(backend, *language, *affection, model).await;
    let replies = turns(&companion, messages).await;
    let (last, earlier) = replies.split_last().unwrap();
    assert!(earlier.iter().all(|reply| reply.key_moment.is_none()), "{messages:?}");
    assert_eq!(last.key_moment.as_deref(), Some(*moment), "{messages:?}");
    assert_eq!(last.text, "（点头）", "the user does not see the verdict");
    assert_eq!(last.state.bond.affection, affection + messages.len() as i32 + points, "{messages:?}");
    let records = kind(&memory, "key_moment").await;
    assert_eq!(records.len(), 1, "{messages:?}");
    assert_eq!(records[0].metadata["outcome"], *outcome);
    for message in *messages {
        assert!(records[0].text.contains(message), "{}", records[0].text);
    }
    let log = kind(&memory, "ledger/affection").await;
    assert!(log.iter().any(|line| line.metadata["delta"] == *points), "{log:?}");
    let again = turns(&companion, messages).await;
    assert!(again.iter().all(|reply| reply.key_moment.is_none()), "a moment happens once: {messages:?}");
}

#[tokio::test]
async fn a9_examples_of_the_document_end_to_end() {
    let dialogues: &[Dialogue] = &[
        (Language::Chinese, 0, &["你好"], ("first_meet", "认识", 20)),
        (Language::Chinese, 3500, &["你的分析错了", "没关系，市场本来就不可预测"], ("first_mistake", "原谅", 120)),
        (Language::Chinese, 3500, &["你的分析错了", "我再也不信你了"], ("first_mistake", "责备", -30)),
        (Language::Chinese, 6000, &["我喜欢你"], ("confession", "认真", 300)),
        (Language::English, 0, &["Hello"], ("first_meet", "met", 20)),
        (
            Language::English,
            3500,
            &["Your forecast was wrong", "That's all right, nobody can read the wind"],
            ("first_mistake", "forgiven", 120),
        ),
        (
            Language::English,
            3500,
            &["Your forecast was wrong", "I will never ask you again"],
            ("first_mistake", "blamed", -30),
        ),
        (Language::English, 6000, &["I love you"], ("confession", "meant", 300)),
    ];
    for dialogue in dialogues {
        for backend in Backend::all() {
            play(&backend, dialogue).await;
        }
    }
}

#[tokio::test]
async fn a9_paraphrases_end_to_end() {
    let dialogues: &[Dialogue] = &[
        (Language::Chinese, 0, &["初次见面，请多关照"], ("first_meet", "认识", 20)),
        (Language::Chinese, 10, &["路过，想跟你认识一下"], ("first_meet", "认识", 20)),
        (
            Language::Chinese,
            2000,
            &["你不是说今天会涨吗，怎么一路往下", "唉", "算了，谁都会犯错"],
            ("first_mistake", "原谅", 120),
        ),
        (Language::Chinese, 4000, &["这笔手续费你算错啦，不过这不怪你"], ("first_mistake", "原谅", 120)),
        // Other moments are possible, too: the name, the sadness.
        (
            Language::Chinese,
            2000,
            &["Aicy，你的分析错了，我好难过", "唉", "算了，这不怪你"],
            ("first_mistake", "原谅", 120),
        ),
        (Language::Chinese, 7000, &["我好像爱上你了"], ("confession", "认真", 300)),
        (Language::Chinese, 9500, &["哪儿也不去，我想一直和你在一起"], ("confession", "认真", 300)),
        (Language::English, 0, &["Nice to meet you, I just moved in down the road"], ("first_meet", "met", 20)),
        (
            Language::English,
            2000,
            &["You told me it would stay dry", "I got soaked to the bone", "Ah well, it could have happened to anyone"],
            ("first_mistake", "forgiven", 120),
        ),
        (
            Language::English,
            5000,
            &["You misread the tide table, but no hard feelings"],
            ("first_mistake", "forgiven", 120),
        ),
        (Language::English, 4500, &["I think I have feelings for you, Ivy"], ("confession", "meant", 300)),
        (Language::English, 9000, &["It sounds silly, but I am falling in love"], ("confession", "meant", 300)),
    ];
    for dialogue in dialogues {
        play(&Backend::all()[0], dialogue).await;
    }
}

#[tokio::test]
async fn a9_stored_moment_reads_as_in_the_document() {
    let replies = ["...我以为我不会犯错的。", "这就是\"原谅\"吗？"];
    let forgiven = format!(
        "{}\n<verdict>{{\"moment\":\"first_mistake\",\"outcome\":\"原谅\",\"quote\":\"没关系\"}}</verdict>",
        replies[1]
    );
    let model = ScriptedModel::default().when_asked("你的分析错了", replies[0]).when_asked("没关系", forgiven);
    let World { memory, companion, .. } = world(&Backend::all()[0], Language::Chinese, 3500, model).await;
    turns(&companion, &["你的分析错了", "没关系，市场本来就不可预测"]).await;
    let text = kind(&memory, "key_moment").await.remove(0).text;
    let expected = "用户：你的分析错了\nAicy：...我以为我不会犯错的。\n\
                    用户：没关系，市场本来就不可预测\nAicy：这就是\"原谅\"吗？";
    assert_eq!(text, expected);
}

#[tokio::test]
async fn a9_filter_offers_no_moment_without_its_words() {
    let chinese = ["中午吃了碗面", "图书馆人好多", "帮我想个晚饭的菜", "那就番茄炒蛋", "米不够了", "明天去买"];
    let english = ["I had noodles for lunch", "The library was packed", "What goes with rice?", "Eggs, then"];
    for (language, messages) in [(Language::Chinese, chinese.as_slice()), (Language::English, english.as_slice())] {
        for judgement in language.pick(CHINESE, ENGLISH) {
            for affection in [500, 3500, 6000] {
                let model = credulous(judgement, "");
                let World { memory, model, companion } = world(&Backend::all()[0], language, affection, model).await;
                let replies = turns(&companion, messages).await;
                assert!(replies.iter().all(|reply| reply.key_moment.is_none()), "{}", judgement.moment);
                assert_eq!(kind(&memory, "key_moment").await, [], "{}", judgement.moment);
                let offered = model.requests().iter().any(|request| (1..9).any(|number| offers(request, number)));
                assert!(!offered, "no message of {messages:?} is near a moment at {affection}");
            }
        }
    }
}

#[tokio::test]
async fn a9_words_long_ago_offer_no_moment() {
    let World { model, companion, .. } = world(&Backend::all()[0], Language::Chinese, 3500, truthful(CHINESE)).await;
    turns(&companion, &["你的分析错了", "中午吃面", "图书馆人好多", "米不够了", "明天去买", "嗯"]).await;
    let offered: Vec<bool> = model.requests().iter().map(|request| offers(request, 4)).collect();
    assert_eq!(offered, [true, true, true, true, false, false], "three rounds after the word, and no longer");
}

#[tokio::test]
async fn a9_verdict_needs_words_that_the_user_wrote() {
    let forgiven = &CHINESE[1];
    for (quote, happens) in [("我原谅你了", false), ("没关系，下次努力", false), ("没关系", true)] {
        let World { companion, .. } = world(
            &Backend::all()[0],
            Language::Chinese,
            3500,
            ScriptedModel::default().when_asked("没关系", verdict(forgiven, quote)).otherwise("（低头）"),
        )
        .await;
        let replies = turns(&companion, &["你的分析错了", "没关系，市场本来就不可预测"]).await;
        assert_eq!(replies[1].key_moment.is_some(), happens, "{quote}");
    }
    // A verdict that was not taken may be given again later.
    let model = ScriptedModel::default()
        .when_asked("真的", verdict(forgiven, "没关系"))
        .otherwise(verdict(forgiven, "我原谅你了"));
    let World { companion, .. } = world(&Backend::all()[0], Language::Chinese, 3500, model).await;
    let replies = turns(&companion, &["你的分析错了", "没关系，市场本来就不可预测", "真的"]).await;
    let moments: Vec<bool> = replies.iter().map(|reply| reply.key_moment.is_some()).collect();
    assert_eq!(moments, [false, false, true]);
}
