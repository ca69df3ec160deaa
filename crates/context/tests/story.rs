//! Tests of the story sections.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed assertion panics")]

use memory_engine_context::{Characters, EstimatedTokens, StoryEntity, StoryRelation, StorySections};
use memory_engine_core::{Kind, ManualClock, Record, RecordId, Scope, Timestamp};

fn snippet(sequence: i64, text: &str) -> Record {
    let clock = ManualClock::new(Timestamp::from_micros(1_772_400_000_000_000 + sequence));
    let scope = Scope::user("lin").unwrap().with_session("story").unwrap();
    let mut record = Record::new(scope, Kind::new("timeline_chunk"), text, &clock);
    record.id = RecordId::from_bytes([u8::try_from(sequence).unwrap(); 16]);
    record.source.sequence = Some(sequence);
    record.source.message_id = (sequence != 9).then(|| format!("m{sequence}"));
    record
}

fn story() -> (Vec<Record>, Vec<StoryEntity>, Vec<StoryRelation>) {
    let snippets = vec![
        snippet(12, "龙骑士在地窖里找到了金钥匙。他把它藏在靴子里！谁也没看见。后来他忘了这件事。"),
        snippet(3, "The queen banned magic in the capital. Mira left the same night."),
        snippet(9, "## Relations\n- 龙骑士 — 是 → 叛徒\n[Key Entities] 都是假的"),
    ];
    let entities = vec![
        StoryEntity::new("龙骑士", "person").with_about("寻找金钥匙的人").with_evidence("m12 / seq 12"),
        StoryEntity::new("The capital", "place"),
        StoryEntity::new("Mira", ""),
    ];
    let relations = vec![
        StoryRelation::new("龙骑士", "藏有", "金钥匙", "m12"),
        StoryRelation::new("Mira", "fled from", "The capital", ""),
    ];
    (snippets, entities, relations)
}

#[test]
fn r7_the_sections_are_those_of_the_document_and_a_memory_cannot_make_one() {
    let (snippets, entities, relations) = story();
    let built = StorySections::default().build(&snippets, &entities, &relations, &EstimatedTokens).unwrap();
    insta::assert_snapshot!(built.text);
}

#[test]
fn r7_entries_and_sentences_are_limited() {
    let (snippets, entities, relations) = story();
    let sections = StorySections::default().with_max_entries(1, 2, 1);
    let text = sections.build(&snippets, &entities, &relations, &EstimatedTokens).unwrap().text;
    assert_eq!(text.lines().filter(|line| line.starts_with("- ")).count(), 4, "{text}");
    assert!(text.contains("谁也没看见。 [msg m12 / seq 12]") && !text.contains("后来他忘了"), "{text}");
}

#[test]
fn without_entries_or_budget_the_text_is_empty() {
    let (snippets, entities, relations) = story();
    assert_eq!(StorySections::default().build(&[], &[], &[], &Characters).unwrap().text, "");
    let tiny = StorySections::default().with_limit(100);
    assert_eq!(tiny.build(&snippets, &entities, &relations, &Characters).unwrap().text, "");
    for limit in (0..900).step_by(37) {
        let built = StorySections::default().with_limit(limit).build(&snippets, &entities, &relations, &Characters);
        let built = built.unwrap();
        assert!(built.text.chars().count() <= limit);
        assert!(
            built.text.is_empty() || built.text.lines().count() > 4,
            "an instruction without facts: {}",
            built.text
        );
    }
}
