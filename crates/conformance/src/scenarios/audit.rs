//! The audit log: one chain of entries for each tenant.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use futures::future::join_all;
use memory_engine_core::{
    Clock, ErrorKind, RecordId, Scope, Timestamp,
    audit::{
        Actor, AuditAction, AuditEntry, AuditEvent, AuditHash, AuditHead, AuditLog, AuditProblem, AuditQuery,
        verify_chain,
    },
};

use crate::{
    World,
    fixtures::{LARGE_LIMIT, id, lin, mo, session},
};

const TENANT: &str = Scope::DEFAULT_TENANT;

fn tenant() -> Scope {
    Scope::tenant_wide(TENANT).unwrap()
}

/// The log. The runner ignores these scenarios in a world without one.
fn log(world: &World) -> Arc<dyn AuditLog> {
    world.records.audit_log().unwrap()
}

fn event(key: &str, action: AuditAction, scope: Scope, records: &[u8]) -> AuditEvent {
    let ids = records.iter().map(|n| id(*n)).collect();
    AuditEvent::new(Actor::new(Some(key), None), action, "test", scope).with_records(ids)
}

fn write(n: u8) -> AuditEvent {
    event("laptop", AuditAction::Write, lin(), &[n])
}

async fn append(log: &dyn AuditLog, events: &[AuditEvent]) -> Vec<u64> {
    log.append(TENANT, events.to_vec()).await.unwrap()
}

async fn all(log: &dyn AuditLog, scope: &Scope) -> Vec<AuditEntry> {
    log.read(scope, &AuditQuery::oldest(LARGE_LIMIT)).await.unwrap().entries
}

async fn sequences(log: &dyn AuditLog, query: &AuditQuery) -> Vec<u64> {
    let page = log.read(&tenant(), query).await.unwrap();
    page.entries.iter().map(|entry| entry.sequence).collect()
}

async fn problems(log: &dyn AuditLog, expected: Option<&AuditHead>) -> Vec<AuditProblem> {
    verify_chain(log, TENANT, expected).await.unwrap().problems
}

pub async fn entries_follow_each_other_and_are_read_back(world: &World) {
    let log = log(world);
    assert_eq!(log.chain(TENANT).await.unwrap().head, AuditHead::genesis(TENANT));
    assert_eq!(problems(&*log, None).await, [AuditProblem::NoLog]);
    assert!(!log.is_used().await.unwrap(), "reading does not begin a log");
    assert_eq!(append(&*log, &[write(1), write(2)]).await, [1, 2]);
    assert!(log.is_used().await.unwrap());
    world.clock.advance(Duration::from_secs(5));
    assert_eq!(append(&*log, &[write(3)]).await, [3]);

    let entries = all(&*log, &tenant()).await;
    let previous: Vec<AuditHash> = entries.iter().map(|entry| entry.previous).collect();
    assert_eq!(previous, [AuditHead::genesis(TENANT).hash, entries[0].hash, entries[1].hash]);
    assert_eq!(entries[2].at, world.clock.now());
    assert_eq!(entries[2].event, write(3));
    assert_eq!(log.chain(TENANT).await.unwrap().head, entries[2].head());
    let verification = verify_chain(&*log, TENANT, None).await.unwrap();
    assert_eq!((verification.problems, verification.entries), (Vec::new(), 3));
}

pub async fn every_field_of_an_entry_round_trips(world: &World) {
    let log = log(world);
    let address = session("s ü '%_\\").with_agent("代理").unwrap().with_branch("b").unwrap();
    let ids = (0..AuditEvent::MAX_RECORDS as u64).map(|n| RecordId::from_u64_pair(n, u64::MAX - n)).collect();
    let mut named = event("", AuditAction::Delete, address, &[]).with_records(ids);
    named.actor = Actor::new(Some("密钥 'a'"), Some("claude-code/2.1 (\"x\")"));
    let mut unnamed = AuditEvent::new(Actor::default(), AuditAction::Export, "records.scan", tenant());
    unnamed.count = u64::MAX >> 1;
    let failed = ErrorKind::ALL.map(|error| named.clone().failed(1, error));
    let actions = AuditAction::ALL.map(|action| AuditEvent::new(Actor::engine(), action, "test", tenant()));
    let events: Vec<AuditEvent> = [named, unnamed].into_iter().chain(failed).chain(actions).collect();
    append(&*log, &events).await;
    let stored: Vec<AuditEvent> = all(&*log, &tenant()).await.into_iter().map(|entry| entry.event).collect();
    assert_eq!(stored, events);
    assert_eq!(problems(&*log, None).await, []);
}

