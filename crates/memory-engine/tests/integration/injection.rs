//! Automatic injection: enhanced queries, and the rules of injection.

use std::{sync::Arc, time::Duration};

use memory_engine::{
    ErrorKind, Forget, Injector, Kind, MemoryEngine, RecallOptions, Timestamp, Turn,
    context::{GatewayBlock, IncomingMessage, InjectionRules, MemoryOutcome, MemorySource, Rule, append_to_system},
    llm::{ScriptedModel, ScriptedReply},
    recall::{Enhancement, QueryForm, Rewrite},
    testing::ManualClock,
};

use crate::given::{Backend, lin};

const NOW: i64 = 1_771_400_000_000_000; // 2026-02-18, a Wednesday
const HOUR: i64 = 3_600_000_000;

fn ago(hours: i64) -> Timestamp {
    Timestamp::from_micros(NOW - hours * HOUR)
}

async fn empty(backend: &Backend) -> MemoryEngine {
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(NOW)));
    backend.builder().clock(clock).background(false).build().await.unwrap()
}

#[tokio::test]
async fn m3_a_clear_question_is_answered_as_it_is() {
    for backend in Backend::all() {
        let memory = empty(&backend).await;
        memory.remember(&lin(), "我对海鲜过敏").await.unwrap();
        let found =
            memory.recall_enhanced(&lin(), "海鲜过敏吗？", &Enhancement::new([("user", "你好")])).await.unwrap();
        assert_eq!((found.form, found.recall.hits.len()), (QueryForm::Question, 1));
    }
}

#[tokio::test]
async fn m3_m4_a_weak_question_is_searched_for_with_its_dialogue() {
    for backend in Backend::all() {
        let memory = empty(&backend).await;
        memory.remember(&lin(), "昨晚失眠了，凌晨三点才睡着").await.unwrap();
        let question = "你今天有什么不一样？";
        let dialogue = Enhancement::new([("user", "我昨晚失眠了")]);
        let found = memory.recall_enhanced(&lin(), question, &dialogue).await.unwrap();
        assert_eq!(found.form, QueryForm::Context, "{found:?}");
        assert!(found.asked.contains("我昨晚失眠了") && found.asked.contains("User question: 你今天"));
        assert_eq!(found.recall.relevant().count(), 1);
        let at_once = memory.recall_enhanced(&lin(), "你还记得吗？", &dialogue.weak_at_once()).await.unwrap();
        assert_eq!(at_once.form, QueryForm::Context);
        let nothing =
            memory.recall_enhanced(&lin(), "你还记得吗？", &Enhancement::new([("user", "嗯")])).await.unwrap();
        assert_eq!((nothing.form, nothing.recall.relevant().count()), (QueryForm::Question, 0));
    }
}

