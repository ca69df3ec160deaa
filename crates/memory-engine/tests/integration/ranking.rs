//! Ranking by features, and diversity.

use memory_engine::{
    PutMode, Recall, RecallOptions, RecallQuery, Timestamp, Turn,
    recall::{Feature, Method, QueryShape, RankingMethod, Retrievers},
    store::Write,
};

use crate::given::{Backend, lin};

fn texts(recall: &Recall) -> Vec<&str> {
    recall.hits.iter().map(|hit| hit.record.text.as_str()).collect()
}

#[tokio::test]
async fn each_sentence_of_a_query_finds_its_answer() {
    for backend in Backend::all() {
        let memory = backend.builder().background(false).build().await.unwrap();
        for text in [
            "我妹妹的生日是五月三日",
            "我妹妹昨天给我打了电话",
            "我妹妹在医院上班",
            "妈妈最爱吃荔枝",
            "今天下雨，没有出门",
            "新买的书还没看",
        ] {
            memory.remember(&lin(), text).await.unwrap();
        }
        let found = memory.recall(&lin(), "我妹妹的生日是哪天？另外，妈妈爱吃什么水果？").await.unwrap();
        let mut first = texts(&found)[..2].to_vec();
        first.sort_unstable();
        assert_eq!(first, ["妈妈最爱吃荔枝", "我妹妹的生日是五月三日"]);
    }
}

#[tokio::test]
async fn the_speaker_that_a_query_names_comes_first() {
    for backend in Backend::all() {
        let memory = backend.builder().background(false).build().await.unwrap();
        let session = lin().with_session("s").unwrap();
        for (speaker, text) in [
            ("Ben", "cats are the best animals for a small flat"),
            ("Ann", "for a small flat the best animals are birds"),
            ("Ben", "let us talk about the trip"),
        ] {
            memory.remember(&session, Turn::user(text).with_speaker(speaker)).await.unwrap();
        }
        for speaker in ["Ann", "Ben"] {
            let query = format!("Which animals does {speaker} find best for a small flat?");
            let found = memory.recall(&lin(), query).await.unwrap();
            assert_eq!(found.hits[0].record.speaker.as_deref(), Some(speaker), "{:?}", texts(&found));
            let named = found.hits[0].features.iter().find(|score| score.feature == Feature::Speaker).unwrap();
            assert_eq!(named.value, 1.0);
        }
    }
}

#[tokio::test]
async fn a_hit_lists_its_features_and_a_single_retriever_has_none() {
    for backend in Backend::all() {
        let memory = backend.builder().background(false).build().await.unwrap();
        memory.remember(&lin(), "the violin is in the attic").await.unwrap();
        memory.remember(&lin(), "the piano is in the hall").await.unwrap();
        let found = memory.recall(&lin(), "where is the violin?").await.unwrap();
        assert_eq!(found.query_shape, Some(QueryShape::Question));
        assert_eq!(found.hits[0].score.value(), 1.0);
        let keyword = found.hits[0].features.iter().find(|score| score.feature == Feature::Keyword).unwrap();
        assert!(keyword.value == 1.0 && keyword.contribution > 0.0);
        assert!(found.hits[0].score_summary().contains("keyword 1.00"), "{}", found.hits[0].score_summary());
        let query = RecallQuery::new("where is the violin?").with_retrievers(Retrievers::KeywordOnly);
        let single = memory.recall(&lin(), query).await.unwrap();
        assert!(single.hits[0].features.is_empty());
        assert_eq!(single.query_shape, None);
    }
}

#[tokio::test]
async fn an_answer_comes_before_an_earlier_question() {
    for backend in Backend::all() {
        let memory = backend.builder().background(false).build().await.unwrap();
        for text in [
            "那只橘猫干了什么坏事",
            "橘猫今天又干了什么坏事",
            "橘猫把鱼缸打翻了，地板全是水",
            "where did I leave the violin",
            "do you know where the violin is?",
            "I put the violin into the attic last spring.",
        ] {
            memory.remember(&lin(), text).await.unwrap();
        }
        for (query, answer) in [
            ("橘猫", "橘猫把鱼缸打翻了，地板全是水"),
            ("橘猫干了什么坏事", "橘猫把鱼缸打翻了，地板全是水"),
            ("where is the violin?", "I put the violin into the attic last spring."),
        ] {
            let found = memory.recall(&lin(), query).await.unwrap();
            assert_eq!(texts(&found)[0], answer, "{query}: {:?}", texts(&found));
            assert!(texts(&found).len() > 1, "the questions are still found: {query}");
            assert!(found.hits.is_sorted_by(|a, b| a.score >= b.score), "{query}");
        }
        let found = memory.recall(&lin(), "what did I ask you about the violin?").await.unwrap();
        assert_eq!(texts(&found)[0], "where did I leave the violin");
    }
}