pub async fn entries_are_read_within_their_scope(world: &World) {
    let log = log(world);
    let events = [lin(), session("s"), mo(), tenant()].map(|scope| event("laptop", AuditAction::Write, scope, &[1]));
    append(&*log, &events).await;
    let seen =
        async |scope: Scope| -> Vec<u64> { all(&*log, &scope).await.iter().map(|entry| entry.sequence).collect() };
    assert_eq!(seen(tenant()).await, [1, 2, 3, 4]);
    assert_eq!(seen(lin()).await, [1, 2]);
    assert_eq!(seen(session("s")).await, [2]);
    assert_eq!(seen(mo()).await, [3]);
    assert!(seen(Scope::user("li").unwrap()).await.is_empty());
    assert!(seen(Scope::tenant_wide("other").unwrap()).await.is_empty());
}

pub async fn tenants_have_separate_chains(world: &World) {
    let log = log(world);
    let other = Scope::tenant_wide("other").unwrap();
    append(&*log, &[write(1)]).await;
    let sequences = log.append("other", vec![event("laptop", AuditAction::Write, other.clone(), &[1])]).await.unwrap();
    assert_eq!(sequences, [1], "the entries of each tenant are numbered from 1");
    assert_eq!(all(&*log, &tenant()).await.len(), 1);
    let [entry] = all(&*log, &other).await.try_into().unwrap();
    assert_eq!(entry.previous, AuditHead::genesis("other").hash);
    assert!(verify_chain(&*log, "other", None).await.unwrap().is_intact());
    log.prune("other", Timestamp::from_micros(i64::MAX), &Actor::engine()).await.unwrap();
    assert_eq!(all(&*log, &tenant()).await.len(), 1, "pruning is for one tenant");
}

pub async fn queries_select_by_actor_action_record_and_time(world: &World) {
    let log = log(world);
    let start = world.clock.now();
    let mut of_agent = event("laptop", AuditAction::Change, lin(), &[1]);
    of_agent.actor = Actor::new(Some("laptop"), Some("codex"));
    append(&*log, &[write(1), event("phone", AuditAction::Delete, mo(), &[2, 1])]).await;
    world.clock.advance(Duration::from_secs(10));
    append(&*log, &[of_agent, event("lap", AuditAction::Write, lin(), &[3])]).await;
    let end = world.clock.now();

    let query = || AuditQuery::oldest(LARGE_LIMIT);
    assert_eq!(sequences(&*log, &query().with_key("laptop")).await, [1, 3]);
    assert_eq!(sequences(&*log, &query().with_agent("codex")).await, [3]);
    assert_eq!(sequences(&*log, &query().with_action(AuditAction::Write)).await, [1, 4]);
    let two = query().with_action(AuditAction::Write).with_action(AuditAction::Delete);
    assert_eq!(sequences(&*log, &two).await, [1, 2, 4]);
    assert_eq!(sequences(&*log, &query().with_record(id(1))).await, [1, 2, 3]);
    assert!(sequences(&*log, &query().with_record(RecordId::new())).await.is_empty());
    assert_eq!(sequences(&*log, &query().with_since(end)).await, [3, 4]);
    assert_eq!(sequences(&*log, &query().with_until(end)).await, [1, 2]);
    assert!(sequences(&*log, &query().with_since(start).with_until(start)).await.is_empty());
    assert_eq!(sequences(&*log, &query().with_key("laptop").with_record(id(1)).with_since(end)).await, [3]);
}

pub async fn pages_of_entries_are_complete_in_both_orders(world: &World) {
    let log = log(world);
    let events: Vec<AuditEvent> = (1..=7).map(write).collect();
    append(&*log, &events).await;
    for (first, forwards) in [(AuditQuery::oldest(3), true), (AuditQuery::newest(3), false)] {
        let mut seen = Vec::new();
        let mut query = first;
        loop {
            let page = log.read(&lin(), &query).await.unwrap();
            assert!(page.entries.len() <= 3);
            seen.extend(page.entries.iter().map(|entry| entry.sequence));
            match page.next {
                Some(next) => query = query.with_after(Some(next)),
                None => break,
            }
        }
        let expected: Vec<u64> = if forwards { (1..=7).collect() } else { (1..=7).rev().collect() };
        assert_eq!(seen, expected);
    }
    let empty = log.read(&lin(), &AuditQuery::newest(0)).await.unwrap();
    assert_eq!(empty.entries, []);
}

