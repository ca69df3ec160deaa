//! The time zone and the language of an engine: facts, queries, summaries, profiles, prompts and injections.

use std::sync::Arc;

use jiff::tz::{TimeZone, offset};
use memory_engine::{
    Builder, EnrichmentOptions, Field, Filter, Injector, Kind, Language, MemoryEngine, RecallQuery, Record, ScanQuery,
    Scope, Timestamp, Turn,
    audit::{AuditContext, in_context},
    context::{GatewayBlock, IncomingMessage, InjectionRules, Rule},
    enrichment::SummaryTrigger,
    testing::ManualClock,
    transfer::Copier,
};

fn lin() -> Scope {
    Scope::user("lin").unwrap()
}

fn at(time: &str) -> Timestamp {
    time.parse().unwrap()
}

fn zone(hours: i8) -> TimeZone {
    TimeZone::fixed(offset(hours))
}

/// Returns the builder of an engine with a fixed clock and without a background worker.
fn builder(now: &str) -> Builder {
    MemoryEngine::builder().in_memory().clock(Arc::new(ManualClock::new(at(now)))).background(false)
}

/// Returns the facts of one message for an engine with this zone; `None` for the default zone.
async fn facts(zone: Option<TimeZone>, now: &str, message: &str) -> Vec<String> {
    let builder = builder(now).enrichment(EnrichmentOptions::rules().unwrap());
    let builder = match zone {
        Some(zone) => builder.zone(zone),
        None => builder,
    };
    let memory = builder.build().await.unwrap();
    memory.remember(&lin(), message).await.unwrap();
    memory.drain(&lin(), |_| ()).await.unwrap();
    memory.facts(&lin()).await.unwrap().into_iter().map(|fact| fact.text).collect()
}

#[tokio::test]
async fn tomorrow_is_the_users_tomorrow() {
    let english = "I have a dentist appointment tomorrow.";
    let chinese = "我明天要去体检";
    let los_angeles = TimeZone::get("America/Los_Angeles").unwrap();
    // The time, the zone, and the day after it there: west and east of UTC, before and after the day changes in UTC.
    for (now, zone, day) in [
        ("2024-05-01T20:00:00Z", Some(los_angeles.clone()), "2024-05-02"),
        ("2024-05-02T03:00:00Z", Some(los_angeles), "2024-05-02"),
        ("2024-05-01T20:00:00Z", Some(zone(8)), "2024-05-03"),
        ("2024-05-01T10:00:00Z", Some(zone(8)), "2024-05-02"),
        ("2024-05-01T20:00:00Z", Some(TimeZone::UTC), "2024-05-02"),
        ("2024-05-01T20:00:00Z", None, "2024-05-02"),
    ] {
        for message in [english, chinese] {
            let facts = facts(zone.clone(), now, message).await;
            assert!(facts.len() == 1 && facts[0].contains(day), "{message} at {now} in {zone:?}: {facts:?}");
        }
    }
}

#[tokio::test]
async fn a_query_names_days_of_the_engines_zone_unless_it_has_its_own() {
    let memory = builder("2024-05-02T03:00:00Z").zone(zone(-7)).build().await.unwrap();
    assert_eq!(memory.settings().zone(), &zone(-7));
    // Yesterday is 30 April in California, and 1 May in UTC.
    for (text, time) in [("Walked in Oakland", "2024-04-30T20:00:00Z"), ("Walked in Berkeley", "2024-05-01T20:00:00Z")]
    {
        memory.remember(&lin(), Turn::user(text).at(at(time))).await.unwrap();
    }
    let found = async |query: RecallQuery| {
        let recall = memory.recall(&lin(), query.only_then()).await.unwrap();
        recall.hits.iter().map(|hit| hit.record.text.clone()).collect::<Vec<_>>()
    };
    let query = || RecallQuery::new("Where did I walk yesterday?");
    assert_eq!(found(query()).await, ["Walked in Oakland"]);
    assert_eq!(found(query().with_zone(TimeZone::UTC)).await, ["Walked in Berkeley"]);
}

#[tokio::test]
async fn summaries_and_profiles_have_the_engines_zone_and_language() {
    let options = EnrichmentOptions::rules().unwrap().with_trigger(SummaryTrigger::every_turns(2)).with_profile(2);
    let memory = builder("2024-05-02T12:00:00Z")
        .zone(zone(-7))
        .language(Language::Chinese)
        .enrichment(options)
        .build()
        .await
        .unwrap();
    assert_eq!(memory.settings().language(), Some(Language::Chinese));
    for text in ["Call me Lin. I moved to Porto for a new job.", "I like hiking in the mountains near the river."] {
        // 20:00 on 1 May in the zone: an evening.
        memory.remember(&lin(), Turn::user(text).at(at("2024-05-02T03:00:00Z"))).await.unwrap();
    }
    memory.drain(&lin(), |_| ()).await.unwrap();
    let of_kind = async |kind: Kind| {
        let query = ScanQuery::oldest(10).with_filter(Filter::eq(memory_engine::Field::Kind, kind.as_str()));
        memory.scan(&lin(), &query).await.unwrap().records.remove(0).text
    };
    let summary = of_kind(Kind::SUMMARY).await;
    assert!(summary.contains("2024-05-01") && !summary.contains("2024-05-02"), "{summary}");
    assert!(summary.contains("用户"), "{summary}");
    let profile = of_kind(Kind::PROFILE).await;
    assert!(profile.contains("称呼：Lin") && profile.contains("经常晚上来聊天"), "{profile}");
}