/// Reciprocal rank fusion with equal weights, as other engines do it.
fn reciprocal_ranks() -> RecallOptions {
    let options = RecallOptions::default().with_ranking(RankingMethod::Fusion).with_fusion(Method::Ranks { k: 60.0 });
    options.with_vector_weight(0.5).with_min_vector_weight(0.5)
}

#[tokio::test]
async fn fusion_keeps_the_order_of_the_fused_lists() {
    for backend in Backend::all() {
        let memory = backend.builder().background(false).build().await.unwrap();
        let session = lin().with_session("s").unwrap();
        for n in 0..40 {
            let text = format!("note {n}: the {} boat is in harbour {}", ["red", "old", "fast"][n % 3], n % 7);
            // Neither importance nor confidence changes the order.
            let turn = Turn::user(text).with_importance(n as f64 / 40.0).with_confidence(1.0 - n as f64 / 80.0);
            memory.remember(&session, turn).await.unwrap();
        }
        memory.drain(&lin(), |_| ()).await.unwrap();
        let query = RecallQuery::new("where is the old boat?").with_options(reciprocal_ranks()).with_limit(8);
        let found = memory.recall(&lin(), query).await.unwrap();
        assert_eq!(found.hits.len(), 8);
        assert!(found.degraded.is_empty(), "{:?}", found.degraded);
        assert!(found.hits.iter().any(|hit| hit.found_by.len() == 2), "both retrievers take part");
        for hit in &found.hits {
            let expected: f64 = hit.found_by.iter().map(|found| 0.5 / (60.0 + found.rank as f64)).sum();
            assert!((hit.score.value() - expected).abs() < 1e-12, "{} {expected}", hit.score);
            assert!(hit.boosts.is_empty() && hit.features.is_empty());
        }
        assert!(found.hits.is_sorted_by(|a, b| a.score.value() >= b.score.value()));
        let whole = RecallQuery::new("where is the old boat?").with_options(reciprocal_ranks()).with_limit(40);
        let whole = memory.recall(&lin(), whole).await.unwrap();
        assert_eq!(texts(&whole)[..8], texts(&found), "a longer list begins with the same hits");
    }
}

#[tokio::test]
async fn fusion_fills_the_places_of_memories_that_may_not_be_returned() {
    for backend in Backend::all() {
        let memory = backend.builder().background(false).build().await.unwrap();
        for text in ["my violin is in the attic", "the violin in the attic is old", "a violin was in the shop"] {
            memory.remember(&lin(), text).await.unwrap();
        }
        let options = reciprocal_ranks();
        let query = || RecallQuery::new("is my violin in the attic?").with_options(options).with_limit(2);
        let before = memory.recall(&lin(), query()).await.unwrap();
        let mut ended = before.hits[0].record.clone();
        ended.valid_until = Some(ended.occurred_at);
        let ended_id = ended.id;
        memory.admin().write(&lin(), vec![Write::new(ended, PutMode::Upsert)]).await.unwrap();
        let after = memory.recall(&lin(), query()).await.unwrap();
        assert_eq!(after.hits.len(), 2, "{:?}", texts(&after));
        assert!(after.hits.iter().all(|hit| hit.record.id != ended_id));
    }
}

#[tokio::test]
async fn english_is_compared_word_by_word() {
    for backend in Backend::all() {
        let memory = backend.builder().background(false).build().await.unwrap();
        for text in ["the sofa stands in the hall", "the kitten sleeps by the stove", "the bill came on Monday"] {
            memory.remember(&lin(), text).await.unwrap();
        }
        memory.drain(&lin(), |_| ()).await.unwrap();
        let found = memory.recall(&lin(), "what place does my cat like for a nap?").await.unwrap();
        assert_eq!(texts(&found)[0], "the kitten sleeps by the stove");
        let similarity = found.hits[0].features.iter().find(|score| score.feature == Feature::TokenSimilarity).unwrap();
        assert!(similarity.value > 0.2, "{similarity}");
    }
}