pub async fn an_invalid_event_rejects_its_batch(world: &World) {
    let log = log(world);
    let too_many = write(1).with_records(vec![id(1); AuditEvent::MAX_RECORDS + 1]);
    let elsewhere = event("laptop", AuditAction::Write, Scope::tenant_wide("other").unwrap(), &[1]);
    for invalid in [too_many, elsewhere] {
        let error = log.append(TENANT, vec![write(1), invalid]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
    assert_eq!(all(&*log, &tenant()).await, []);
}

pub async fn concurrent_appends_make_one_chain(world: &World) {
    let (one, two) = (log(world), log(world));
    let appended = join_all((0..16).map(|n| {
        let log = if n % 2 == 0 { &one } else { &two };
        log.append(TENANT, vec![write(n), write(n)])
    }))
    .await;
    let sequences: BTreeSet<u64> = appended.into_iter().flat_map(Result::unwrap).collect();
    assert_eq!(sequences, (1..=32).collect());
    let verification = verify_chain(&*one, TENANT, None).await.unwrap();
    assert_eq!((verification.problems, verification.entries), (Vec::new(), 32));
}

pub async fn a_pruned_chain_verifies_from_its_anchor(world: &World) {
    let log = log(world);
    append(&*log, &[write(1), write(2)]).await;
    let noted = log.chain(TENANT).await.unwrap().head;
    world.clock.advance(Duration::from_secs(60));
    append(&*log, &[write(3)]).await;

    let actor = Actor::new(Some("cli:root"), None);
    let pruned = log.prune(TENANT, world.clock.now(), &actor).await.unwrap();
    assert_eq!((pruned.removed, pruned.anchor), (2, noted));
    let entries = all(&*log, &tenant()).await;
    let [kept, about_pruning] = entries.as_slice() else { panic!("{entries:?}") };
    assert_eq!((kept.sequence, kept.previous), (3, noted.hash));
    assert_eq!((about_pruning.event.action, about_pruning.event.count), (AuditAction::Prune, 2));
    assert_eq!(about_pruning.event.actor, actor);
    let chain = log.chain(TENANT).await.unwrap();
    assert_eq!((chain.anchor, chain.head), (noted, about_pruning.head()));
    assert_eq!(problems(&*log, Some(&noted)).await, [], "the anchor is the noted entry");

    // The entry about the first pruning is pruned, too.
    world.clock.advance(Duration::from_secs(60));
    let pruned = log.prune(TENANT, world.clock.now(), &actor).await.unwrap();
    assert_eq!(pruned.removed, 2);
    let entries = all(&*log, &tenant()).await;
    assert_eq!(entries.iter().map(|entry| entry.sequence).collect::<Vec<_>>(), [5]);
    assert_eq!(problems(&*log, None).await, []);
    assert_eq!(problems(&*log, Some(&noted)).await, [AuditProblem::ExpectedPruned { sequence: 2 }]);
    assert_eq!(append(&*log, &[write(4)]).await, [6]);
}

pub async fn pruning_without_old_entries_writes_nothing(world: &World) {
    let log = log(world);
    let pruned = log.prune(TENANT, world.clock.now(), &Actor::engine()).await.unwrap();
    assert_eq!((pruned.removed, pruned.anchor), (0, AuditHead::genesis(TENANT)));
    append(&*log, &[write(1)]).await;
    let pruned = log.prune(TENANT, world.clock.now(), &Actor::engine()).await.unwrap();
    assert_eq!(pruned.removed, 0, "an entry of exactly this time stays");
    assert_eq!(all(&*log, &tenant()).await.len(), 1);
    assert_eq!(problems(&*log, None).await, []);
}

pub async fn an_expected_entry_must_be_in_the_chain(world: &World) {
    let log = log(world);
    append(&*log, &[write(1)]).await;
    let noted = log.chain(TENANT).await.unwrap().head;
    append(&*log, &[write(2)]).await;
    assert_eq!(problems(&*log, Some(&noted)).await, []);
    assert_eq!(problems(&*log, Some(&AuditHead::genesis(TENANT))).await, []);
    let later = AuditHead::new(3, noted.hash);
    assert_eq!(problems(&*log, Some(&later)).await, [AuditProblem::ExpectedDiffers { sequence: 3 }]);
    let other = AuditHead::new(1, AuditHash::from_bytes([7; 32]));
    assert_eq!(problems(&*log, Some(&other)).await, [AuditProblem::ExpectedDiffers { sequence: 1 }]);
}
