//! Memories that wait until a person accepts them.

use futures::stream;
use memory_engine::{
    EnrichmentOptions, ErrorKind, Kind, MemoryEngine, PutMode, Record, RecordId, Scope, State, Turn,
    enrichment::SummaryTrigger,
    history::Edit,
    review::{ReviewMode, ReviewPolicy, ReviewQuery, ReviewReport, ReviewSource, review_keys},
};

use crate::fixtures::{TestDatabase, derived_record, lin, message, recalled_texts, story};

async fn open(test_db: &TestDatabase, policy: &str, options: EnrichmentOptions) -> MemoryEngine {
    let policy: ReviewPolicy = policy.parse().unwrap();
    test_db.open_with(|builder| builder.enrichment(options).review(policy)).await
}

/// Opens it with facts and summaries by rules.
async fn open_rules(test_db: &TestDatabase, policy: &str) -> MemoryEngine {
    open(test_db, policy, EnrichmentOptions::rules().unwrap()).await
}

async fn say(memory: &MemoryEngine, sequence: i64, text: &str) -> RecordId {
    let id = memory.remember(&story(None), message(sequence, text)).await.unwrap();
    drain(memory).await;
    id
}

async fn drain(memory: &MemoryEngine) {
    memory.drain(&lin(), |_| ()).await.unwrap();
    assert_eq!(memory.admin().failures(&lin(), 9).await.unwrap(), []);
}

async fn waiting(memory: &MemoryEngine) -> Vec<Record> {
    let page = memory.review().pending(&lin(), &ReviewQuery::default()).await.unwrap();
    page.pending.into_iter().map(|pending| pending.record).collect()
}

async fn the_waiting(memory: &MemoryEngine) -> Record {
    let mut records = waiting(memory).await;
    assert_eq!(records.len(), 1, "{records:?}");
    records.remove(0)
}

async fn values(memory: &MemoryEngine) -> Vec<String> {
    memory.facts(&lin()).await.unwrap().into_iter().map(|fact| fact.value).collect()
}

async fn accept(memory: &MemoryEngine, id: RecordId) -> ReviewReport {
    let report = memory.review().accept(&lin(), &[id]).await.unwrap();
    drain(memory).await;
    report
}

async fn state(memory: &MemoryEngine, id: RecordId) -> Option<State> {
    memory.get(&lin(), id).await.unwrap().map(|record| record.state)
}

pub(crate) async fn facts_count_after_they_are_accepted(test_db: TestDatabase) {
    let memory = open_rules(&test_db, "rule_facts=review").await;
    say(&memory, 1, "I live in Porto.").await;
    say(&memory, 2, "我对海鲜过敏。").await;
    let page = memory.review().pending(&lin(), &ReviewQuery::default().with_limit(1)).await.unwrap();
    assert_eq!((page.pending.len(), page.total), (1, 2));
    let home = &page.pending[0];
    assert_eq!((home.source, home.evidence[0].text.as_str()), (Some(ReviewSource::RuleFacts), "I live in Porto."));
    assert!(home.rule.as_ref().is_some_and(|rule| rule.as_str().starts_with("en.")), "{:?}", home.rule);
    let rest = ReviewQuery::default().with_after(page.next);
    let rest = memory.review().pending(&lin(), &rest).await.unwrap();
    let allergy = &rest.pending[0];
    assert_eq!((rest.pending.len(), allergy.record.text.as_str()), (1, "用户对海鲜过敏。"));
    assert!(values(&memory).await.is_empty());
    for (id, question, text) in [
        (home.record.id, "Where does the user live?", home.record.text.clone()),
        (allergy.record.id, "用户对什么过敏？", allergy.record.text.clone()),
    ] {
        assert!(!recalled_texts(&memory, &lin(), question).await.contains(&text), "{question}");
        assert_eq!(accept(&memory, id).await.accepted, [id]);
        assert!(recalled_texts(&memory, &lin(), question).await.contains(&text), "{question}");
    }
    assert_eq!(values(&memory).await, ["Porto", "海鲜"]);
    assert_eq!(memory.stats(&lin()).await.unwrap().states.get("pending"), None);
    let again = accept(&memory, home.record.id).await;
    assert_eq!((again.accepted.len(), again.skipped), (0, vec![home.record.id]));
}