#[tokio::test]
async fn a_dialogue_of_greetings_is_no_context() {
    for backend in Backend::all() {
        let memory = empty(&backend).await;
        memory.remember(&lin(), "the bees of the hotel gave us honey").await.unwrap();
        let question = "do you remember what it was?";
        let about_bees = Enhancement::new([("user", "the hotel had bees"), ("assistant", "Good!")]).weak_at_once();
        let found = memory.recall_enhanced(&lin(), question, &about_bees).await.unwrap();
        assert_eq!((found.form, found.recall.relevant().count()), (QueryForm::Context, 1));
        let greetings = [("user", "hi there"), ("assistant", "Hello! How can I help you today?")];
        let greetings = Enhancement::new(greetings).weak_at_once();
        let found = memory.recall_enhanced(&lin(), question, &greetings).await.unwrap();
        assert_eq!((found.form, found.recall.relevant().count()), (QueryForm::Question, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn m3_a_model_rewrites_queries_without_hits_and_invalid_rewrites_are_discarded() {
    let memory = empty(&Backend::all()[0]).await;
    memory.remember(&lin(), "昨晚失眠了，凌晨三点才睡着").await.unwrap();
    let ask = async |model: ScriptedModel| {
        let rewrite = Rewrite::by(Arc::new(model)).with_names("小雨", "Krueger");
        let enhancement = Enhancement::new([("user", "早"), ("assistant", "早安")]).with_rewrite(rewrite);
        memory.recall_enhanced(&lin(), "你今天有什么不一样？", &enhancement).await.unwrap()
    };
    let found = ask(ScriptedModel::replying(["昨晚失眠 凌晨"])).await;
    assert_eq!((found.form, found.asked.as_str()), (QueryForm::Rewritten, "昨晚失眠 凌晨"));
    for (answer, reason) in [
        (ScriptedReply::from("Here is the query:\n昨晚失眠"), "one plain line"),
        (ScriptedReply::Hang, "no answer after"),
        (ScriptedReply::Fail(memory_engine::ErrorKind::Unavailable), "rewrite"),
    ] {
        let started = tokio::time::Instant::now();
        let found = ask(ScriptedModel::replying([answer])).await;
        assert_eq!(found.form, QueryForm::Question);
        assert!(started.elapsed() <= Duration::from_secs(3));
        assert_eq!(found.recall.degraded[0].stage, "rewrite");
        assert!(reason == "rewrite" || found.recall.degraded[0].reason.contains(reason), "{:?}", found.recall.degraded);
    }
}

#[tokio::test]
async fn the_rewrite_of_the_engine_is_used_for_recalls_without_one() {
    let rewrite = Rewrite::by(Arc::new(ScriptedModel::replying(["昨晚失眠 凌晨"])));
    let memory = MemoryEngine::builder().in_memory().rewrite(rewrite).build().await.unwrap();
    memory.remember(&lin(), "昨晚失眠了，凌晨三点才睡着").await.unwrap();
    let dialogue = Enhancement::new([("user", "早"), ("assistant", "早安")]);
    let found = memory.recall_enhanced(&lin(), "你今天有什么不一样？", &dialogue).await.unwrap();
    assert_eq!((found.form, found.asked.as_str()), (QueryForm::Rewritten, "昨晚失眠 凌晨"));
}

#[tokio::test]
async fn recall_options_out_of_range_are_refused() {
    for (options, name) in [
        (RecallOptions::default().with_rerank_weight(3.0), "rerank_weight"),
        (RecallOptions::default().with_date_weight(f64::NAN), "date_weight"),
        (RecallOptions::default().with_max_candidates(0), "max_candidates"),
    ] {
        let error = MemoryEngine::builder().in_memory().recall_options(options).build().await.unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidInput && error.message().contains(name), "{error}");
    }
}

#[tokio::test]
async fn texts_of_the_dialogue_are_no_answers() {
    for backend in Backend::all() {
        let memory = empty(&backend).await;
        memory.remember(&lin(), "我昨晚失眠了").await.unwrap();
        let dialogue = Enhancement::new([("user", "我昨晚失眠了")]).weak_at_once();
        let found = memory.recall_enhanced(&lin(), "你还记得吗？", &dialogue).await.unwrap();
        assert!(found.recall.hits.is_empty(), "{found:?}");
    }
}

async fn story(backend: &Backend) -> Injector {
    let memory = empty(backend).await;
    for (text, scene, hours) in [
        ("我们约好周五去爬山", "daily", 100),
        ("龙骑士在城堡的地窖里找到了金钥匙", "plot", 90),
        ("想你了，今天好难过", "daily", 30),
        ("很久以前也很想你", "daily", 24 * 10),
        ("晚饭吃了番茄炒蛋", "daily", 5),
        ("测试一下接口", "meta", 4),
    ] {
        memory.remember(&lin(), Turn::user(text).with_scene(scene).at(ago(hours))).await.unwrap();
    }
    let summary = Turn::note("这周聊了爬山和晚饭").with_kind(Kind::SUMMARY).with_scene("daily").at(ago(3));
    memory.remember(&lin(), summary).await.unwrap();
    Injector::new(memory)
}

fn message<'a>(round: u64, scene: &'a str, text: &'a str) -> IncomingMessage<'a> {
    IncomingMessage { round, scene, text }
}

#[tokio::test]
async fn k8_relevant_memories_are_injected_for_any_message_unless_the_rule_is_off() {
    for backend in Backend::all() {
        let memory = backend.builder().background(false).build().await.unwrap();
        for text in ["我妹妹在成都当护士", "My brother repairs old violins in Porto."] {
            memory.remember(&lin(), Turn::user(text).with_scene("daily")).await.unwrap();
        }
        memory.remember(&lin(), Turn::user("Who repairs old violins in Porto?").with_scene("daily")).await.unwrap();
        let injector = Injector::new(memory.clone());
        for (text, expected) in [
            ("成都的护士忙不忙？", "我妹妹在成都当护士"),
            ("I need somebody for my old violins", "My brother repairs old violins in Porto."),
        ] {
            let injection = injector.inject(&lin(), &message(4, "daily", text)).await;
            assert_eq!(injection.decision.rule, Rule::Relevant, "{text}");
            assert_eq!(injection.records[0].text, expected, "statements come before questions");
            let first = injector.inject(&lin(), &message(1, "daily", text)).await;
            assert_eq!(first.decision.rule, Rule::Relevant);
            assert_eq!(first.records.iter().filter(|record| record.text == expected).count(), 1, "once: {first:?}");
            let document = injector.clone().with_rules(InjectionRules::of_document());
            let injection = document.inject(&lin(), &message(4, "daily", text)).await;
            assert_eq!((injection.decision.rule, injection.text.as_str()), (Rule::Nothing, ""));
        }
        let unrelated = injector.inject(&lin(), &message(5, "daily", "When does the museum in Tromsø open?")).await;
        assert_eq!((unrelated.decision.rule, unrelated.text.as_str()), (Rule::Nothing, ""));
    }
}

#[tokio::test]
async fn a_question_beside_a_pasted_text_finds_its_memory() {
    let log: String =
        (0..200).map(|n| format!("12:00:{:02} WARN worker {n} reset, job {} retried\n", n % 60, n * 7)).collect();
    for backend in Backend::all() {
        let memory = backend.builder().background(false).build().await.unwrap();
        for text in ["My dentist is Dr. Huber in Graz.", "我的护照放在书房的蓝盒子里", "The worker retried its job."]
        {
            memory.remember(&lin(), Turn::user(text)).await.unwrap();
        }
        let injector = Injector::new(memory.clone());
        for (text, expected) in [
            (format!("{log}\nBy the way, which city is my dentist in?"), "My dentist is Dr. Huber in Graz."),
            (format!("护照放在哪里了？\n```\n{log}```"), "我的护照放在书房的蓝盒子里"),
        ] {
            let injection = injector.inject(&lin(), &message(4, "daily", &text)).await;
            let texts: Vec<&str> = injection.records.iter().map(|record| record.text.as_str()).collect();
            assert_eq!(texts, [expected]);
        }
    }
}

#[tokio::test]
async fn k8_each_rule_injects_the_memories_of_the_document() {
    for backend in Backend::all() {
        let injector = story(&backend).await.with_rules(InjectionRules::of_document());
        let injector = injector.with_block(GatewayBlock::of_document());
        let inject = async |message: IncomingMessage<'_>| injector.inject(&lin(), &message).await;

        let first = inject(message(1, "daily", "早上好")).await;
        assert_eq!(first.decision.rule, Rule::ColdStart);
        assert!(first.text.contains("[最近的对话摘要]") && first.text.contains("这周聊了爬山和晚饭"), "{}", first.text);
        assert!(first.text.contains("番茄炒蛋") && !first.text.contains("测试一下接口"));
        assert!(first.text.chars().count() <= 500);

        let recalled = inject(message(5, "daily", "还记得我们约好去爬山吗")).await;
        assert_eq!(recalled.decision.rule, Rule::Recall);
        assert!(recalled.text.contains("[日常]") && recalled.text.contains("周五去爬山"), "{}", recalled.text);

        let plot = inject(message(6, "plot", "继续，上次剧情里的金钥匙呢")).await;
        assert_eq!(plot.decision.rule, Rule::PlotRecall);
        assert!(plot.text.contains("[剧本]") && plot.text.contains("金钥匙"), "{}", plot.text);
        assert!(plot.records.iter().all(|record| record.scene.as_deref() == Some("plot")));

        let feeling = inject(message(7, "daily", "好想你")).await;
        assert_eq!(feeling.decision.rule, Rule::Emotion);
        let texts: Vec<&str> = feeling.records.iter().map(|record| record.text.as_str()).collect();
        assert_eq!(texts, ["想你了，今天好难过"], "the other one is ten days old");

        for without_memories in [
            message(8, "daily", "今天吃什么"),
            message(8, "meta", "还记得之前的测试吗"),
            message(8, "daily", "还记得量子纠缠吗"),
        ] {
            let injection = inject(without_memories).await;
            assert_eq!((injection.text.as_str(), injection.records.len()), ("", 0), "{without_memories:?}");
            let mut messages = vec![("system".to_owned(), "You are Krueger.".to_owned())];
            append_to_system(&mut messages, &injection.text);
            assert_eq!(messages[0].1, "You are Krueger.");
        }
    }
}

#[tokio::test]
async fn the_core_is_in_every_message_and_nothing_stands_twice() {
    for backend in Backend::all() {
        let rules = memory_engine::EnrichmentOptions::rules().unwrap();
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(NOW)));
        let memory = backend.builder().clock(clock).enrichment(rules).background(false).build().await.unwrap();
        let told = ["I'm allergic to shellfish.", "My son is allergic to nuts.", "我住在苏州。", "I like jazz."];
        for (hours, text) in (10..).zip(told) {
            memory.remember(&lin(), Turn::user(text).with_scene("daily").at(ago(hours))).await.unwrap();
        }
        memory.drain(&lin(), |_| ()).await.unwrap();
        let injector = Injector::new(memory.clone());
        for (round, text) in [(1, "hi"), (2, "ok thanks!"), (5, "What is 17*23?"), (12, "讲个笑话")] {
            let text = injector.inject(&lin(), &message(round, "daily", text)).await.text;
            for (core, count) in [("shellfish", 1), ("nuts", 1), ("苏州", 1), ("jazz", 0)] {
                assert_eq!(text.matches(core).count(), count, "{core}: {text}");
            }
            assert!(text.contains("The user is allergic to shellfish.") && text.contains("son is allergic"), "{text}");
        }
        let asked = injector.inject(&lin(), &message(3, "daily", "What am I allergic to?")).await;
        assert_eq!(asked.text.matches("shellfish").count(), 1, "as a fact, not as a message: {}", asked.text);
        let known = injector.inject_into(&lin(), &message(3, "daily", "hello"), &[told[0], "hello"]).await;
        assert!(!known.text.contains("shellfish") && known.text.contains("nuts"), "{}", known.text);
        let document = injector.clone().with_rules(InjectionRules::of_document());
        assert_eq!(document.inject(&lin(), &message(4, "daily", "hello")).await.text, "");
        assert_eq!(injector.inject(&lin(), &message(4, "meta", "hello")).await.text, "");
    }
}

#[tokio::test]
async fn a_message_with_a_replaced_value_says_so_and_brings_the_new_one() {
    for backend in Backend::all() {
        let rules = memory_engine::EnrichmentOptions::rules().unwrap();
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(NOW)));
        let memory = backend.builder().clock(clock).enrichment(rules).background(false).build().await.unwrap();
        for (hours, text) in [(900, "我住在苏州，离平江路很近"), (40, "我上个月搬到南通了"), (30, "苏州的平江路真好逛")]
        {
            memory.remember(&lin(), Turn::user(text).with_scene("daily").at(ago(hours))).await.unwrap();
        }
        memory.drain(&lin(), |_| ()).await.unwrap();
        let injector = Injector::new(memory);
        let text = injector.inject(&lin(), &message(3, "daily", "还记得苏州平江路吗")).await.text;
        let line = |part: &str| text.lines().position(|line| line.contains(part)).unwrap_or_else(|| panic!("{text}"));
        assert!(text.lines().nth(line("离平江路很近")).unwrap().contains("（已过时）"), "{text}");
        assert!(line("南通") < line("离平江路很近"), "what holds comes first: {text}");
        assert_eq!(text.matches("（已过时）").count(), 1, "{text}");
    }
}