#[tokio::test]
async fn a_prompt_context_has_the_engines_zone_and_language() {
    for (zone, language, heading, day) in [
        (TimeZone::UTC, None, "Relevant long-term memory", "2024-05-02"),
        (zone(-7), Some(Language::Chinese), "相关的长期记忆", "2024-05-01"),
    ] {
        let builder = builder("2024-05-02T12:00:00Z").zone(zone);
        let builder = match language {
            Some(language) => builder.language(language),
            None => builder,
        };
        let memory = builder.build().await.unwrap();
        memory.remember(&lin(), Turn::user("I'm allergic to peanuts").at(at("2024-05-02T03:00:00Z"))).await.unwrap();
        memory.remember(&lin(), "The weather is fine").await.unwrap();
        let context = memory.context(&lin(), "Can I eat peanuts?").await.unwrap();
        assert!(context.text.starts_with(heading) && context.text.contains(day), "{}", context.text);
    }
}

async fn with_memories(builder: Builder) -> MemoryEngine {
    let memory = builder.build().await.unwrap();
    for text in [
        "My dog is called Biscuit.",
        "I told the doctor that peanuts make me ill.",
        "We said we meet on Friday at noon.",
        "I feel sad since the move.",
        "我们约好周五去爬山",
    ] {
        let turn = Turn::user(text).with_scene("daily").at(at("2024-05-02T03:00:00Z"));
        memory.remember(&lin(), turn).await.unwrap();
    }
    memory
}

async fn inject(injector: &Injector, text: &str) -> (Rule, String) {
    let injection = injector.inject(&lin(), &IncomingMessage { round: 5, scene: "daily", text }).await;
    assert!(injection.degraded.is_empty(), "{:?}", injection.degraded);
    (injection.decision.rule, injection.text)
}

#[tokio::test]
async fn english_questions_inject_english_text_and_small_talk_does_not() {
    let injector = Injector::new(with_memories(builder("2024-05-02T12:00:00Z").zone(zone(-7))).await);
    for (question, rule, memory) in [
        ("do you remember my dog's name?", Rule::Recall, "[2024-05-01 20:00] User: My dog is called Biscuit."),
        ("what did I tell you about peanuts?", Rule::Recall, "peanuts make me ill"),
        ("I feel sad", Rule::Emotion, "I feel sad since the move."),
        ("when did we say we meet?", Rule::Recall, "on Friday at noon"),
    ] {
        let (decided, text) = inject(&injector, question).await;
        assert_eq!(decided, rule, "{question}");
        assert!(text.starts_with("---\n[Memory reference") && text.contains(memory), "{question}: {text}");
        assert!(!text.contains("记忆") && !text.contains("周五"), "{text}");
    }
    for small_talk in
        ["Good morning!", "What should we cook tonight?", "Thanks, that helps.", "Tell me a joke about cats"]
    {
        assert_eq!(inject(&injector, small_talk).await, (Rule::Nothing, String::new()), "{small_talk}");
    }
    let (rule, text) = inject(&injector, "还记得我们约好去爬山吗").await;
    assert_eq!(rule, Rule::Recall);
    assert!(text.starts_with("---\n[记忆参考") && text.contains("[2024-05-01 20:00] 用户：我们约好"), "{text}");
}

#[tokio::test]
async fn a_first_message_gets_the_frame_of_its_language() {
    let injector = Injector::new(with_memories(builder("2024-05-02T12:00:00Z")).await);
    let injector = injector.with_rules(InjectionRules::of_document());
    let first = async |text: &str| {
        let injection = injector.inject(&lin(), &IncomingMessage { round: 1, scene: "daily", text }).await;
        assert_eq!(injection.decision.rule, Rule::ColdStart);
        injection.text
    };
    assert!(first("Hello there").await.starts_with("---\n[Memory reference"));
    assert!(first("早上好").await.starts_with("---\n[记忆参考"));
    assert!(first("👋").await.starts_with("---\n[Memory reference"), "most of these memories are in English");
}

#[tokio::test]
async fn the_builders_language_decides_about_rules_and_frame() {
    let chinese = builder("2024-05-02T12:00:00Z").language(Language::Chinese);
    let injector = Injector::new(with_memories(chinese).await);
    let (rule, _) = inject(&injector, "do you remember my dog's name?").await;
    assert_eq!(rule, Rule::Relevant, "no Chinese trigger fires");
    let english = builder("2024-05-02T12:00:00Z").language(Language::English);
    let injector = Injector::new(with_memories(english).await);
    let (rule, text) = inject(&injector, "还记得我们约好去爬山吗").await;
    assert_eq!(rule, Rule::Recall);
    assert!(text.starts_with("---\n[Memory reference") && text.contains("User: 我们约好周五去爬山"), "{text}");
}

