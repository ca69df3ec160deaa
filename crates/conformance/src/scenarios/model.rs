//! After any operations, a record store returns the same as `MemoryRecordStore`.

use std::{collections::BTreeSet, fmt::Debug, sync::Arc, time::Duration};

use memory_engine_core::{
    Basis, Clock, Done, Error, ErrorKind, Failure, Job, JobQueue, Kind, MemoryRecordStore, PutMode, Record,
    RecordGroup, RecordId, RecordStore, Result, ScanQuery, Scope, State, Tombstone, Trust, Write, WriteResult,
};
use proptest::{collection::vec, prelude::*, sample::select};

use crate::{
    World,
    cases::{CaseResult, ensure, for_all},
    fixtures::{LARGE_LIMIT, id, numbered},
};

#[derive(Debug, Clone)]
enum StoreStep {
    Put(ScopeNames, Vec<Draft>),
    Delete(ScopeNames, Vec<u8>),
    ImportTombstones(ScopeNames, Vec<(u8, &'static str)>),
    Requeue(ScopeNames, Job),
    Complete(ScopeNames, Job, Vec<(u8, u64)>),
    Fail(ScopeNames, Job, Vec<(u8, u64)>, bool),
}

#[derive(Debug, Clone)]
struct Draft {
    session: &'static str,
    number: u8,
    text: &'static str,
    importance: f64,
    trust: Trust,
    state: State,
    mode: PutMode,
    kind: &'static str,
    jobs: Vec<Job>,
    derived_from: Vec<u8>,
    precondition: Option<(u8, u64)>,
    group: GroupDraft,
}

/// The fields of a draft that only the group of its record depends on.
#[derive(Debug, Clone)]
struct GroupDraft {
    app: Option<&'static str>,
    edited_at: Option<i64>,
    occurred_at: i64,
}

/// A user and an optional session.
type ScopeNames = (&'static str, Option<&'static str>);

const TEXTS: [&str; 4] = ["one", "two", "three", "Three  "];
const NUMBERS: std::ops::Range<u8> = 1..9;

fn draft() -> impl Strategy<Value = Draft> {
    let mode = prop_oneof![
        4 => Just(PutMode::Upsert),
        1 => Just(PutMode::IfAbsent),
        1 => Just(PutMode::Create),
        2 => (1..4_u64).prop_map(|revision| PutMode::Update { revision }),
    ];
    let state = prop_oneof![4 => Just(State::Active), 1 => select(State::ALL)];
    let session = prop_oneof![5 => Just("a"), 1 => Just("b")];
    let kind = prop_oneof![3 => Just("turn"), 1 => Just("summary"), 1 => Just("fact"), 1 => Just("ledger/book")];
    let precondition = prop_oneof![6 => Just(None), 1 => (NUMBERS, 1..4_u64).prop_map(Some)];
    let group = (select(&[None, Some("shop"), Some("post")][..]), select(&[None, Some(7), Some(8)][..]), 0..4_i64);
    let group = group.prop_map(|(app, edited_at, occurred_at)| GroupDraft { app, edited_at, occurred_at });
    let origin = (kind, vec(select(&Job::ALL[..]), 0..3), vec(NUMBERS, 0..3), precondition, group);
    let drawn =
        (session, NUMBERS, select(&TEXTS[..]), select(&[0.5, 0.6][..]), select(Trust::ALL), state, mode, origin);
    drawn.prop_map(|(session, number, text, importance, trust, state, mode, origin)| {
        let (kind, jobs, derived_from, precondition, group) = origin;
        Draft { session, number, text, importance, trust, state, mode, kind, jobs, derived_from, precondition, group }
    })
}

fn step() -> impl Strategy<Value = StoreStep> {
    let names = || (prop_oneof![3 => Just("lin"), 1 => Just("mo")], select(&[None, Some("a"), Some("b")][..]));
    let job = || select(&Job::ALL[..]);
    prop_oneof![
        6 => (names(), vec(draft(), 1..4)).prop_map(|(names, drafts)| StoreStep::Put(names, drafts)),
        2 => (names(), vec(NUMBERS, 1..3)).prop_map(|(names, numbers)| StoreStep::Delete(names, numbers)),
        1 => (names(), vec((NUMBERS, select(&TEXTS[..])), 1..3))
            .prop_map(|(names, tombstones)| StoreStep::ImportTombstones(names, tombstones)),
        1 => (names(), job()).prop_map(|(names, job)| StoreStep::Requeue(names, job)),
        2 => (names(), job(), vec((NUMBERS, 1..4_u64), 1..4))
            .prop_map(|(names, job, done)| StoreStep::Complete(names, job, done)),
        1 => (names(), job(), vec((NUMBERS, 1..4_u64), 1..4), proptest::bool::ANY)
            .prop_map(|(names, job, failed, is_permanent)| StoreStep::Fail(names, job, failed, is_permanent)),
    ]
}

/// The store under test and the reference store.
struct Pair<'a> {
    tenant: &'a str,
    world: &'a dyn RecordStore,
    jobs: &'a dyn JobQueue,
    model: MemoryRecordStore,
    now: memory_engine_core::Timestamp,
}

/// Checks that both returned the same, or failed with the same kind of error.
fn check_equal<T: PartialEq + Debug>(what: &str, world: Result<T>, model: Result<T>) -> CaseResult {
    let kind = |e: Error| -> ErrorKind { e.kind() };
    let (world, model) = (world.map_err(kind), model.map_err(kind));
    ensure!(world == model, "{what} returns {world:?} instead of {model:?}");
    Ok(())
}

fn precondition(number: u8, revision: u64) -> Basis {
    Basis { id: id(number), revision }
}

fn sorted_jobs(mut written: Vec<WriteResult>) -> Vec<WriteResult> {
    written.iter_mut().for_each(|w| w.pending.sort());
    written
}

impl Pair<'_> {
    fn scope(&self, (user, session): ScopeNames) -> Scope {
        let user = Scope::tenant_wide(self.tenant).unwrap().with_user(user).unwrap();
        session.map_or(user.clone(), |session| user.with_session(session).unwrap())
    }