/// Two earlier conversations and the current one, in both languages.
async fn three_sessions(backend: &Backend, sessions: [&[&str]; 3]) -> (MemoryEngine, Injector) {
    let memory = empty(backend).await;
    for (number, texts) in sessions.iter().enumerate() {
        let session = lin().with_session(format!("s{number}")).unwrap();
        let hours = 60 - 24 * i64::try_from(number).unwrap();
        for text in *texts {
            memory.remember(&session, Turn::user(*text).at(ago(hours))).await.unwrap();
        }
    }
    (memory.clone(), Injector::new(memory))
}

#[tokio::test]
async fn k8_a_question_about_the_last_conversation_is_answered_from_it_without_a_shared_word() {
    let chinese: [&[&str]; 3] = [
        &["周末去爬了莫干山，腿酸死了"],
        &["在吗", "表妹下个月在苏州办婚礼，我得想想送什么", "她喜欢手冲咖啡"],
        &["早上好呀", "今天有点困"],
    ];
    let english: [&[&str]; 3] = [
        &["Went hiking up the ridge, my legs are dead"],
        &["hey", "My cousin gets married in Porto next month and I need a gift", "she is into pour-over coffee"],
        &["good morning!", "bit sleepy today"],
    ];
    for backend in Backend::all() {
        for (sessions, questions) in [
            (chinese, ["你还记得上次我们聊什么吗", "之前聊到哪了？"]),
            (english, ["Do you remember what we talked about last time?", "where did we leave off?"]),
        ] {
            let (memory, injector) = three_sessions(&backend, sessions).await;
            for question in questions {
                let injection = injector.inject_into(&lin(), &message(3, "daily", question), sessions[2]).await;
                assert_eq!(injection.decision.rule, Rule::Recall, "{question}");
                assert!(injection.text.contains(sessions[1][1]), "{question}: {}", injection.text);
                assert!(!injection.text.contains(sessions[0][0]), "{question}: {}", injection.text);
            }
            memory.forget(&lin(), Forget::Everything).await.unwrap();
        }
    }
}