pub(crate) async fn an_accepted_fact_supersedes_and_a_pending_one_does_not(test_db: TestDatabase) {
    let memory = open_rules(&test_db, "").await;
    say(&memory, 1, "I live in Porto.").await;
    drop(memory);
    let memory = open_rules(&test_db, "facts=review").await;
    say(&memory, 3, "I live in Lisbon now.").await;
    let lisbon = the_waiting(&memory).await;
    assert_eq!(values(&memory).await, ["Porto"]);
    say(&memory, 2, "I live in Braga.").await;
    let braga = waiting(&memory).await.into_iter().find(|record| record.text.contains("Braga")).unwrap();
    assert_eq!(accept(&memory, lisbon.id).await.accepted, [lisbon.id]);
    assert_eq!(values(&memory).await, ["Lisbon"]);
    let history = memory.facts(&lin()).history().await.unwrap();
    assert_eq!(history.len(), 2, "the pending fact never held");
    assert_eq!(history[0].superseded_by, Some(lisbon.id));
    // A fact that was said earlier and is accepted later is superseded at once.
    assert_eq!(accept(&memory, braga.id).await.accepted, [braga.id]);
    assert_eq!(values(&memory).await, ["Lisbon"]);
    let history = memory.facts(&lin()).history().await.unwrap();
    let stated: Vec<&str> = history.iter().map(|fact| fact.value.as_str()).collect();
    assert_eq!(stated, ["Porto", "Braga", "Lisbon"]);
    assert_eq!(history[0].superseded_by, Some(braga.id));
}

pub(crate) async fn a_rejected_fact_stays_rejected_until_it_is_restored(test_db: TestDatabase) {
    let memory = open_rules(&test_db, "facts=review").await;
    say(&memory, 1, "I live in Porto.").await;
    let fact = the_waiting(&memory).await;
    memory.admin().requeue_enrichment(&lin()).await.unwrap();
    drain(&memory).await;
    assert_eq!(the_waiting(&memory).await, fact, "the same turn gives the same pending fact");
    let rejection = memory.review().reject(&lin(), &[fact.id], "only a visit").await.unwrap();
    assert_eq!(rejection.records, [fact.id]);
    for _ in 0..2 {
        memory.admin().requeue_enrichment(&lin()).await.unwrap();
        drain(&memory).await;
        assert!(waiting(&memory).await.is_empty() && values(&memory).await.is_empty());
    }
    assert_eq!(accept(&memory, fact.id).await.skipped, [fact.id]);
    assert_eq!(memory.history().retractions(&lin(), 9).await.unwrap()[0].reason, "only a visit");
    assert_eq!(memory.history().restore(&lin(), rejection.id).await.unwrap(), 1);
    let restored = the_waiting(&memory).await;
    assert_eq!((restored.id, ReviewSource::of(&restored)), (fact.id, Some(ReviewSource::RuleFacts)));
    assert_eq!(restored.metadata.get(review_keys::REJECTED), None);
    accept(&memory, fact.id).await;
    assert_eq!(values(&memory).await, ["Porto"]);
    let none = memory.review().reject(&lin(), &[fact.id], "too late").await.unwrap();
    assert!(none.records.is_empty(), "an accepted memory is retracted, not rejected");
}

