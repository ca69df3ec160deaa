//! Merges of stores that have diverged.

use std::time::Duration;

use memory_engine::{
    Clock, MemoryEngine, PutMode, RecallQuery, RecordId, ScanQuery, Scope, State, Turn,
    retention::{RecordPatch, RetentionPolicy, RetentionRule},
    transfer::{Merge, MergeReason, MergeReport, MergeSide},
};

use crate::{
    history::{self, Random, scopes},
    stores::{Kind, Stores, assert_same, contents, forgotten},
};

/// Returns the number of random histories. `TRANSFER_SEEDS` sets another one.
pub(crate) fn seeds(uses_server: bool) -> u64 {
    let set = std::env::var("TRANSFER_SEEDS").ok().and_then(|seeds| seeds.parse().ok());
    set.unwrap_or(if uses_server { 2 } else { 12 })
}

async fn merge(source: &MemoryEngine, target: &MemoryEngine) -> MergeReport {
    let mut merge = Merge::new(source, target);
    for scope in scopes() {
        merge.merge(&scope).await.unwrap();
    }
    merge.into_report()
}

/// Two stores with a common past change separately. Their merge is the same in either direction, changes nothing the
/// second time, and brings back nothing that was forgotten.
pub(crate) async fn random_histories(stores: Stores, one: Kind, other: Kind, seed: u64) {
    let mut random = Random::new(seed + 1);
    let ancestor = stores.engine(one).await;
    history::apply(&ancestor, &stores.clock, &mut random, "ancestor", 40).await;

    // A merge into an empty store is a copy.
    let (ours, theirs) = (stores.engine(one).await, stores.engine(other).await);
    for copy in [&ours, &theirs] {
        let report = merge(&ancestor, copy).await;
        assert_eq!((report.refused, report.conflict_count), (0, 0), "{report:?}");
        let (ancestor, copy) = (contents(&ancestor, &scopes()).await, contents(copy, &scopes()).await);
        assert_same(&ancestor, &copy, "copy");
    }
    history::apply(&ours, &stores.clock, &mut random, "ours", 40).await;
    history::apply(&theirs, &stores.clock, &mut random, "theirs", 40).await;

    let (into_ours, into_theirs) = (stores.engine(one).await, stores.engine(other).await);
    merge(&ours, &into_ours).await;
    merge(&theirs, &into_theirs).await;
    let mut rehearsal = Merge::new(&theirs, &into_ours).dry_run(true);
    for scope in scopes() {
        rehearsal.merge(&scope).await.unwrap();
    }
    let before = contents(&into_ours, &scopes()).await;
    assert_same(&contents(&ours, &scopes()).await, &before, "a dry run changes nothing");

    let report = merge(&theirs, &into_ours).await;
    assert_eq!(report.refused, 0, "{report:?}");
    let expected = rehearsal.into_report();
    assert_eq!(
        (expected.added, expected.replaced, expected.kept, expected.deleted, expected.tombstones),
        (report.added, report.replaced, report.kept, report.deleted, report.tombstones),
    );
    let opposite = merge(&ours, &into_theirs).await;
    let merged = contents(&into_ours, &scopes()).await;
    assert_same(&merged, &contents(&into_theirs, &scopes()).await, "both directions");
    let conflicts = |report: &MergeReport| -> Vec<_> {
        report.conflicts.iter().map(|c| (c.id, c.reason, c.differs.clone())).collect()
    };
    assert_eq!(conflicts(&report), conflicts(&opposite), "{report:?} {opposite:?}");
    assert_eq!((report.conflict_count, report.unchanged), (opposite.conflict_count, opposite.unchanged));

    for (source, target) in [(&theirs, &into_ours), (&ours, &into_theirs), (&into_ours, &into_theirs)] {
        let again = merge(source, target).await;
        assert!(again.is_empty() || again.kept + again.replaced > 0, "{again:?}");
        assert_eq!((again.added, again.replaced, again.deleted, again.tombstones), (0, 0, 0, 0), "{again:?}");
        assert_same(&merged, &contents(target, &scopes()).await, "a second merge");
    }
    for (scope, id) in forgotten(&ours, &scopes()).await.into_iter().chain(forgotten(&theirs, &scopes()).await) {
        assert_eq!(into_ours.get(&scope, id).await.unwrap(), None, "{id} of {scope} is back");
    }
    assert_no_foreign_records(&[&ours, &theirs], &into_ours).await;
}

