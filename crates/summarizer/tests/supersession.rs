//! Supersession of facts: contradictory statements, and properties of every set of facts.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::{collections::BTreeMap, time::Duration};

use jiff::tz::TimeZone;
use memory_engine_core::{Kind, ManualClock, Record, RecordId, Role, Scope, State, Timestamp};
use memory_engine_summarizer::{Change, ChangeKind, ExtractedFact, RuleFacts, fact_keys, reconcile, render};
use proptest::prelude::*;
use serde_json::json;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn day(n: u32) -> Timestamp {
    "2024-05-01T10:00:00Z".parse::<Timestamp>().unwrap().after(DAY * n)
}

fn scope() -> Scope {
    Scope::user("lin").unwrap()
}

thread_local! {
    static RULES: RuleFacts = RuleFacts::built_in().unwrap();
}

/// Returns the facts of one sentence that is said on day `n`.
fn facts_on(n: u32, text: &str) -> Vec<Record> {
    let mut turn = Record::new(scope(), Kind::TURN, text, &ManualClock::new(day(n)));
    turn.id = RecordId::named(&scope(), &format!("{n} {text}"));
    turn.role = Some(Role::USER);
    let facts = RULES.with(|rules| rules.facts(&[turn]));
    assert!(!facts.is_empty(), "{text}");
    facts.iter().map(|fact| fact.to_record(&scope(), day(n))).collect()
}

fn add_facts(records: &mut Vec<Record>, new: &[Record]) -> Vec<Change> {
    let changes = reconcile(new, records);
    for change in &changes {
        change.apply(records);
    }
    changes
}

/// Returns the final facts: the valid ones and the former ones, as they are displayed.
fn rendered_facts(records: &[Record], n: u32) -> (Vec<String>, Vec<String>) {
    let merged = |record: &&Record| !record.metadata.contains_key(fact_keys::MERGED_INTO);
    let mut sorted: Vec<&Record> = records.iter().filter(merged).collect();
    sorted.sort_by_key(|record| record.position());
    let rendered = |record: &&&Record| render(record, day(n), &TimeZone::UTC);
    let holds = |record: &&&Record| record.state == State::Active;
    (
        sorted.iter().filter(holds).map(|r| rendered(&r)).collect(),
        sorted.iter().filter(|r| !holds(r)).map(|r| rendered(&r)).collect(),
    )
}

#[test]
fn an_end_is_stored_only_with_the_fact_that_it_ends() {
    let mut records = Vec::new();
    assert!(add_facts(&mut records, &facts_on(0, "I gave up falconry")).is_empty());
    add_facts(&mut records, &facts_on(1, "I play golf every week"));
    add_facts(&mut records, &facts_on(1, "I don't like golf"));
    add_facts(&mut records, &facts_on(2, "I gave up golf"));
    let states: BTreeMap<String, State> =
        records.iter().filter_map(|r| Some((ExtractedFact::from_record(r)?.slot, r.state))).collect();
    let expected = [("ended.quit", State::Superseded), ("habit", State::Superseded), ("like", State::Active)];
    assert_eq!(states, expected.map(|(slot, state)| (slot.to_owned(), state)).into());
}