pub(crate) async fn a_rejected_source_stores_nothing(test_db: TestDatabase) {
    let options = EnrichmentOptions::rules().unwrap().with_trigger(SummaryTrigger::every_turns(2)).with_profile(2);
    let memory = open(&test_db, "all=reject", options).await;
    say(&memory, 1, "I live in Porto.").await;
    say(&memory, 2, "I'm allergic to walnuts.").await;
    let stats = memory.stats(&lin()).await.unwrap();
    assert_eq!(stats.kinds.keys().collect::<Vec<_>>(), ["turn"]);
    let record = Record::new(lin(), Kind::NOTE, "an import", memory.settings().clock().as_ref());
    let import = memory.import(&lin(), stream::iter([record.clone()])).run().await.unwrap_err();
    assert_eq!(import.kind(), ErrorKind::Unauthorized, "{import}");
    let store = memory.review().store_from(ReviewSource::Imports, &lin(), vec![record], PutMode::Upsert).await;
    assert_eq!(store.unwrap_err().kind(), ErrorKind::Unauthorized);
    let tool = memory.review().remember_from(ReviewSource::Tools, &lin(), Turn::note("a tool")).await.unwrap_err();
    assert_eq!(tool.kind(), ErrorKind::Unauthorized, "{tool}");
    assert_eq!(memory.stats(&lin()).await.unwrap().records, 2);
}

pub(crate) async fn an_edited_fact_counts_with_its_new_value(test_db: TestDatabase) {
    let memory = open_rules(&test_db, "facts=review").await;
    let turn = say(&memory, 1, "I live in Porto.").await;
    let fact = the_waiting(&memory).await;
    let new = memory.review().accept_edited(&lin(), fact.id, "I live in Braga").await.unwrap();
    drain(&memory).await;
    let known = memory.facts(&lin()).await.unwrap();
    assert_eq!((known.len(), known[0].id, known[0].value.as_str()), (1, new, "Braga"), "{known:?}");
    assert_eq!((known[0].valid_from, known[0].evidence[0].record), (fact.occurred_at, turn));
    assert!(recalled_texts(&memory, &lin(), "Braga").await.iter().any(|text| text.contains("Braga")));
    memory.admin().requeue_enrichment(&lin()).await.unwrap();
    drain(&memory).await;
    assert!(waiting(&memory).await.is_empty(), "the original is not extracted again");
    assert_eq!(state(&memory, fact.id).await, Some(State::Revoked));
    let error = memory.review().accept_edited(&lin(), fact.id, "Lisbon").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    let rejection = memory.history().retractions(&lin(), 9).await.unwrap().remove(0);
    assert_eq!(memory.history().restore(&lin(), rejection.id).await.unwrap(), 1);
    // `update` of a pending memory accepts it, too. A value is enough.
    let other = memory.update(&lin(), fact.id, "Lisbon").await.unwrap();
    assert_ne!(other, new);
    memory.forget(&lin(), turn).await.unwrap();
    assert!(memory.facts(&lin()).history().await.unwrap().is_empty(), "edited facts are deleted with their source");
    assert_eq!((state(&memory, new).await, state(&memory, fact.id).await), (None, None));
}

pub(crate) async fn pending_facts_follow_their_turn(test_db: TestDatabase) {
    let memory = open_rules(&test_db, "facts=review").await;
    let turn = say(&memory, 1, "I live in Porto.").await;
    let fact = the_waiting(&memory).await;
    let retraction = memory.history().retract(&lin(), &[turn], "wrong").await.unwrap();
    assert_eq!(state(&memory, fact.id).await, Some(State::Revoked));
    memory.history().restore(&lin(), retraction.id).await.unwrap();
    assert_eq!(the_waiting(&memory).await.id, fact.id);
    say(&memory, 1, "I live in Braga.").await;
    let edited = the_waiting(&memory).await;
    assert!(edited.text.contains("Braga"), "the fact of the former text is gone: {edited:?}");
    memory.forget(&lin(), turn).await.unwrap();
    assert!(waiting(&memory).await.is_empty());
    assert_eq!(state(&memory, edited.id).await, None);
}