/// Every record of a scope in the merged store is in the same scope of one of the two stores.
async fn assert_no_foreign_records(sources: &[&MemoryEngine], merged: &MemoryEngine) {
    for scope in scopes() {
        for record in merged.scan(&scope, &ScanQuery::oldest(100_000)).await.unwrap().records {
            let mut known = false;
            for source in sources {
                known |=
                    source.get(&record.scope, record.id).await.unwrap().is_some_and(|own| own.scope == record.scope);
            }
            assert!(known, "{} at {} is from another scope", record.id, record.scope);
        }
    }
}

struct Diverged {
    ours: MemoryEngine,
    theirs: MemoryEngine,
    lin: Scope,
    ids: Vec<RecordId>,
}

/// Two stores with the same four turns.
async fn diverged(stores: &Stores, one: Kind, other: Kind) -> Diverged {
    let lin = Scope::user("lin").unwrap();
    let ours = stores.engine(one).await;
    let mut ids = Vec::new();
    for text in ["我住在上海", "I like walnuts", "周五面试", "My sister plays the violin"] {
        ids.push(ours.remember(&lin, Turn::user(text)).await.unwrap());
    }
    let theirs = stores.engine(other).await;
    merge(&ours, &theirs).await;
    Diverged { ours, theirs, lin, ids }
}

async fn edit(engine: &MemoryEngine, scope: &Scope, id: RecordId, text: &str) {
    let mut record = engine.get(scope, id).await.unwrap().unwrap();
    record.text = text.into();
    engine.store(scope, vec![record], PutMode::Upsert).await.unwrap();
}

pub(crate) async fn conflicts_are_listed(stores: Stores, one: Kind, other: Kind) {
    let Diverged { ours, theirs, lin, ids } = diverged(&stores, one, other).await;
    // One side edits twice, the other once.
    edit(&ours, &lin, ids[0], "我住在北京").await;
    edit(&theirs, &lin, ids[0], "我住在杭州").await;
    edit(&theirs, &lin, ids[0], "我住在苏州").await;
    // One side retracts what the other one edits.
    ours.history().retract(&lin, &[ids[1]], "allergic").await.unwrap();
    edit(&theirs, &lin, ids[1], "I like walnuts a lot").await;
    edit(&theirs, &lin, ids[1], "I like walnuts very much").await;
    // One side forgets what the other one edits.
    ours.forget(&lin, ids[2]).await.unwrap();
    edit(&theirs, &lin, ids[2], "周六面试").await;

    let report = merge(&theirs, &ours).await;
    let found: Vec<_> = report.conflicts.iter().map(|c| (c.id, c.winner, c.reason)).collect();
    let mut expected = vec![
        (ids[0], MergeSide::Source, MergeReason::HigherRevision),
        (ids[1], MergeSide::Target, MergeReason::Retracted),
    ];
    expected.sort_by_key(|(id, ..)| *id);
    assert_eq!(found, expected);
    assert!(report.conflicts.iter().all(|conflict| conflict.scope == lin && conflict.kind == "turn"));
    assert!(report.conflicts.iter().all(|conflict| conflict.differs.contains(&"text".to_owned())), "{report:?}");
    assert_eq!((report.replaced, report.kept, report.forgotten), (1, 1, 1), "{report:?}");
    assert_eq!(ours.get(&lin, ids[0]).await.unwrap().unwrap().text, "我住在苏州");
    assert_eq!(ours.get(&lin, ids[1]).await.unwrap().unwrap().state, State::Revoked);
    assert_eq!(ours.get(&lin, ids[2]).await.unwrap(), None);
    ours.drain(&lin, |_| ()).await.unwrap();
    let hits = ours.recall(&lin, RecallQuery::new("苏州")).await.unwrap().hits;
    assert!(hits.iter().any(|hit| hit.record.id == ids[0]), "the new text is indexed: {hits:?}");
}

pub(crate) async fn retractions_stay_restorable(stores: Stores, one: Kind, other: Kind) {
    let Diverged { ours, theirs, lin, ids } = diverged(&stores, one, other).await;
    let retraction = ours.history().retract(&lin, &[ids[0], ids[1]], "wrong").await.unwrap();
    merge(&ours, &theirs).await;
    assert_eq!(theirs.get(&lin, ids[0]).await.unwrap().unwrap().state, State::Revoked);
    assert_eq!(theirs.history().retractions(&lin, 9).await.unwrap()[0].reason, "wrong");
    // Restored there, and the other store still has it retracted: the restore wins in both directions.
    assert_eq!(theirs.history().restore(&lin, retraction.id).await.unwrap(), 2);
    let mut copy = Merge::new(&ours, &theirs).dry_run(true);
    copy.merge(&lin).await.unwrap();
    assert!(copy.report().conflicts.iter().all(|c| c.reason == MergeReason::RetractionUndone), "{:?}", copy.report());
    assert_eq!((copy.report().kept, copy.report().replaced), (2, 0));
    merge(&theirs, &ours).await;
    for engine in [&ours, &theirs] {
        assert_eq!(engine.get(&lin, ids[0]).await.unwrap().unwrap().state, State::Active);
        assert!(engine.history().retractions(&lin, 9).await.unwrap().is_empty());
    }
}