#[test]
fn m10_the_last_statement_supersedes_contradicting_ones() {
    // Statements on consecutive days; the facts that hold then; the facts that held before.
    type Case = (&'static [&'static str], &'static [&'static str], &'static [&'static str]);
    let table: &[Case] = &[
        // Replacement.
        (
            &["I live in Boston", "I just moved to Denver"],
            &["The user lives in Denver."],
            &["The user lived in Boston until 2024-05-02."],
        ),
        (&["我住在上海", "我搬到深圳了"], &["用户住在深圳。"], &["用户曾住在上海，直到2024-05-02。"]),
        (&["叫我小雨吧", "以后叫我阿泽"], &["用户希望被称呼为阿泽。"], &["用户曾希望被称呼为小雨，直到2024-05-02。"]),
        // Polarity.
        (
            &["I love coffee", "I don't like coffee anymore"],
            &["The user does not like coffee."],
            &["The user liked coffee until 2024-05-02."],
        ),
        (&["我不喜欢咖啡", "我喜欢咖啡"], &["用户喜欢咖啡。"], &["用户不喜欢咖啡，直到2024-05-02。"]),
        // Retraction of one value; the others stay.
        (
            &["我喜欢爬山和游泳", "我不再喜欢爬山了"],
            &["用户喜欢游泳。", "用户不喜欢爬山。"],
            &["用户曾喜欢爬山，直到2024-05-02。"],
        ),
        (
            &["I'm allergic to nuts and cats", "I'm not allergic to cats"],
            &["The user is allergic to nuts.", "The user is not allergic to cats."],
            &["The user was held to be allergic to cats until 2024-05-02."],
        ),
        // "The allergy" is the only one, or it is not clear which one.
        (
            &["I'm allergic to kiwis", "My allergy has cleared up"],
            &["The user said that the allergy is gone."],
            &["The user was held to be allergic to kiwis until 2024-05-02."],
        ),
        (&["我对榴莲过敏", "过敏已经好了"], &["用户说过敏好了。"], &["用户曾被记作对榴莲过敏，直到2024-05-02。"]),
        (&["我对榴莲和桃子过敏", "过敏已经好了"], &["用户对榴莲过敏。", "用户对桃子过敏。", "用户说过敏好了。"], &[]),
        // The partner's name ends with the relationship.
        (
            &["My girlfriend is called Nadia", "I broke up with my girlfriend"],
            &["The user has no girlfriend any more.", "The user is single."],
            &["The user's girlfriend was called Nadia until 2024-05-02."],
        ),
        // A retraction of everything, and a new statement.
        (
            &["I work at Google", "I quit my job", "I work at Tesla"],
            &["The user has left the job.", "The user works at Tesla."],
            &["The user worked at Google until 2024-05-02.", "The user has left the workplace until 2024-05-03."],
        ),
        // Partial change: only the home changes.
        (
            &["I live in Boston", "I work as a nurse", "I just moved to Denver"],
            &["The user works as a nurse.", "The user lives in Denver."],
            &["The user lived in Boston until 2024-05-03."],
        ),
        // A more exact value supersedes, a less exact one does not.
        (&["我住在上海", "我住在上海浦东"], &["用户住在上海浦东。"], &["用户曾住在上海，直到2024-05-02。"]),
        (&["我住在上海浦东", "我住在上海"], &["用户住在上海浦东。"], &[]),
        // A repeated fact is merged.
        (&["I'm allergic to peanuts", "I'm allergic to the peanut"], &["The user is allergic to peanuts."], &[]),
        // Appointments are moved and called off. Two of a kind exist side by side.
        (
            &["我明天面试", "面试改到周五了"],
            &["用户2024-05-03有面试。"],
            &["用户曾安排2024-05-02面试，直到2024-05-02。", "用户原定的面试取消或改期了。"],
        ),
        (&["我周五面试", "我下周三面试"], &["用户2024-05-03有面试。", "用户2024-05-08有面试。"], &[]),
    ];
    for (texts, valid, former) in table {
        let mut records = Vec::new();
        for (text, n) in texts.iter().zip(0..) {
            add_facts(&mut records, &facts_on(n, text));
        }
        let (now, before) = rendered_facts(&records, 0);
        assert_eq!(now, *valid, "{texts:?}");
        let before: Vec<&str> =
            before.iter().map(String::as_str).filter(|rendered| !rendered.contains("取消或改期了，直到")).collect();
        let former: Vec<&str> = former.iter().copied().filter(|rendered| !rendered.contains("取消或改期")).collect();
        assert_eq!(before, former, "{texts:?}");
    }
}

#[test]
fn a_bounded_value_supersedes_no_unbounded_one() {
    let mut records = Vec::new();
    add_facts(&mut records, &facts_on(0, "我住在上海"));
    add_facts(&mut records, &facts_on(1, "我这周在北京出差"));
    assert!(records.iter().all(|record| record.state == State::Active));
    let stay = records.iter().find(|record| record.metadata[fact_keys::SLOT] == "staying").unwrap();
    assert_eq!(render(stay, day(2), &TimeZone::UTC), "用户正在北京。");
    assert!(render(stay, day(9), &TimeZone::UTC).starts_with("用户曾在北京，直到2024-05-0"));
}

#[test]
fn late_older_facts_are_stored_as_superseded() {
    let mut records = Vec::new();
    add_facts(&mut records, &facts_on(5, "I live in Denver"));
    let changes = add_facts(&mut records, &facts_on(1, "I live in Boston"));
    assert_eq!(changes.len(), 1);
    assert!(matches!(changes[0].what, ChangeKind::Supersede { valid_until, .. } if valid_until == day(5)));
    assert!(changes[0].before.is_none());
    assert_eq!(rendered_facts(&records, 5).0, ["The user lives in Denver."]);
}

#[test]
fn every_change_can_be_undone() {
    let mut records = Vec::new();
    add_facts(&mut records, &facts_on(0, "I love coffee"));
    let before = records.clone();
    let changes = add_facts(&mut records, &facts_on(1, "I don't like coffee anymore"));
    assert_eq!(changes.len(), 2);
    for change in changes.iter().rev() {
        change.undo().apply(&mut records);
    }
    assert_eq!(records, before);
}

