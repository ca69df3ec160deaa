//! After any operations, a record store returns the same as `MemoryRecordStore`.

use std::{collections::BTreeSet, fmt::Debug, sync::Arc, time::Duration};

use memory_engine_core::{
    Basis, Clock, Done, Error, ErrorKind, Failure, Job, JobQueue, Kind, MemoryRecordStore, PutMode, Record, RecordId,
    RecordStore, Result, ScanQuery, Scope, State, Tombstone, Trust, Write, WriteResult,
};
use proptest::{collection::vec, prelude::*, sample::select};

use crate::{
    World,
    cases::{Verdict, ensure, for_all},
    given::{LARGE_LIMIT, id, numbered},
};

#[derive(Debug, Clone)]
enum Step {
    Put(ScopeNames, Vec<Draft>),
    Delete(ScopeNames, Vec<u8>),
    Bury(ScopeNames, Vec<(u8, &'static str)>),
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
    based_on: Option<(u8, u64)>,
}

/// A user, and perhaps one session.
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
    let basis = prop_oneof![6 => Just(None), 1 => (NUMBERS, 1..4_u64).prop_map(Some)];
    let made = (kind, vec(select(&Job::ALL[..]), 0..3), vec(NUMBERS, 0..3), basis);
    let drawn = (session, NUMBERS, select(&TEXTS[..]), select(&[0.5, 0.6][..]), select(Trust::ALL), state, mode, made);
    drawn.prop_map(|(session, number, text, importance, trust, state, mode, made)| {
        let (kind, jobs, derived_from, based_on) = made;
        Draft { session, number, text, importance, trust, state, mode, kind, jobs, derived_from, based_on }
    })
}

fn step() -> impl Strategy<Value = Step> {
    let place = || (prop_oneof![3 => Just("lin"), 1 => Just("mo")], select(&[None, Some("a"), Some("b")][..]));
    let job = || select(&Job::ALL[..]);
    prop_oneof![
        6 => (place(), vec(draft(), 1..4)).prop_map(|(place, drafts)| Step::Put(place, drafts)),
        2 => (place(), vec(NUMBERS, 1..3)).prop_map(|(place, numbers)| Step::Delete(place, numbers)),
        1 => (place(), vec((NUMBERS, select(&TEXTS[..])), 1..3)).prop_map(|(place, buried)| Step::Bury(place, buried)),
        1 => (place(), job()).prop_map(|(place, job)| Step::Requeue(place, job)),
        2 => (place(), job(), vec((NUMBERS, 1..4_u64), 1..4))
            .prop_map(|(place, job, done)| Step::Complete(place, job, done)),
        1 => (place(), job(), vec((NUMBERS, 1..4_u64), 1..4), proptest::bool::ANY)
            .prop_map(|(place, job, failed, for_good)| Step::Fail(place, job, failed, for_good)),
    ]
}

/// The two stores, side by side.
struct Pair<'a> {
    tenant: &'a str,
    world: &'a dyn RecordStore,
    jobs: &'a dyn JobQueue,
    model: MemoryRecordStore,
    now: memory_engine_core::Timestamp,
}

/// Checks that both returned the same, or failed with the same kind of error.
fn same<T: PartialEq + Debug>(what: &str, world: Result<T>, model: Result<T>) -> Verdict {
    let kind = |e: Error| -> ErrorKind { e.kind() };
    let (world, model) = (world.map_err(kind), model.map_err(kind));
    ensure!(world == model, "{what} gives {world:?} instead of {model:?}");
    Ok(())
}