#[tokio::test]
async fn a_code_is_found_in_a_text_of_the_other_language() {
    for backend in Backend::all() {
        let memory = backend.builder().background(false).build().await.unwrap();
        for text in [
            "渡轮TK-7719下午四点一刻开船，从三号码头",
            "PX8802 is with the courier in Malmö",
            "the ferry departs when it is full, they said",
            "when does the ferry to the island depart on Sunday?",
            "we took the ferry and had to depart early",
            "the depot is where the ferry company parks",
            "包裹和订单我都放在门口了",
            "上次的订单到哪了还不知道",
        ] {
            memory.remember(&lin(), text).await.unwrap();
        }
        memory.drain(&lin(), |_| ()).await.unwrap();
        for (query, answer) in [
            ("When does the ferry TK 7719 depart?", "渡轮TK-7719下午四点一刻开船，从三号码头"),
            ("订单PX-8802到哪了？", "PX8802 is with the courier in Malmö"),
        ] {
            let found = memory.recall(&lin(), query).await.unwrap();
            assert_eq!(texts(&found)[0], answer, "{query}: {:?}", texts(&found));
            assert_eq!(value(&found, answer, Feature::Code), 1.0, "{query}");
            assert_eq!(value(&found, texts(&found)[1], Feature::Code), 0.0, "{query}");
        }
    }
}

/// Returns the value of a feature of the hit with this text, 0 if it has none.
fn value(recall: &Recall, text: &str, feature: Feature) -> f64 {
    let hit = recall.hits.iter().find(|hit| hit.record.text == text).unwrap();
    hit.features.iter().find(|score| score.feature == feature).map_or(0.0, |score| score.value)
}

#[tokio::test]
async fn the_reply_to_a_question_about_the_same_thing_comes_first() {
    for backend in Backend::all() {
        let memory = backend.builder().background(false).build().await.unwrap();
        for (session, speaker, text) in [
            ("a", "Ann", "Which instrument did you pick up this spring? 😊"),
            ("a", "Ben", "The oboe! The whole house hates it."),
            ("b", "Ann", "I saw the instrument that you pick up each spring."),
            ("b", "Ben", "Right, see you at the station."),
            ("c", "Ann", "你今年春天学的是什么乐器？"),
            ("c", "Ben", "双簧管！全楼都讨厌它。"),
            ("d", "Ann", "今年春天的乐器我看到了。"),
            ("d", "Ben", "好，车站见。"),
        ] {
            let session = lin().with_session(session).unwrap();
            memory.remember(&session, Turn::user(text).with_speaker(speaker)).await.unwrap();
        }
        memory.drain(&lin(), |_| ()).await.unwrap();
        for (query, reply, other) in [
            (
                "What instrument did Ben pick up in spring?",
                "The oboe! The whole house hates it.",
                "Right, see you at the station.",
            ),
            ("Ben 春天学的是什么乐器？", "双簧管！全楼都讨厌它。", "好，车站见。"),
        ] {
            let found = memory.recall(&lin(), query).await.unwrap();
            let rank = |text: &str| texts(&found).iter().position(|hit| *hit == text).unwrap();
            assert!(rank(reply) < rank(other), "{query}: {:?}", texts(&found));
            assert!(value(&found, reply, Feature::AnswersQuestion) > 0.4, "{query}");
            assert_eq!(value(&found, other, Feature::AnswersQuestion), 0.0, "{query}");
        }
    }
}

#[tokio::test]
async fn numbers_and_the_first_person_are_features() {
    for backend in Backend::all() {
        let memory = backend.builder().background(false).build().await.unwrap();
        for text in ["my rent is seven hundred", "the rent is high here", "我的房租是九百", "这边的房租很高"]
        {
            memory.remember(&lin(), text).await.unwrap();
        }
        for (query, own, other) in [
            ("how much is my rent?", "my rent is seven hundred", "the rent is high here"),
            ("我的房租是多少？", "我的房租是九百", "这边的房租很高"),
        ] {
            let found = memory.recall(&lin(), query).await.unwrap();
            for feature in [Feature::NumberAsked, Feature::FirstPerson] {
                assert_eq!(value(&found, own, feature), 1.0, "{feature} {query}");
                assert_eq!(value(&found, other, feature), 0.0, "{feature} {query}");
            }
        }
        let found = memory.recall(&lin(), "is the rent high?").await.unwrap();
        assert_eq!(value(&found, "my rent is seven hundred", Feature::FirstPerson), 0.0);
    }
}