    fn record(&self, user: &'static str, draft: &Draft) -> Record {
        let mut record = numbered(&self.scope((user, Some(draft.session))), draft.number);
        (record.text, record.importance) = (draft.text.into(), draft.importance);
        (record.trust, record.state, record.kind) = (draft.trust, draft.state, Kind::new(draft.kind));
        record.occurred_at = memory_engine_core::Timestamp::from_micros(draft.group.occurred_at);
        if let Some(app) = draft.group.app {
            record.metadata.insert(RecordGroup::APP_KEY.into(), app.into());
        }
        if let Some(edited_at) = draft.group.edited_at {
            record.metadata.insert(RecordGroup::EDITED_KEY.into(), edited_at.into());
        }
        record.derived_from = draft.derived_from.iter().map(|number| id(*number)).collect();
        record
    }

    /// Returns tombstones for records without one. The tombstone of a stored record has its address.
    async fn tombstones(&self, user: &'static str, entries: &[(u8, &'static str)]) -> Result<Vec<Tombstone>> {
        let all = self.scope((user, None));
        let existing: BTreeSet<_> =
            self.model.tombstones(&all, None, LARGE_LIMIT).await?.iter().map(|t| t.id).collect();
        let mut tombstones: Vec<Tombstone> = Vec::new();
        for (number, text) in entries {
            let stored = self.model.get(&all, &[id(*number)]).await?.remove(0);
            let mut record = stored.unwrap_or_else(|| numbered(&self.scope((user, Some("a"))), *number));
            record.text = (*text).into();
            let tombstone = Tombstone::new(record.id, record.scope.clone(), record.content_hash(), self.now);
            if !existing.contains(&tombstone.id) && tombstones.iter().all(|t| t.id != tombstone.id) {
                tombstones.push(tombstone);
            }
        }
        Ok(tombstones)
    }

    async fn run(&self, step: &StoreStep) -> CaseResult {
        let (world, jobs, model) = (self.world, self.jobs, &self.model);
        match step {
            StoreStep::Put(names, drafts) => {
                let write = |draft: &Draft| Write {
                    jobs: draft.jobs.clone(),
                    based_on: draft
                        .precondition
                        .iter()
                        .map(|(number, revision)| precondition(*number, *revision))
                        .collect(),
                    ..Write::new(self.record(names.0, draft), draft.mode)
                };
                let writes: Vec<Write> = drafts.iter().map(write).collect();
                let scope = self.scope(*names);
                let (ours, theirs) = (world.put(&scope, writes.clone()).await, model.put(&scope, writes).await);
                check_equal("put", ours.map(sorted_jobs), theirs.map(sorted_jobs))
            }
            StoreStep::Delete(names, numbers) => {
                let (scope, ids) = (self.scope(*names), numbers.iter().map(|n| id(*n)).collect::<Vec<_>>());
                check_equal("delete", world.delete(&scope, &ids).await, model.delete(&scope, &ids).await)
            }
            StoreStep::ImportTombstones(names, entries) => {
                let (scope, tombstones) = (self.scope((names.0, None)), self.tombstones(names.0, entries).await?);
                check_equal(
                    "import_tombstones",
                    world.import_tombstones(&scope, &tombstones).await,
                    model.import_tombstones(&scope, &tombstones).await,
                )
            }
            StoreStep::Requeue(names, job) => {
                let scope = self.scope(*names);
                check_equal("requeue", jobs.requeue(&scope, *job).await, model.requeue(&scope, *job).await)
            }
            StoreStep::Complete(names, job, done) => {
                let all = self.scope((names.0, None));
                let mut receipts = Vec::new();
                for (number, revision) in done {
                    let stored = model.get(&all, &[id(*number)]).await?.remove(0);
                    let scope = stored.map_or(all.clone(), |record| record.scope);
                    receipts.push(Done { id: id(*number), scope, job: *job, revision: *revision, ticket: None });
                }
                check_equal("complete", jobs.complete(&receipts).await, model.complete(&receipts).await)
            }
            StoreStep::Fail(names, job, failed, is_permanent) => {
                let all = self.scope((names.0, None));
                let mut failures = Vec::new();
                for (number, revision) in failed {
                    let stored = model.get(&all, &[id(*number)]).await?.remove(0);
                    let scope = stored.map_or(all.clone(), |record| record.scope);
                    let retry_at = (!is_permanent).then_some(self.now);
                    let failure = Failure::new(id(*number), scope, *job, *revision, "unavailable");
                    failures.push(failure.with_retry_at(retry_at));
                }
                check_equal("fail", jobs.fail(&failures).await, model.fail(&failures).await)
            }
        }
    }

    /// Compares all records, derivations, failures, tombstones, groups, statistics and jobs of both.
    async fn compare(&self) -> CaseResult {
        let (world, jobs, model) = (self.world, self.jobs, &self.model);
        let tenant = Scope::tenant_wide(self.tenant)?;
        let (lin, lins_a, mo) = (self.scope(("lin", None)), self.scope(("lin", Some("a"))), self.scope(("mo", None)));
        let ids: Vec<RecordId> = NUMBERS.map(id).collect();
        for scope in [&lin, &lins_a, &mo] {
            let query = ScanQuery::oldest(LARGE_LIMIT);
            check_equal("scan", world.scan(scope, &query).await, model.scan(scope, &query).await)?;
            check_equal("get", world.get(scope, &ids).await, model.get(scope, &ids).await)?;
            check_equal("adjacent", world.adjacent(scope, &ids).await, model.adjacent(scope, &ids).await)?;
            for id in &ids {
                check_equal("derived", world.derived(scope, &[*id]).await, model.derived(scope, &[*id]).await)?;
            }
            check_equal("derived", world.derived(scope, &ids).await, model.derived(scope, &ids).await)?;
            let sorted = |failures: Vec<Failure>| {
                failures.into_iter().map(|f| (f.job, f.id, f.revision, f.retry_at)).collect::<BTreeSet<_>>()
            };
            let theirs = model.failures(scope, LARGE_LIMIT).await.map(sorted);
            check_equal("failures", jobs.failures(scope, LARGE_LIMIT).await.map(sorted), theirs)?;
            let tombstones = model.tombstones(scope, None, LARGE_LIMIT).await;
            check_equal("tombstones", world.tombstones(scope, None, LARGE_LIMIT).await, tombstones)?;
        }
        for scope in [&lin, &lins_a, &mo, &tenant] {
            let without_zeros = |mut stats: memory_engine_core::Stats| {
                stats.queued.retain(|_, n| *n > 0);
                stats.dead_letters.retain(|_, n| *n > 0);
                stats.kinds.retain(|_, n| *n > 0);
                stats.states.retain(|_, n| *n > 0);
                stats
            };
            let (ours, theirs) = (world.stats(scope).await, model.stats(scope).await);
            check_equal("record_groups", world.record_groups(scope).await, model.record_groups(scope).await)?;
            check_equal("stats", ours.map(without_zeros), theirs.map(without_zeros))?;
        }
        for job in Job::ALL {
            let (ours, theirs) = (self.queued(jobs, job).await, self.queued(model, job).await);
            check_equal("job queue", ours, theirs)?;
        }
        Ok(())
    }

    async fn queued(&self, store: &dyn JobQueue, job: Job) -> Result<BTreeSet<(Scope, RecordId, u64)>> {
        let pending = store.claim(job, LARGE_LIMIT, Duration::ZERO).await?;
        let own = pending.into_iter().map(|p| p.record).filter(|r| r.scope.tenant() == self.tenant);
        Ok(own.map(|r| (r.scope, r.id, r.revision)).collect())
    }
}

async fn check_random_steps(world: &World) {
    let clock = Arc::clone(&world.clock) as Arc<dyn Clock>;
    for_all(vec(step(), 1..24), async |tenant, steps| {
        let model = MemoryRecordStore::with_clock(Arc::clone(&clock));
        let pair = Pair { tenant, world: &*world.records, jobs: &*world.jobs, model, now: clock.now() };
        for step in steps {
            world.clock.advance(Duration::from_secs(1));
            pair.run(step).await?;
            pair.compare().await?;
        }
        Ok(())
    })
    .await;
}

pub async fn results_equal_the_in_memory_store(world: &World) {
    check_random_steps(world).await;
}

pub async fn boxed_results_equal_the_in_memory_store(world: &World) {
    check_random_steps(&world.boxed()).await;
}