#[tokio::test]
async fn k8_a_question_about_the_last_conversation_with_a_topic_is_searched_for() {
    let sessions: [&[&str]; 3] = [&["周末去爬了莫干山，腿酸死了"], &["表妹下个月在苏州办婚礼"], &["早上好呀"]];
    for backend in Backend::all() {
        let (_, injector) = three_sessions(&backend, sessions).await;
        let question = message(3, "daily", "上次我们聊的莫干山，上去要多久？");
        let injection = injector.inject_into(&lin(), &question, sessions[2]).await;
        assert!(injection.text.contains("莫干山"), "{}", injection.text);
        assert!(!injection.text.contains("婚礼"), "{}", injection.text);
    }
}

/// Returns the texts of the injected records.
async fn injected(injector: &Injector, text: &str, conversation: &[&str]) -> Vec<String> {
    let injection = injector.inject_into(&lin(), &message(4, "daily", text), conversation).await;
    injection.records.into_iter().map(|record| record.text).collect()
}

#[tokio::test]
async fn k8_a_feeling_gets_the_relevant_memories_too() {
    for backend in Backend::all() {
        let memory = empty(&backend).await;
        for text in ["I am allergic to lobster.", "我对芒果过敏"] {
            memory.remember(&lin(), Turn::user(text).with_scene("daily").at(ago(500))).await.unwrap();
        }
        let injector = Injector::new(memory);
        let texts = injected(&injector, "I'm thrilled, I will eat lobster tonight!", &[]).await;
        assert_eq!(texts, ["I am allergic to lobster."]);
        let texts = injected(&injector, "好开心，我能吃到芒果了", &[]).await;
        assert_eq!(texts, ["我对芒果过敏"]);
    }
}