#[test]
fn facts_superseded_by_a_deleted_fact_hold_again() {
    let mut records = Vec::new();
    add_facts(&mut records, &facts_on(0, "I live in Boston"));
    let newer = facts_on(1, "I live in Denver");
    add_facts(&mut records, &newer);
    records.retain(|record| record.id != newer[0].id);
    let changes = add_facts(&mut records, &[]);
    assert_eq!(changes[0].what, ChangeKind::Reopen);
    assert_eq!(rendered_facts(&records, 1).0, ["The user lives in Boston."]);
}

#[test]
fn revoked_facts_stay_revoked_and_supersede_nothing() {
    let mut records = facts_on(0, "I live in Boston");
    let mut wrong = facts_on(1, "I live in Denver").remove(0);
    wrong.state = State::Revoked;
    records.push(wrong.clone());
    assert!(add_facts(&mut records, &facts_on(1, "I live in Denver")).is_empty());
    assert_eq!(records[1], wrong);
}

#[test]
fn a_fact_that_was_retired_by_hand_revives_no_older_one() {
    for (older, wrong, repeated, again) in [
        ("我在腾讯工作", "我在华为工作", "我在华为工作", "我在腾讯工作"),
        ("I live in Porto", "I live in Lisbon", "I live in Lisbon", "I live in Porto"),
    ] {
        let mut records = Vec::new();
        for (text, n) in [older, wrong, repeated].iter().zip(0..) {
            add_facts(&mut records, &facts_on(n, text));
        }
        let retired = records.iter_mut().find(|record| record.state == State::Active).unwrap();
        retired.state = State::Revoked;
        let former = json!([{ "state": State::Active, "since": day(2), "until": day(3) }]);
        retired.metadata.insert("former_states".into(), former);
        assert!(reconcile(&[], &records).is_empty(), "{older}: nothing holds again");
        // A later statement counts, also of the value that was retired.
        for text in [again, wrong] {
            let mut records = records.clone();
            add_facts(&mut records, &facts_on(4, text));
            let (now, _) = rendered_facts(&records, 4);
            assert_eq!(now.len(), 1, "{text}: {now:?}");
        }
    }
}

#[test]
fn a_subject_that_is_taken_back_ends_its_facts() {
    for (said, taken_back, left) in [
        ("I'm allergic to walnuts and cats", "Forget what I said about walnuts", "The user is allergic to cats."),
        ("I work at Google and live in Leeds", "Never mind what I told you about my job", "The user lives in Leeds."),
        ("我喜欢咖啡和爬山", "忘掉我说的咖啡", "用户喜欢爬山。"),
    ] {
        let mut records = Vec::new();
        add_facts(&mut records, &facts_on(0, said));
        add_facts(&mut records, &facts_on(1, taken_back));
        let (now, _) = rendered_facts(&records, 1);
        assert_eq!(now, [left], "{said}");
    }
}

#[test]
fn a_wish_is_ended_or_replaced_and_its_end_does_not_hold() {
    for (texts, valid, former) in [
        (
            ["Never use npm here.", "Always answer in English.", "Never use yarn here.", "You can use npm again."],
            ["The user wishes: Always answer in English.", "The user wishes: Never use yarn here."],
            [
                "The user had the wish “Never use npm here” until 2024-05-04.",
                "The user ended the wish about this: npm.",
            ],
        ),
        (
            ["以后用英文回答我", "每次都先跑测试", "以后用中文回答我", "不用再写注释了"],
            ["用户的要求：每次都先跑测试。", "用户的要求：以后用中文回答我。"],
            ["用户曾要求“以后用英文回答我”，直到2024-05-03。", "用户不再有这个要求：写注释。"],
        ),
    ] {
        let mut records = Vec::new();
        for (text, n) in texts.iter().zip(0..) {
            add_facts(&mut records, &facts_on(n, text));
        }
        let (now, before) = rendered_facts(&records, 4);
        assert_eq!((now, before), (valid.map(str::to_owned).to_vec(), former.map(str::to_owned).to_vec()), "{texts:?}");
    }
}

#[test]
fn facts_of_other_agents_are_independent() {
    let mut records = facts_on(0, "I live in Boston");
    let mut other = facts_on(1, "I live in Denver").remove(0);
    other.scope = scope().with_agent("aicy").unwrap();
    let changes = add_facts(&mut records, &[other]);
    assert_eq!((changes.len(), changes[0].what.clone()), (1, ChangeKind::Add));
    let mut session = facts_on(2, "I live in Rome").remove(0);
    session.scope = scope().with_session("s2").unwrap();
    assert!(
        add_facts(&mut records, &[session]).iter().any(|change| matches!(change.what, ChangeKind::Supersede { .. }))
    );
}