/// Returns the first hit for a question that is asked at `now`.
async fn first_hit(memory: &MemoryEngine, question: &str, now: &str) -> String {
    let mut query = RecallQuery::new(question).only_then();
    query.asked_at = Some(at(now));
    let recall = memory.recall(&lin(), query).await.unwrap();
    recall.hits.first().map(|hit| hit.record.text.clone()).unwrap_or_default()
}

#[tokio::test]
async fn a_day_is_a_day_of_the_zone_that_the_client_names() {
    // The engine is in UTC, as in a container. The client is in Los Angeles, and later in Shanghai.
    let memory = builder("2026-11-28T18:00:00Z").build().await.unwrap();
    let los_angeles = || AuditContext::default().with_zone(TimeZone::get("America/Los_Angeles").ok());
    for (text, time) in [("Ate ramen with Bo", "2026-11-28T04:00:00Z"), ("Fixed the bike", "2026-11-27T04:00:00Z")] {
        let turn = Turn::user(text).at(at(time));
        in_context(los_angeles(), memory.remember(&lin(), turn)).await.unwrap();
    }
    let page = memory.scan(&lin(), &ScanQuery::newest(1)).await.unwrap();
    assert_eq!(page.records[0].metadata[Record::ZONE_KEY], "America/Los_Angeles");
    let question = "What did I do yesterday?";
    let named = in_context(los_angeles(), first_hit(&memory, question, "2026-11-28T18:00:00Z")).await;
    assert_eq!(named, "Ate ramen with Bo");
    // Without a name it is the zone of the latest message.
    assert_eq!(first_hit(&memory, question, "2026-11-28T18:00:00Z").await, "Ate ramen with Bo");
    assert_eq!(first_hit(&memory, "What did I do on November 26?", "2026-11-28T18:00:00Z").await, "Fixed the bike");

    let mei = Scope::user("mei").unwrap();
    for (text, time) in [("昨天和小波吃了拉面", "2026-11-27T23:30:00Z"), ("前天修好了自行车", "2026-11-27T23:31:00Z")]
    {
        let shanghai = AuditContext::default().with_zone(Some(zone(8)));
        in_context(shanghai, memory.remember(&mei, Turn::user(text).at(at(time)))).await.unwrap();
    }
    for (question, answer) in [("11月27日我做了什么", "昨天和小波吃了拉面"), ("11月26日发生了什么", "前天修好了自行车")]
    {
        let recall = memory.recall(&mei, question).await.unwrap();
        assert_eq!(recall.hits[0].record.text, answer, "{question}");
    }
}

#[tokio::test]
async fn records_keep_their_zone_and_copies_do_not_get_one() {
    let memory = builder("2026-11-28T18:00:00Z").zone(zone(8)).build().await.unwrap();
    let id = memory.remember(&lin(), Turn::user("早饭吃了面").with_message_id("m1")).await.unwrap();
    assert_eq!(memory.get(&lin(), id).await.unwrap().unwrap().zone(), Some(zone(8)));
    let other = builder("2026-11-28T18:00:00Z").zone(zone(-5)).build().await.unwrap();
    Copier::new(&memory, &other).copy(&lin()).await.unwrap();
    assert_eq!(other.get(&lin(), id).await.unwrap().unwrap().zone(), Some(zone(8)));
    // A client that names another zone does not change a stored message.
    let elsewhere = AuditContext::default().with_zone(Some(zone(2)));
    in_context(elsewhere, memory.remember(&lin(), Turn::user("早饭吃了面").with_message_id("m2"))).await.unwrap();
    let zones: Vec<_> = memory.scan(&lin(), &ScanQuery::oldest(9)).await.unwrap().records;
    assert_eq!(zones.iter().filter_map(Record::zone).collect::<Vec<_>>().len(), 2);
    let block = GatewayBlock::default().with_zone(zone(-7)).render([], &zones);
    assert!(block.text.contains("2026-11-29 02:00") && block.text.contains("2026-11-28 20:00"), "{}", block.text);
}

#[tokio::test]
async fn facts_are_of_the_zone_of_their_message() {
    let memory = builder("2024-05-01T20:00:00Z").enrichment(EnrichmentOptions::rules().unwrap()).build().await.unwrap();
    let shanghai = AuditContext::default().with_zone(Some(zone(8)));
    in_context(shanghai, memory.remember(&lin(), "我明天要去体检")).await.unwrap();
    memory.drain(&lin(), |_| ()).await.unwrap();
    let facts = memory.facts(&lin()).await.unwrap();
    assert!(facts[0].text.contains("2024-05-03"), "{facts:?}");
    let stored = ScanQuery::newest(9).with_filter(Filter::eq(Field::Kind, Kind::FACT.as_str()));
    assert_eq!(memory.scan(&lin(), &stored).await.unwrap().records[0].zone(), Some(zone(8)));
}