#[tokio::test]
async fn k8_a_question_about_ones_own_life_is_answered() {
    for backend in Backend::all() {
        let memory = empty(&backend).await;
        memory.remember(&lin(), "My sister works as a vet.").await.unwrap();
        let texts = injected(&Injector::new(memory), "What's my sister's job?", &[]).await;
        assert_eq!(texts, ["My sister works as a vet."]);
    }
}

#[tokio::test]
async fn k8_questions_and_turns_without_content_are_not_injected() {
    for backend in Backend::all() {
        let memory = empty(&backend).await;
        memory.remember(&lin(), Turn::user("I parked the car behind the theatre").at(ago(90))).await.unwrap();
        for hours in 10..20 {
            let question = Turn::user("Do you remember where I parked the car?").at(ago(hours));
            memory.remember(&lin(), question).await.unwrap();
        }
        memory.remember(&lin(), Turn::user("Tell me where I parked the car").at(ago(6))).await.unwrap();
        memory.remember(&lin(), Turn::assistant("Nice!").at(ago(5))).await.unwrap();
        let injector = Injector::new(memory);
        let texts = injected(&injector, "Where did I park the car?", &[]).await;
        assert_eq!(texts, ["I parked the car behind the theatre"]);
        assert_eq!(injected(&injector, "Cool, thanks!", &[]).await, [""; 0]);
    }
}