pub(crate) async fn edits_after_a_merge_win(stores: Stores, one: Kind, other: Kind) {
    let Diverged { ours, theirs, lin, ids } = diverged(&stores, one, other).await;
    for text in ["one", "two", "three"] {
        edit(&ours, &lin, ids[0], text).await;
    }
    merge(&ours, &theirs).await;
    // The store that got the record by the merge edits it: its edit is the later one.
    edit(&theirs, &lin, ids[0], "four").await;
    merge(&ours, &theirs).await;
    assert_eq!(theirs.get(&lin, ids[0]).await.unwrap().unwrap().text, "four");
    merge(&theirs, &ours).await;
    let (ours, theirs) = (ours.get(&lin, ids[0]).await.unwrap(), theirs.get(&lin, ids[0]).await.unwrap());
    assert_eq!(ours, theirs);
}

pub(crate) async fn the_earlier_deletion_wins(stores: Stores, one: Kind, other: Kind) {
    let Diverged { ours, theirs, lin, ids } = diverged(&stores, one, other).await;
    for (first, second, id) in [(&ours, &theirs, ids[0]), (&theirs, &ours, ids[1])] {
        for engine in [first, second] {
            stores.clock.advance(Duration::from_secs(60));
            engine.forget(&lin, id).await.unwrap();
        }
    }
    let times = async |engine: &MemoryEngine| {
        let tombstones = engine.admin().tombstones(&lin, None, 100).await.unwrap();
        tombstones.into_iter().map(|tombstone| (tombstone.id, tombstone.deleted_at)).collect::<Vec<_>>()
    };
    let (of_ours, of_theirs) = (times(&ours).await, times(&theirs).await);
    let earlier = of_ours.iter().zip(&of_theirs).map(|(one, other)| *one.min(other)).collect::<Vec<_>>();
    assert!(of_ours != of_theirs && earlier.len() == 2, "{of_ours:?} {of_theirs:?}");
    for _ in 0..2 {
        merge(&ours, &theirs).await;
        let report = merge(&theirs, &ours).await;
        assert_eq!(report.tombstones, 0, "{report:?}");
        assert_eq!((times(&ours).await, times(&theirs).await), (earlier.clone(), earlier.clone()));
    }
}

pub(crate) async fn expiries_are_merged_as_they_are(stores: Stores, one: Kind, other: Kind) {
    const HOUR: Duration = Duration::from_secs(60 * 60);
    let Diverged { ours, theirs, lin, ids } = diverged(&stores, one, other).await;
    let now = stores.clock.now();
    let expiring = RecordPatch::default().expires_at(now.after(HOUR));
    ours.patch(&lin, &ids[..2], expiring).await.unwrap();
    merge(&ours, &theirs).await;
    ours.patch(&lin, &ids[..1], RecordPatch::default().expires_at(now.after(9 * HOUR))).await.unwrap();
    stores.clock.advance(2 * HOUR);

    // The version of the target has expired, and is not deleted yet.
    let report = merge(&ours, &theirs).await;
    assert_eq!((report.refused, report.replaced), (0, 1), "{report:?}");
    assert_eq!(theirs.get(&lin, ids[0]).await.unwrap(), ours.get(&lin, ids[0]).await.unwrap());
    assert_eq!(theirs.get(&lin, ids[1]).await.unwrap(), None);

    // A policy of the target applies to new records, not to merged ones.
    let policy = RetentionPolicy::default().with_rule(RetentionRule::expire_after(HOUR));
    let builder = MemoryEngine::builder().in_memory().clock(stores.clock.clone()).background(false);
    let short_lived = builder.retention(policy).build().await.unwrap();
    merge(&ours, &short_lived).await;
    assert_same(&contents(&ours, &scopes()).await, &contents(&short_lived, &scopes()).await, "expiries");
    let id = short_lived.remember(&lin, "a new one").await.unwrap();
    assert!(short_lived.get(&lin, id).await.unwrap().unwrap().expires_at.is_some());
}