pub(crate) async fn summaries_wait_and_are_not_written_twice(test_db: TestDatabase) {
    let options = || EnrichmentOptions::rules().unwrap().with_trigger(SummaryTrigger::every_turns(2));
    let memory = open(&test_db, "summaries=review", options()).await;
    say(&memory, 1, "The ferry to Berlengas leaves at nine on Sunday.").await;
    say(&memory, 2, "周日九点的船去贝伦加斯群岛。").await;
    let summary = the_waiting(&memory).await;
    assert_eq!((&summary.kind, ReviewSource::of(&summary)), (&Kind::SUMMARY, Some(ReviewSource::Summaries)));
    let again = async || {
        memory.admin().requeue_enrichment(&lin()).await.unwrap();
        drain(&memory).await;
        waiting(&memory).await
    };
    assert_eq!(again().await, std::slice::from_ref(&summary));
    let rejection = memory.review().reject(&lin(), &[summary.id], "").await.unwrap();
    assert_eq!(again().await, [], "the turns are not summarized again");
    assert_eq!(memory.history().restore(&lin(), rejection.id).await.unwrap(), 1);
    assert_eq!(again().await.len(), 1, "it waits again");
    let text = "On Sunday the ferry leaves at nine for the islands.";
    assert_eq!(memory.review().accept_edited(&lin(), summary.id, text).await.unwrap(), summary.id);
    drain(&memory).await;
    let stored = memory.get(&lin(), summary.id).await.unwrap().unwrap();
    assert_eq!((stored.state, stored.text.as_str()), (State::Active, text));
    assert_eq!(Edit::all_of(&stored)[0].text, summary.text);
    assert!(recalled_texts(&memory, &lin(), "When does the ferry leave?").await.contains(&text.to_owned()));
    assert_eq!(again().await, []);
    assert_eq!(memory.stats(&lin()).await.unwrap().kinds["summary"], 1);
}

pub(crate) async fn an_accepted_profile_replaces_the_former_one(test_db: TestDatabase) {
    let options = || EnrichmentOptions::default().with_profile(2);
    let memory = open(&test_db, "profiles=review", options()).await;
    say(&memory, 1, "Call me Ray.").await;
    say(&memory, 2, "The boots are wet again.").await;
    let first = the_waiting(&memory).await;
    assert_eq!(first.kind, Kind::PROFILE);
    accept(&memory, first.id).await;
    say(&memory, 3, "Rain all day over the harbour.").await;
    say(&memory, 4, "The sun came out over Porto.").await;
    let second = the_waiting(&memory).await;
    assert_ne!(second.id, first.id);
    assert_eq!(state(&memory, first.id).await, Some(State::Active), "the pending one replaces nothing");
    say(&memory, 5, "Good morning to the gulls.").await;
    say(&memory, 6, "Good night to the gulls.").await;
    let third = the_waiting(&memory).await;
    assert_eq!(third.id, second.id, "a newer version of the pending profile");
    assert!(third.text.contains("gulls"), "{}", third.text);
    let rejection = memory.review().reject(&lin(), &[third.id], "").await.unwrap();
    say(&memory, 7, "One more message.").await;
    assert_eq!(waiting(&memory).await, [], "there are not enough new messages");
    memory.history().restore(&lin(), rejection.id).await.unwrap();
    accept(&memory, third.id).await;
    assert_eq!(state(&memory, first.id).await, Some(State::Superseded));
    assert_eq!(state(&memory, third.id).await, Some(State::Active));
}