#[tokio::test]
async fn k8_a_session_without_a_statement_is_skipped() {
    let sessions: [&[&str]; 3] = [&["我报了周日的陶艺课"], &["在吗", "你是谁？"], &["嗨"]];
    for backend in Backend::all() {
        let (_, injector) = three_sessions(&backend, sessions).await;
        for question in ["上回咱们说啥了", "上次的话题是什么", "Can you recap our previous chat?", "你了解我吗"]
        {
            assert_eq!(injected(&injector, question, sessions[2]).await, sessions[0], "{question}");
        }
    }
}

#[tokio::test]
async fn k8_what_the_user_asks_about_everything_stored_is_answered_with_facts() {
    for backend in Backend::all() {
        let memory = empty(&backend).await;
        let fact = Turn::note("The user plays the cello.").with_kind(Kind::FACT).with_scene("daily");
        memory.remember(&lin(), fact.at(ago(90))).await.unwrap();
        memory.remember(&lin(), Turn::user("It rains again.").at(ago(2))).await.unwrap();
        let texts = injected(&Injector::new(memory), "What do you know about me?", &[]).await;
        assert_eq!(texts, ["The user plays the cello."]);
    }
}

#[tokio::test]
async fn k8_memories_derived_from_the_conversation_are_not_injected() {
    for backend in Backend::all() {
        let memory = empty(&backend).await;
        let told = "I keep bees on the roof of the school";
        let id = memory.remember(&lin(), Turn::user(told).with_scene("daily").at(ago(3))).await.unwrap();
        let source = memory.get(&lin(), id).await.unwrap().unwrap();
        let mut fact = source.clone();
        fact.id = memory_engine::RecordId::new();
        fact.kind = Kind::FACT;
        fact.text = "The user keeps bees on the roof".into();
        fact.derived_from = vec![source.id];
        memory.store(&lin(), vec![fact], memory_engine::PutMode::Upsert).await.unwrap();
        let injector = Injector::new(memory);
        let question = "What should I feed the bees on the roof?";
        let texts = injected(&injector, question, &["hello"]).await;
        assert_eq!(texts, [told], "the message says more than the fact");
        assert_eq!(injected(&injector, question, &[told, question]).await, [""; 0]);
    }
}

/// A question in other words than those of a fact gets the fact.
#[tokio::test]
async fn a_question_gets_the_facts_of_its_topic() {
    for backend in Backend::all() {
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(NOW)));
        let rules = memory_engine::EnrichmentOptions::rules().unwrap();
        let memory = backend.builder().clock(clock).enrichment(rules).background(false).build().await.unwrap();
        for text in ["My sister is a nurse in Lyon.", "我对芒果过敏", "我妹妹住在昆明", "The weather is lovely."]
        {
            memory.remember(&lin(), Turn::user(text).with_scene("daily").at(ago(200))).await.unwrap();
        }
        memory.drain(&lin(), |_| ()).await.unwrap();
        let injector = Injector::new(memory.clone());
        for (question, expected) in [
            ("What does my sister do for a living?", "nurse"),
            ("晚饭推荐什么？", "芒果"),
            ("我妹在哪个城市生活？", "昆明"),
        ] {
            let message = IncomingMessage { round: 4, scene: "daily", text: question };
            let injection = injector.inject(&lin(), &message).await;
            assert!(injection.text.contains(expected), "{question}: {injection:?}");
            let conversation = [injection.records[0].text.as_str(), question];
            let again = injector.inject_into(&lin(), &message, &conversation).await;
            assert!(!again.records.iter().any(|record| record.text == conversation[0]), "{question}: {again:?}");
        }
        let message = IncomingMessage { round: 4, scene: "daily", text: "What does a plumber do for a living?" };
        let unrelated = injector.inject(&lin(), &message).await;
        assert!(!unrelated.text.contains("nurse"), "{unrelated:?}");
    }
}