fn basis(number: u8, revision: u64) -> Basis {
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
        record.derived_from = draft.derived_from.iter().map(|number| id(*number)).collect();
        record
    }

    /// Tombstones of what is not there, or of what is there in the same place; none of what has one already.
    async fn tombstones(&self, user: &'static str, buried: &[(u8, &'static str)]) -> Result<Vec<Tombstone>> {
        let all = self.scope((user, None));
        let known: BTreeSet<_> = self.model.tombstones(&all, None, LARGE_LIMIT).await?.iter().map(|t| t.id).collect();
        let mut tombstones: Vec<Tombstone> = Vec::new();
        for (number, text) in buried {
            let stored = self.model.get(&all, &[id(*number)]).await?.remove(0);
            let mut record = stored.unwrap_or_else(|| numbered(&self.scope((user, Some("a"))), *number));
            record.text = (*text).into();
            let tombstone = Tombstone::new(record.id, record.scope.clone(), record.content_hash(), self.now);
            if !known.contains(&tombstone.id) && tombstones.iter().all(|t| t.id != tombstone.id) {
                tombstones.push(tombstone);
            }
        }
        Ok(tombstones)
    }

    async fn play(&self, step: &Step) -> Verdict {
        let (world, jobs, model) = (self.world, self.jobs, &self.model);
        match step {
            Step::Put(place, drafts) => {
                let write = |draft: &Draft| Write {
                    jobs: draft.jobs.clone(),
                    based_on: draft.based_on.iter().map(|(number, revision)| basis(*number, *revision)).collect(),
                    ..Write::new(self.record(place.0, draft), draft.mode)
                };
                let writes: Vec<Write> = drafts.iter().map(write).collect();
                let scope = self.scope(*place);
                let (ours, theirs) = (world.put(&scope, writes.clone()).await, model.put(&scope, writes).await);
                same("put", ours.map(sorted_jobs), theirs.map(sorted_jobs))
            }
            Step::Delete(place, numbers) => {
                let (scope, ids) = (self.scope(*place), numbers.iter().map(|n| id(*n)).collect::<Vec<_>>());
                same("delete", world.delete(&scope, &ids).await, model.delete(&scope, &ids).await)
            }
            Step::Bury(place, buried) => {
                let (scope, tombstones) = (self.scope((place.0, None)), self.tombstones(place.0, buried).await?);
                same(
                    "import_tombstones",
                    world.import_tombstones(&scope, &tombstones).await,
                    model.import_tombstones(&scope, &tombstones).await,
                )
            }
            Step::Requeue(place, job) => {
                let scope = self.scope(*place);
                same("requeue", jobs.requeue(&scope, *job).await, model.requeue(&scope, *job).await)
            }
            Step::Complete(place, job, done) => {
                let all = self.scope((place.0, None));
                let mut receipts = Vec::new();
                for (number, revision) in done {
                    let stored = model.get(&all, &[id(*number)]).await?.remove(0);
                    let scope = stored.map_or(all.clone(), |record| record.scope);
                    receipts.push(Done { id: id(*number), scope, job: *job, revision: *revision, ticket: None });
                }
                same("complete", jobs.complete(&receipts).await, model.complete(&receipts).await)
            }
            Step::Fail(place, job, failed, for_good) => {
                let all = self.scope((place.0, None));
                let mut failures = Vec::new();
                for (number, revision) in failed {
                    let stored = model.get(&all, &[id(*number)]).await?.remove(0);
                    let scope = stored.map_or(all.clone(), |record| record.scope);
                    let retry_at = (!for_good).then_some(self.now);
                    let failure = Failure::new(id(*number), scope, *job, *revision, "away");
                    failures.push(failure.with_retry_at(retry_at));
                }
                same("fail", jobs.fail(&failures).await, model.fail(&failures).await)
            }
        }
    }

    /// Reads everything back from both.
    async fn compare(&self) -> Verdict {
        let (world, jobs, model) = (self.world, self.jobs, &self.model);
        let tenant = Scope::tenant_wide(self.tenant)?;
        let (lin, lins_a, mo) = (self.scope(("lin", None)), self.scope(("lin", Some("a"))), self.scope(("mo", None)));
        let ids: Vec<RecordId> = NUMBERS.map(id).collect();
        for scope in [&lin, &lins_a, &mo] {
            let query = ScanQuery::oldest(LARGE_LIMIT);
            same("scan", world.scan(scope, &query).await, model.scan(scope, &query).await)?;
            same("get", world.get(scope, &ids).await, model.get(scope, &ids).await)?;
            same("adjacent", world.adjacent(scope, &ids).await, model.adjacent(scope, &ids).await)?;
            for one in &ids {
                same("derived", world.derived(scope, &[*one]).await, model.derived(scope, &[*one]).await)?;
            }
            same("derived", world.derived(scope, &ids).await, model.derived(scope, &ids).await)?;
            let sorted = |failures: Vec<Failure>| {
                failures.into_iter().map(|f| (f.job, f.id, f.revision, f.retry_at)).collect::<BTreeSet<_>>()
            };
            let theirs = model.failures(scope, LARGE_LIMIT).await.map(sorted);
            same("failures", jobs.failures(scope, LARGE_LIMIT).await.map(sorted), theirs)?;
            let tombstones = model.tombstones(scope, None, LARGE_LIMIT).await;
            same("tombstones", world.tombstones(scope, None, LARGE_LIMIT).await, tombstones)?;
        }
        for scope in [&lin, &lins_a, &mo, &tenant] {
            let without_zeros = |mut stats: memory_engine_core::Stats| {
                stats.backlog.retain(|_, n| *n > 0);
                stats.given_up.retain(|_, n| *n > 0);
                stats.kinds.retain(|_, n| *n > 0);
                stats.states.retain(|_, n| *n > 0);
                stats
            };
            let (ours, theirs) = (world.stats(scope).await, model.stats(scope).await);
            same("stats", ours.map(without_zeros), theirs.map(without_zeros))?;
        }
        for job in Job::ALL {
            let (ours, theirs) = (self.waiting(jobs, job).await, self.waiting(model, job).await);
            same("backlog", ours, theirs)?;
        }
        Ok(())
    }

    async fn waiting(&self, store: &dyn JobQueue, job: Job) -> Result<BTreeSet<(Scope, RecordId, u64)>> {
        let pending = store.claim(job, LARGE_LIMIT, Duration::ZERO).await?;
        let own = pending.into_iter().map(|p| p.record).filter(|r| r.scope.tenant() == self.tenant);
        Ok(own.map(|r| (r.scope, r.id, r.revision)).collect())
    }
}

async fn answers_alike(world: &World) {
    let clock = Arc::clone(&world.clock) as Arc<dyn Clock>;
    for_all(vec(step(), 1..24), async |tenant, steps| {
        let model = MemoryRecordStore::with_clock(Arc::clone(&clock));
        let pair = Pair { tenant, world: &*world.records, jobs: &*world.jobs, model, now: clock.now() };
        for step in steps {
            world.clock.advance(Duration::from_secs(1));
            pair.play(step).await?;
            pair.compare().await?;
        }
        Ok(())
    })
    .await;
}

pub async fn it_answers_as_the_store_in_memory_does(world: &World) {
    answers_alike(world).await;
}

pub async fn it_answers_alike_behind_an_arc_in_a_box(world: &World) {
    answers_alike(&world.boxed()).await;
}