pub(crate) async fn imports_wait_and_can_be_repeated(test_db: TestDatabase) {
    let memory = open_rules(&test_db, "imports=review").await;
    let texts = ["I live in Porto.", "我对海鲜过敏。", "The boots are wet.", "Rain all day."];
    let turns = || (1..).zip(texts).map(|(n, text)| message(n, text)).collect::<Vec<_>>();
    let import = async || {
        let report = memory.import(&story(None), stream::iter(turns())).run().await.unwrap();
        drain(&memory).await;
        (report.created, report.updated, report.unchanged, report.pending)
    };
    assert_eq!(import().await, (4, 0, 0, 4));
    assert!(recalled_texts(&memory, &lin(), "Porto").await.is_empty());
    assert_eq!(import().await, (0, 0, 4, 0));
    let [home, allergy, boots, rain] = waiting(&memory).await.try_into().unwrap();
    assert_eq!(home.text, texts[0]);
    let report = memory.review().accept(&lin(), &[home.id, allergy.id, home.id]).await.unwrap();
    assert_eq!(report.accepted, [home.id, allergy.id]);
    drain(&memory).await;
    assert_eq!(values(&memory).await, ["Porto", "海鲜"], "accepted turns are processed like new ones");
    memory.review().reject(&lin(), &[boots.id], "").await.unwrap();
    memory.review().accept_edited(&lin(), rain.id, "Sun all day.").await.unwrap();
    drain(&memory).await;
    let before = [home.id, allergy.id, boots.id, rain.id];
    let before = memory.get_all(&lin(), &before).await.unwrap();
    // As without a review, the file replaces the labels that were extracted from the accepted turns.
    assert_eq!(import().await, (0, 2, 2, 0));
    assert!(waiting(&memory).await.is_empty());
    let after = memory.get_all(&lin(), &[home.id, allergy.id, boots.id, rain.id]).await.unwrap();
    let texts_and_states = |records: &[Option<Record>]| {
        records.iter().flatten().map(|record| (record.text.clone(), record.state)).collect::<Vec<_>>()
    };
    assert_eq!(texts_and_states(&after), texts_and_states(&before));
    let changed = message(1, "I live in Lisbon.");
    let report = memory.import(&story(None), stream::iter([changed])).run().await.unwrap();
    assert_eq!((report.updated, report.pending), (1, 1), "another text waits again");
    // Records with a state keep it: exported ones that wait, and superseded ones.
    let mut superseded = derived_record(&lin(), Kind::NOTE, "an old note", &[]);
    superseded.state = State::Superseded;
    let report = memory.import(&lin(), stream::iter([superseded.clone()])).run().await.unwrap();
    assert_eq!((report.created, report.pending), (1, 0));
    assert_eq!(state(&memory, superseded.id).await, Some(State::Superseded));
}

pub(crate) async fn statements_of_tools_wait(test_db: TestDatabase) {
    let memory = open_rules(&test_db, "tools=review").await;
    let note = Turn::note("Ray is allergic to walnuts");
    let id = memory.review().remember_from(ReviewSource::Tools, &lin(), note).await.unwrap();
    let own = memory.remember(&lin(), Turn::note("Ray lives in Porto")).await.unwrap();
    drain(&memory).await;
    assert_eq!(the_waiting(&memory).await.id, id);
    assert_eq!(recalled_texts(&memory, &lin(), "Ray").await, ["Ray lives in Porto"]);
    assert_eq!(state(&memory, own).await, Some(State::Active));
    accept(&memory, id).await;
    assert_eq!(recalled_texts(&memory, &lin(), "Ray").await.len(), 2);
}

pub(crate) async fn a_review_reaches_only_its_scope(test_db: TestDatabase) {
    let memory = open_rules(&test_db, "facts=review").await;
    say(&memory, 1, "I live in Porto.").await;
    let fact = the_waiting(&memory).await;
    let mo = Scope::user("mo").unwrap();
    let other_session = lin().with_session("other").unwrap();
    for scope in [&mo, &other_session] {
        assert_eq!(memory.review().pending(scope, &ReviewQuery::default()).await.unwrap().total, 0);
        assert_eq!(memory.review().accept(scope, &[fact.id]).await.unwrap().skipped, [fact.id]);
        assert!(memory.review().reject(scope, &[fact.id], "").await.unwrap().records.is_empty());
        let edit = memory.review().accept_edited(scope, fact.id, "Lisbon").await.unwrap_err();
        assert_eq!(edit.kind(), ErrorKind::NotFound);
    }
    assert_eq!(the_waiting(&memory).await, fact);
    let tenant = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap();
    assert_eq!(memory.review().accept(&tenant, &[fact.id]).await.unwrap().accepted, [fact.id]);
    assert_eq!(values(&memory).await, ["Porto"]);
}