#[tokio::test]
async fn chinese_is_compared_word_by_word() {
    for backend in Backend::all() {
        let memory = backend.builder().background(false).build().await.unwrap();
        for text in ["小偷在枫林路被抓", "医生在枫林路坐诊", "公园在枫林路尽头"] {
            memory.remember(&lin(), text).await.unwrap();
        }
        let found = memory.recall(&lin(), "大夫在哪条路上班？").await.unwrap();
        assert_eq!(texts(&found)[0], "医生在枫林路坐诊");
        assert_eq!(value(&found, "医生在枫林路坐诊", Feature::WordMaxSim), 1.0);
    }
}

#[tokio::test]
async fn the_length_of_a_message_is_counted_in_words() {
    for backend in Backend::all() {
        let memory = backend.builder().background(false).build().await.unwrap();
        let short = "上周末我们去海边露营，晚上风很大，帐篷差点被吹走，最后大家都挤在车里睡了一夜";
        let long = short.repeat(3);
        for (user, text, shape) in [("short", short, QueryShape::Question), ("long", &long, QueryShape::LongMessages)] {
            let user = lin().with_agent(user).unwrap();
            memory.remember(&user, text).await.unwrap();
            let found = memory.recall(&user, "帐篷怎么了？").await.unwrap();
            assert_eq!(found.query_shape, Some(shape), "{text}");
        }
    }
}

#[tokio::test]
async fn a_question_that_names_a_date_has_weights_of_its_own() {
    for backend in Backend::all() {
        let memory = backend.builder().background(false).build().await.unwrap();
        for (day, text) in [("03", "Ann played the oboe at home"), ("17", "Ann played the oboe at the mayor's")] {
            let time: Timestamp = format!("2024-05-{day}T10:00:00Z").parse().unwrap();
            memory.remember(&lin(), Turn::user(text).at(time)).await.unwrap();
        }
        for (query, shape) in [
            ("where did Ann play on 17 May 2024?", QueryShape::DatedQuestion),
            ("2024年5月17日 Ann 在哪里演奏？", QueryShape::DatedQuestion),
            ("where did Ann play?", QueryShape::Question),
        ] {
            assert_eq!(memory.recall(&lin(), query).await.unwrap().query_shape, Some(shape), "{query}");
        }
        let found = memory.recall(&lin(), "where did Ann play on 17 May 2024?").await.unwrap();
        assert_eq!(texts(&found)[0], "Ann played the oboe at the mayor's");
    }
}

#[tokio::test]
async fn diversity_can_be_turned_off() {
    for backend in Backend::all() {
        let memory = backend.builder().background(false).build().await.unwrap();
        for text in ["我对海鲜过敏，不能吃虾", "我对海鮮過敏，不能吃蝦！", "海鲜市场在三号线旁边"]
        {
            memory.remember(&lin(), text).await.unwrap();
        }
        let diverse = memory.recall(&lin(), "海鲜过敏").await.unwrap();
        assert_eq!(texts(&diverse)[1], "海鲜市场在三号线旁边");
        assert_eq!(diverse.hits[2].repeats, Some(diverse.hits[0].record.id));
        let options = RecallOptions::default().with_diversity(0.0);
        let plain = memory.recall(&lin(), RecallQuery::new("海鲜过敏").with_options(options)).await.unwrap();
        assert_eq!(texts(&plain)[2], "海鲜市场在三号线旁边");
        assert!(plain.hits.iter().all(|hit| hit.repeats.is_none()));
    }
}

#[tokio::test]
async fn a_query_about_the_user_or_known_people_is_more_likely_answered() {
    for backend in Backend::all() {
        let memory = backend.builder().background(false).build().await.unwrap();
        for text in ["the greyhound sleeps next to the oven", "Marta plays the oboe", "小橘昨天又打翻了花瓶"]
        {
            memory.remember(&lin(), text).await.unwrap();
        }
        let relevance = async |query: &str| memory.recall(&lin(), query).await.unwrap().hits[0].relevance;
        for (personal, general) in [
            ("where does my greyhound sleep", "where does a greyhound sleep"),
            ("what does Marta play on the oboe", "what does one play on the oboe"),
            ("我的花瓶是谁打翻的", "花瓶是谁打翻的"),
        ] {
            let personal = relevance(personal).await;
            let general = relevance(general).await;
            assert!(personal > general + 0.05, "{personal} {general}");
        }
    }
}
