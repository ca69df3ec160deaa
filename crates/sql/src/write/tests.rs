use memory_engine_core::{Kind, PutMode, Scope, SystemClock, Trust};

use super::*;

/// A store with at most one tombstone.
#[derive(Debug, Default)]
struct State {
    tombstone: Option<RecordId>,
    deleted_content: Option<bool>,
}

impl NamespaceState for State {
    type Error = Error;

    fn source_revision(&self, _: RecordId) -> Result<Option<u64>> {
        Ok(Some(1))
    }
    fn has_tombstone(&self, id: RecordId) -> Result<bool> {
        Ok(self.tombstone == Some(id))
    }
    fn deleted_content(&self, _: &Record) -> Result<Option<bool>> {
        Ok(self.deleted_content)
    }
}

fn record(trust: Trust) -> Record {
    let mut record = Record::new(Scope::user("lin").unwrap(), Kind::TURN, "seafood", &SystemClock);
    record.trust = trust;
    record
}

#[test]
fn a_new_record_queues_the_jobs_of_its_missing_index_entries() {
    let mut write = Write::upsert(record(Trust::User));
    write.terms = Some(["seafood"].into_iter().collect());
    let (result, change) = decide(write, None, &State::default(), true, Timestamp::default()).unwrap();
    assert_eq!((result.outcome, result.pending), (Outcome::Created, vec![Job::Embedding]));
    assert!(change.is_some_and(|change| change.is_new && change.index.is_some_and(|index| index.terms.is_some())));
}

#[test]
fn tombstones_block_ids_always_and_content_by_trust() {
    let import = record(Trust::Import);
    let tombstone = State { tombstone: Some(import.id), deleted_content: None };
    let outcome = |record: &Record, state: &State| {
        decide(Write::new(record.clone(), PutMode::Upsert), None, state, false, Timestamp::default()).unwrap().0.outcome
    };
    assert_eq!(outcome(&import, &tombstone), Outcome::Blocked(BlockReason::Id));
    let cascade_deleted = State { tombstone: None, deleted_content: Some(true) };
    assert_eq!(outcome(&import, &cascade_deleted), Outcome::Blocked(BlockReason::Content));
    assert_eq!(outcome(&record(Trust::Derived), &cascade_deleted), Outcome::Created);
    assert_eq!(outcome(&record(Trust::User), &cascade_deleted), Outcome::Created);
}

#[test]
fn a_deletion_report_lists_each_record_once() {
    let [first, second, derived] = ["a", "b", "c"].map(|name| RecordId::named(&Scope::tenant_wide("t").unwrap(), name));
    let requested = [second, first, second];
    let cascaded = [derived, first].into();
    let report = deletion_report(&requested, [first, second].into(), cascaded, RemovalCounts::default());
    assert_eq!((report.ids, report.removed.cascade_deleted), (vec![second, first, derived], 1));
}
