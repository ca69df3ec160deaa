//! The turns of the test, and the records expected from them.

use std::collections::BTreeMap;

use memory_engine::{Job, Kind, MemoryEngine, Order, ScanQuery, Scope, Timestamp, Turn};

use crate::test_database::NOON;

const ROUNDS: i64 = 18;

pub(crate) fn lin() -> Scope {
    Scope::user("lin").unwrap()
}

/// Writes conversations with work for every job, and queues the keyword job, which no write queues.
pub(crate) async fn write(memory: &MemoryEngine, job: Job) {
    for (round, session) in (0..ROUNDS).map(|round| (round, if round % 2 == 0 { "a" } else { "b" })) {
        let text = match round % 6 {
            0 => format!("I live in {} now.", ["Porto", "Lisbon", "Faro", "Braga"][(round / 6) as usize]),
            1 => "我对海鲜过敏，今天有点难过".to_owned(),
            2 => (0..30)
                .map(|n| format!("Anna Reed met Tom Hale at Blue Mountain Studio, meeting {round}.{n}. "))
                .collect(),
            3 => (0..60).map(|n| format!("我想聊聊去黄山看日出的第{round}-{n}个计划，小王也一起去。")).collect(),
            4 => format!("I'm allergic to {}.", ["walnuts", "shrimp", "pollen", "dust"][(round / 6) as usize]),
            _ => format!("Let us talk about hike number {round}, the weather and the boots."),
        };
        let address = lin().with_session(session).unwrap();
        let at = |second| Timestamp::from_micros(NOON - 86_400_000_000 + (round * 60 + second) * 1_000_000);
        let turn = Turn::user(text).with_message_id(format!("q{round}")).with_sequence(2 * round).at(at(0));
        memory.remember(&address, turn).await.unwrap();
        let turn = Turn::assistant(format!("好的，第{round}次。 Boots and a raincoat, then."));
        let turn = turn.with_message_id(format!("a{round}")).with_sequence(2 * round + 1).at(at(30));
        memory.remember(&address, turn).await.unwrap();
    }
    if job == Job::Keywords {
        // In one database the terms come with the record.
        memory.admin().reindex(&lin()).await.unwrap();
    }
}

/// Counts each stored record, without the fields that depend on when and how often it was written.
pub(crate) async fn stored_lines(memory: &MemoryEngine) -> BTreeMap<String, usize> {
    let mut lines = BTreeMap::new();
    let mut scan = ScanQuery::oldest(100);
    scan.order = Order::OldestFirst;
    loop {
        let page = memory.scan(&lin(), &scan).await.unwrap();
        for record in page.records {
            let mut line = serde_json::to_value(&record).unwrap();
            let fields = line.as_object_mut().unwrap();
            fields.retain(|name, _| !matches!(name.as_str(), "revision" | "recorded_at"));
            if record.kind != Kind::TURN {
                // The ids of derived records depend on revisions, and facts refer to each other by id.
                fields.retain(|name, _| !matches!(name.as_str(), "id" | "metadata"));
            }
            *lines.entry(line.to_string()).or_default() += 1;
        }
        match page.next {
            Some(next) => scan = scan.with_after(Some(next)),
            None => break,
        }
    }
    lines
}

/// Asserts that there are records of every kind that a kill could lose.
pub(crate) fn assert_all_kinds(stored: &BTreeMap<String, usize>) {
    let count = |part: &str| stored.keys().filter(|line| line.contains(part)).count();
    for (part, minimum) in [
        ("\"kind\":\"turn\"", 36),
        ("\"kind\":\"chunk\"", 8),
        ("\"kind\":\"fact\"", 6),
        ("\"kind\":\"summary\"", 2),
        ("\"kind\":\"profile\"", 1),
        ("\"state\":\"superseded\"", 2),
        ("\"emotion\":\"", 3),
    ] {
        assert!(count(part) >= minimum, "{} lines with {part}: {stored:#?}", count(part));
    }
    let duplicates: Vec<&String> = stored.iter().filter(|(_, count)| **count > 1).map(|(line, _)| line).collect();
    assert!(duplicates.is_empty(), "stored twice: {duplicates:#?}");
}