pub(crate) async fn filters_restrict_the_list(test_db: TestDatabase) {
    let options = EnrichmentOptions::rules().unwrap().with_trigger(SummaryTrigger::every_turns(2));
    let memory = open(&test_db, "facts=review,summaries=review", options).await;
    say(&memory, 1, "I live in Porto.").await;
    say(&memory, 2, "I'm allergic to walnuts.").await;
    let all = waiting(&memory).await;
    assert_eq!(all.len(), 3, "{all:?}");
    let count = async |query: ReviewQuery| memory.review().pending(&lin(), &query).await.unwrap().total;
    let query = ReviewQuery::default;
    assert_eq!(count(query().from_source(ReviewSource::Summaries)).await, 1);
    assert_eq!(count(query().from_source(ReviewSource::ModelFacts)).await, 0);
    assert_eq!(count(query().of_kind(Kind::FACT)).await, 2);
    let first = all[0].occurred_at;
    assert_eq!(count(query().until(first)).await, 0);
    assert_eq!(count(query().since(first)).await, 3);
    assert_eq!(count(query().of_kind(Kind::FACT).since(all[2].occurred_at)).await, 1);
}

pub(crate) async fn two_reviewers_decide_once(test_db: TestDatabase) {
    let memory = open_rules(&test_db, "facts=review").await;
    let other = open_rules(&test_db, "facts=review").await;
    for n in 1..=8 {
        say(&memory, n, &format!("I'm allergic to {}.", ["walnuts", "shrimp", "pollen", "dust"][n as usize % 4])).await;
    }
    let ids: Vec<RecordId> = waiting(&memory).await.iter().map(|record| record.id).collect();
    assert_eq!(ids.len(), 8);
    let user = lin();
    let (review, other) = (memory.review(), other.review());
    let (one, two) = tokio::join!(review.accept(&user, &ids), other.accept(&user, &ids));
    let (one, two) = (one.unwrap(), two.unwrap());
    let mut accepted = [one.accepted.clone(), two.accepted.clone()].concat();
    accepted.sort();
    let mut expected = ids.clone();
    expected.sort();
    assert_eq!(accepted, expected, "each is accepted once: {one:?} {two:?}");
    assert_eq!(values(&memory).await.len(), 4, "repeated statements are merged");
}

pub(crate) async fn a_forgotten_text_is_not_accepted(test_db: TestDatabase) {
    let memory = open_rules(&test_db, "").await;
    let mut derived = derived_record(&lin(), Kind::NOTE, "The gate code is red.", &[]);
    derived.state = State::Pending;
    memory.store(&lin(), vec![derived.clone()], PutMode::Create).await.unwrap();
    let mut red = derived_record(&lin(), Kind::NOTE, "The gate code is red.", &[]);
    red.trust = memory_engine::Trust::User;
    memory.store(&lin(), vec![red.clone()], PutMode::Create).await.unwrap();
    memory.forget(&lin(), red.id).await.unwrap();
    let report = memory.review().accept(&lin(), &[derived.id]).await.unwrap();
    assert_eq!((report.accepted.len(), report.blocked), (0, vec![derived.id]));
    assert_eq!(state(&memory, derived.id).await, Some(State::Pending));
    let error = memory.review().accept_edited(&lin(), derived.id, "The gate code is  RED.").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert_eq!(memory.review().accept_edited(&lin(), derived.id, "The gate is open.").await.unwrap(), derived.id);
}

pub(crate) async fn model_facts_have_a_mode_of_their_own(test_db: TestDatabase) {
    let memory = open_rules(&test_db, "model_facts=review").await;
    assert_eq!(memory.settings().review_policy().mode(ReviewSource::ModelFacts), ReviewMode::Review);
    say(&memory, 1, "I live in Porto.").await;
    assert_eq!((waiting(&memory).await, values(&memory).await), (vec![], vec!["Porto".to_owned()]));
}
