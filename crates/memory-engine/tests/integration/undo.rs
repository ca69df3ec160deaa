//! Deletion and undo, on every backend: the preview of a deletion says what the deletion then removes.

use std::collections::BTreeMap;

use memory_engine::{
    EnrichmentOptions, Field, Filter, Forget, ForgetReport, Kind, LinkedTurns, MemoryEngine, RecordId, ScanQuery,
    Scope, State, Turn, deletion::ForgetPreview,
};

use crate::given::{Backend, lin};

fn monday() -> Scope {
    lin().with_session("monday").unwrap()
}

fn tuesday() -> Scope {
    lin().with_session("tuesday").unwrap()
}

async fn say(memory: &MemoryEngine, scope: &Scope, text: &str) -> RecordId {
    let id = memory.remember(scope, Turn::user(text)).await.unwrap();
    memory.drain(&lin(), |_| ()).await.unwrap();
    id
}

/// Two conversations, with three facts.
async fn told(backend: &Backend) -> (MemoryEngine, RecordId) {
    let builder = backend.builder().enrichment(EnrichmentOptions::rules().unwrap()).background(false);
    let memory = builder.build().await.unwrap();
    let porto = say(&memory, &monday(), "I live in Porto.").await;
    say(&memory, &monday(), "我对海鲜过敏。").await;
    say(&memory, &tuesday(), "I'm allergic to walnuts.").await;
    say(&memory, &tuesday(), "Good night").await;
    say(&memory, &Scope::user("mo").unwrap(), "I live in Faro.").await;
    (memory, porto)
}

/// Returns the number of records of each kind.
fn by_kind(preview: &ForgetPreview) -> BTreeMap<String, u64> {
    let mut counts = preview.selected.clone();
    for (kind, count) in &preview.derived {
        *counts.entry(kind.clone()).or_default() += count;
    }
    counts
}

/// Previews a deletion, makes it, and compares them.
async fn compared(memory: &MemoryEngine, scope: &Scope, target: Forget) -> (ForgetPreview, ForgetReport) {
    let before = memory.admin().record_groups(&lin()).await.unwrap();
    let preview = memory.deletion().preview(scope, target.clone(), 1).await.unwrap();
    assert_eq!(memory.admin().record_groups(&lin()).await.unwrap(), before, "a preview changes nothing");
    let report = memory.forget(scope, target).await.unwrap();
    assert_eq!(by_kind(&preview), report.removed.records);
    assert_eq!((preview.records(), preview.synonyms), (report.records(), report.synonyms));
    (preview, report)
}

#[tokio::test]
async fn ids_take_what_was_derived_from_them() {
    for backend in Backend::all() {
        let (memory, porto) = told(&backend).await;
        let missing = RecordId::new();
        let (preview, _) = compared(&memory, &lin(), Forget::Ids(vec![porto, missing, porto])).await;
        assert_eq!(preview.selected, BTreeMap::from([("turn".to_owned(), 1)]));
        assert_eq!(preview.derived, BTreeMap::from([("fact".to_owned(), 1)]));
        assert_eq!(preview.not_found, [missing]);
        assert_eq!(preview.selected_sample[0].text, "I live in Porto.");
        assert_eq!(preview.derived_sample[0].kind, Kind::FACT);
        let (none, _) = compared(&memory, &lin(), porto.into()).await;
        assert_eq!((none.records(), none.not_found), (0, vec![porto]));
    }
}

#[tokio::test]
async fn a_deleted_fact_takes_the_turns_that_state_it() {
    let cases = [
        (None, Some(State::Revoked), 2),
        (Some(LinkedTurns::Retract), Some(State::Revoked), 2),
        (Some(LinkedTurns::Keep), Some(State::Active), 0),
        (Some(LinkedTurns::Delete), None, 0),
    ];
    for (turns, expected, retracted) in cases {
        for backend in Backend::all() {
            let (memory, porto) = told(&backend).await;
            let again = say(&memory, &tuesday(), "As I said, I live in Porto.").await;
            let facts = ScanQuery::oldest(9).with_filter(Filter::eq(Field::Kind, "fact"));
            let facts = memory.scan(&lin(), &facts).await.unwrap().records;
            let fact = facts.iter().find(|fact| fact.derived_from == [porto]).unwrap().id;
            let target = turns.map_or(fact.into(), |turns| Forget::Linked { ids: vec![fact], turns });
            let (preview, report) = compared(&memory, &lin(), target).await;
            assert_eq!((preview.retracted, report.retracted), (retracted, retracted), "{turns:?}");
            let stored = memory.get_all(&lin(), &[porto, again]).await.unwrap();
            let states: Vec<Option<State>> = stored.iter().map(|turn| turn.as_ref().map(|turn| turn.state)).collect();
            assert_eq!(states, [expected, expected], "{turns:?}");
            let hits = memory.recall(&lin(), "Porto").await.unwrap().hits;
            let found = hits.iter().filter(|hit| hit.record.text.contains("Porto")).count();
            assert_eq!(found, if turns == Some(LinkedTurns::Keep) { 2 } else { 0 }, "{turns:?}");
        }
    }
}