/// Sentences about slots with one value and with many.
const SENTENCES: &[&str] = &[
    "I live in Boston",
    "I live in Denver",
    "I no longer live in Boston",
    "我住在上海",
    "我住在上海浦东",
    "I love coffee",
    "I hate coffee",
    "I love tea",
    "我喜欢爬山",
    "我不再喜欢爬山了",
    "I work at Google",
    "I quit my job",
    "I work as a nurse",
    "I'm allergic to nuts",
    "I'm not allergic to nuts",
    "我明天面试",
    "面试改到周五了",
    "面试取消了",
    "叫我小雨吧",
    "My name is Sam",
    "我这周在北京出差",
    "Always answer in English.",
    "From now on answer in German.",
    "You no longer need to answer in German.",
    "Never use npm here.",
    "You can use npm again.",
    "以后回答简短一点",
    "不用再回答那么简短了",
    "Forget what I said about npm",
];

fn statements_on_days() -> impl Strategy<Value = Vec<(u32, usize)>> {
    proptest::collection::vec((0_u32..20, 0..SENTENCES.len()), 1..14)
}

/// Returns the facts of each statement, without the ends of something that they name: whether one is stored depends on
/// the facts that are there.
fn records_of(statements: &[(u32, usize)]) -> Vec<Vec<Record>> {
    let is_no_end =
        |record: &Record| ExtractedFact::from_record(record).is_some_and(|fact| !fact.slot.starts_with("ended."));
    let facts = statements.iter().map(|(n, sentence)| facts_on(*n, SENTENCES[*sentence]));
    facts.map(|facts| facts.into_iter().filter(is_no_end).collect()).collect()
}

fn by_id(records: &[Record]) -> BTreeMap<RecordId, Record> {
    records.iter().map(|record| (record.id, record.clone())).collect()
}

fn shuffle_key(id: RecordId, seed: u64) -> u64 {
    id.as_bytes().iter().fold(seed, |hash, byte| hash.wrapping_mul(31) ^ u64::from(*byte))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn reconciliation_is_order_independent_and_idempotent(
        statements in statements_on_days(), seed in any::<u64>(),
    ) {
        let groups = records_of(&statements);
        let mut one = Vec::new();
        for group in &groups {
            add_facts(&mut one, group);
        }
        let mut shuffled = groups.clone();
        shuffled.sort_by_key(|group| shuffle_key(group[0].id, seed));
        let mut other = Vec::new();
        for group in &shuffled {
            add_facts(&mut other, group);
        }
        let mut at_once = Vec::new();
        let all: Vec<Record> = groups.iter().flatten().cloned().collect();
        add_facts(&mut at_once, &all);
        prop_assert_eq!(by_id(&one), by_id(&other));
        prop_assert_eq!(by_id(&one), by_id(&at_once));
        prop_assert!(reconcile(&all, &one).is_empty());
        prop_assert!(one.iter().all(|record| record.validate().is_ok()));
    }

    #[test]
    fn facts_of_other_slots_and_subjects_are_unchanged(
        statements in statements_on_days(), last in (20_u32..30, 0..SENTENCES.len()),
    ) {
        let mut records = Vec::new();
        for mut group in records_of(&statements) {
            if group[0].id.as_bytes()[0] % 3 == 0 {
                for record in &mut group {
                    record.metadata.insert(fact_keys::SUBJECT.into(), "Mo".into());
                }
            }
            add_facts(&mut records, &group);
        }
        let before = by_id(&records);
        let new = facts_on(last.0, SENTENCES[last.1]);
        let key = |record: &Record| ExtractedFact::from_record(record).map(|fact| (fact.subject, fact.slot)).unwrap();
        let touched: Vec<_> = new.iter().map(key).collect();
        // "Forget what I said about npm" ends the facts of every slot that have this value.
        let is_withdrawal = touched.iter().any(|(_, slot)| slot == "withdrawn");
        for change in add_facts(&mut records, &new) {
            prop_assert!(is_withdrawal || touched.contains(&key(change.after.as_ref().unwrap())));
        }
        for (id, record) in before {
            let after = records.iter().find(|after| after.id == id).unwrap();
            prop_assert!(is_withdrawal || touched.contains(&key(&record)) || *after == record);
            // Nothing is overwritten: the text, the evidence and the time stay.
            prop_assert_eq!(&after.text, &record.text);
            prop_assert_eq!(&after.derived_from, &record.derived_from);
            prop_assert_eq!(after.occurred_at, record.occurred_at);
        }
    }

    #[test]
    fn a_single_slot_holds_one_value(statements in statements_on_days()) {
        let mut records = Vec::new();
        for group in records_of(&statements) {
            add_facts(&mut records, &group);
        }
        let homes = records.iter().filter(|record| {
            record.state == State::Active
                && record.metadata[fact_keys::SLOT] == "home"
                && record.metadata[fact_keys::POLARITY] == "positive"
        });
        prop_assert!(homes.count() <= 1);
    }
}