/// A short reply that also stands in an earlier session does not make that session the present one.
#[tokio::test]
async fn replies_without_content_do_not_name_the_session() {
    for backend in Backend::all() {
        let memory = empty(&backend).await;
        let earlier = lin().with_session("earlier").unwrap();
        memory
            .remember(&earlier, Turn::user("I built a small oak table.").with_scene("daily").at(ago(50)))
            .await
            .unwrap();
        memory.remember(&earlier, Turn::assistant("OK.").with_scene("daily").at(ago(49))).await.unwrap();
        let injector = Injector::new(memory);
        let question = "What did we talk about last time?";
        let message = IncomingMessage { round: 2, scene: "daily", text: question };
        let injection = injector.inject_into(&lin(), &message, &["hi there", "OK.", question]).await;
        assert!(injection.text.contains("oak table"), "{injection:?}");
    }
}

#[tokio::test]
async fn a_trace_names_each_considered_memory_with_its_outcome() {
    for backend in Backend::all() {
        let memory = empty(&backend).await;
        let store = async |turn: Turn| memory.remember(&lin(), turn).await.unwrap();
        let answer = store(Turn::user("My dog is called Biscuit.").with_scene("daily")).await;
        let question = store(Turn::user("Do you know what my dog is called?").with_scene("daily")).await;
        let pinned = store(Turn::note("Speak plainly").pinned()).await;
        let message = IncomingMessage { round: 5, scene: "daily", text: "Do you remember what my dog is called?" };
        let injector = Injector::new(memory.clone());
        let plain = injector.inject(&lin(), &message).await;
        assert!(plain.trace.is_none());
        let traced = injector.clone().with_trace();
        let injection = traced.inject(&lin(), &message).await;
        assert_eq!(injection.text, plain.text);
        let trace = injection.trace.unwrap();
        let outcome = |trace: &memory_engine::context::InjectionTrace, id| {
            let found = trace.considered.iter().find(|memory| memory.record.id == id).unwrap();
            (found.source, found.outcome)
        };
        assert_eq!(outcome(&trace, answer), (MemorySource::Search, MemoryOutcome::Injected));
        assert_eq!(outcome(&trace, question), (MemorySource::Search, MemoryOutcome::NoContent));
        assert_eq!(outcome(&trace, pinned), (MemorySource::Pinned, MemoryOutcome::Injected));
        assert!(trace.considered.iter().all(|memory| memory.relevance.is_some() == (memory.record.id != pinned)));
        assert_eq!((trace.decision.rule, trace.max_memories), (Rule::Recall, 5));

        let known = traced.inject_into(&lin(), &message, &["My dog is called Biscuit."]).await.trace.unwrap();
        assert_eq!(outcome(&known, answer).1, MemoryOutcome::InConversation);
        let excluded = traced.inject_except(&lin(), &message, &[], &[answer].into()).await.trace.unwrap();
        assert_eq!(outcome(&excluded, answer).1, MemoryOutcome::Excluded);
        let narrow = injector.clone().with_block(GatewayBlock::default().with_max_chars(180)).with_trace();
        let cut = narrow.inject(&lin(), &message).await.trace.unwrap();
        assert_eq!(outcome(&cut, pinned).1, MemoryOutcome::Injected);
        assert_eq!(outcome(&cut, answer).1, MemoryOutcome::NoRoom);

        // A message that nothing is relevant to: the rule asked for a search, and nothing is injected.
        let unrelated =
            IncomingMessage { round: 5, scene: "daily", text: "Have you called the plumber about the tap?" };
        let nothing = traced.inject_except(&lin(), &unrelated, &[], &[pinned].into()).await;
        let trace = nothing.trace.unwrap();
        assert_eq!((nothing.decision.rule, trace.decision.rule), (Rule::Nothing, Rule::Relevant));
        assert!(trace.considered.iter().all(|memory| memory.outcome != MemoryOutcome::Injected), "{trace:?}");
    }
}