#[tokio::test]
async fn a_filter_counts_a_selected_record_once() {
    for backend in Backend::all() {
        let (memory, _) = told(&backend).await;
        // A selected turn and the fact that was derived from it.
        let filter = Filter::eq(Field::Session, "monday");
        let (preview, _) = compared(&memory, &lin(), Forget::Matching(filter)).await;
        assert_eq!(preview.selected, BTreeMap::from([("fact".to_owned(), 2), ("turn".to_owned(), 2)]));
        assert!(preview.derived.is_empty(), "{preview:?}");
        // The sample is limited, the count is not.
        assert_eq!(preview.selected_sample.len(), 1);
    }
}

#[tokio::test]
async fn everything_of_a_session_or_a_user() {
    for backend in Backend::all() {
        let (memory, _) = told(&backend).await;
        let (preview, _) = compared(&memory, &tuesday(), Forget::Everything).await;
        assert_eq!(preview.records(), 3);
        let (preview, _) = compared(&memory, &lin(), Forget::Everything).await;
        assert_eq!(by_kind(&preview), BTreeMap::from([("fact".to_owned(), 2), ("turn".to_owned(), 2)]));
        let of_mo = memory.scan(&Scope::user("mo").unwrap(), &ScanQuery::oldest(9)).await.unwrap().records;
        assert_eq!(of_mo.len(), 1);
    }
}

#[tokio::test]
async fn the_reason_of_a_retraction_outlives_a_derived_profile() {
    for backend in Backend::all() {
        let options = EnrichmentOptions::rules().unwrap().with_profile(1);
        let memory = backend.builder().enrichment(options).background(false).build().await.unwrap();
        let porto = say(&memory, &monday(), "I live in Porto.").await;
        say(&memory, &monday(), "我对海鲜过敏。").await;
        let retraction = memory.history().retract(&lin(), &[porto], "that was Mo").await.unwrap();
        let retracted = memory.get_all(&lin(), &retraction.records).await.unwrap();
        let kinds: Vec<Kind> = retracted.into_iter().flatten().map(|record| record.kind).collect();
        assert!(kinds.contains(&Kind::PROFILE), "{kinds:?}");
        // The profile is written again, without the retracted turn.
        memory.drain(&lin(), |_| ()).await.unwrap();
        assert_eq!(memory.history().retractions(&lin(), 9).await.unwrap()[0].reason, "that was Mo");
        // The reason may repeat the text of the turn, and goes with it.
        memory.forget(&lin(), porto).await.unwrap();
        assert_eq!(memory.history().retractions(&lin(), 9).await.unwrap()[0].reason, "");
    }
}

#[tokio::test]
async fn a_fact_that_is_retracted_by_itself_revives_no_older_one() {
    for backend in Backend::all() {
        let builder = backend.builder().enrichment(EnrichmentOptions::rules().unwrap()).background(false);
        let memory = builder.build().await.unwrap();
        say(&memory, &monday(), "I live in Porto.").await;
        let lisbon = say(&memory, &monday(), "I live in Lisbon.").await;
        let texts =
            async || -> Vec<String> { memory.facts(&lin()).await.unwrap().into_iter().map(|fact| fact.text).collect() };
        let facts = memory.facts(&lin()).await.unwrap();
        assert_eq!(facts.len(), 1);
        let retraction = memory.history().retract(&lin(), &[facts[0].id], "wrong").await.unwrap();
        assert!(texts().await.is_empty(), "Porto was superseded by a statement");
        memory.history().restore(&lin(), retraction.id).await.unwrap();
        assert_eq!(texts().await, ["The user lives in Lisbon."]);
        // With its turn, the statement was never made.
        memory.history().retract(&lin(), &[lisbon], "wrong").await.unwrap();
        assert_eq!(texts().await, ["The user lives in Porto."]);
    }
}
