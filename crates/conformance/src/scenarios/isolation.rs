//! Every result contains exactly the records in the scope.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{
    Adjacent, BlockReason, ErrorKind, Neighbor, Outcome, Record, RecordId, ScanQuery, Scope, State, Write,
};
use proptest::{collection::vec, prelude::*};

use crate::{
    World,
    arbitrary::{RandomAddress, addresses},
    cases::{CaseResult, ensure, for_all},
    fixtures::{LARGE_LIMIT, at_angle, find, id, near, numbered, terms},
};

/// A write or a deletion. Numbers are record ids.
#[derive(Debug, Clone)]
enum ScopeStep {
    Write { address: TenantAddress, number: u8, active: bool },
    Delete { reader: TenantAddress, numbers: Vec<u8> },
}

/// An address in one of two tenants: the first if false, the second if true.
type TenantAddress = (bool, RandomAddress);

#[derive(Debug)]
struct IsolationCase {
    steps: Vec<ScopeStep>,
    readers: Vec<TenantAddress>,
}

fn cases() -> impl Strategy<Value = IsolationCase> {
    let address = || (any::<bool>(), addresses());
    let write = (address(), 1..8_u8, proptest::bool::weighted(0.85))
        .prop_map(|(address, number, active)| ScopeStep::Write { address, number, active });
    let delete = (address(), vec(1..8_u8, 1..4)).prop_map(|(reader, numbers)| ScopeStep::Delete { reader, numbers });
    let steps = vec(prop_oneof![6 => write, 1 => delete], 1..30);
    (steps, vec(address(), 1..8)).prop_map(|(steps, readers)| IsolationCase { steps, readers })
}

fn scope(tenant: &str, (is_second, address): &TenantAddress) -> Scope {
    // The second tenant's name is the first one's with a suffix that looks like another dimension.
    address.in_tenant(&if *is_second { format!("{tenant}/a") } else { tenant.to_owned() })
}

/// The expected content of the world, as a plain list.
#[derive(Debug, Default)]
struct Expected {
    live: BTreeMap<(Scope, RecordId), Record>,
    deleted: BTreeMap<(Scope, RecordId), Scope>,
}

impl Expected {
    fn records_in<'a>(&'a self, reader: &'a Scope) -> impl Iterator<Item = &'a Record> {
        self.live.values().filter(|record| reader.covers(&record.scope))
    }

    /// The active records at one address, in order.
    fn active_at(&self, address: &Scope) -> Vec<&Record> {
        let mut records: Vec<_> =
            self.live.values().filter(|r| r.scope == *address && r.state == State::Active).collect();
        records.sort_by_key(|r| r.position());
        records
    }

    fn neighbors(&self, record: &Record) -> Adjacent {
        let records = self.active_at(&record.scope);
        let before = records.iter().rev().find(|r| r.position() < record.position());
        let after = records.iter().find(|r| r.position() > record.position());
        let neighbor = |other: &&Record| Neighbor::of(record, other);
        Adjacent { previous: before.map(neighbor), next: after.map(neighbor) }
    }
}

async fn write(world: &World, expected: &mut Expected, mut record: Record) -> CaseResult {
    let key = (record.scope.namespace(), record.id);
    let result = world.records.put(&record.scope, vec![Write::upsert(record.clone())]).await;
    let is_taken = expected.live.get(&key).is_some_and(|old| old.scope != record.scope);
    if is_taken {
        ensure!(
            result.as_ref().is_err_and(|e| e.kind() == ErrorKind::Conflict),
            "{result:?} instead of a conflict: the user has this id at another address"
        );
        return Ok(());
    }
    let written = result?.remove(0);
    if expected.deleted.contains_key(&key) {
        ensure!(written.outcome == Outcome::Blocked(BlockReason::Id), "{:?} instead of Blocked(Id)", written.outcome);
        return Ok(());
    }
    record.revision = written.revision;
    if record.state == State::Active {
        world.index(&record, terms(["word"])).await;
        world.embed(&record, at_angle(0.5)).await;
    } else {
        world.keywords.delete(&record.scope, &[record.id]).await?;
        world.vectors.delete(&record.scope, &[record.id]).await?;
    }
    expected.live.insert(key, record);
    Ok(())
}

async fn delete(world: &World, expected: &mut Expected, reader: &Scope, ids: &[RecordId]) -> CaseResult {
    let is_visible = |id: &&RecordId| expected.records_in(reader).any(|record| record.id == **id);
    let ids: Vec<_> = BTreeSet::from_iter(ids.iter().filter(is_visible)).into_iter().copied().collect();
    ensure!(world.forget(reader, &ids).await == ids, "not all of {ids:?} were deleted by {reader}");
    for id in ids {
        let key = (reader.namespace(), id);
        let Some(record) = expected.live.remove(&key) else { continue };
        expected.deleted.insert(key, record.scope);
    }
    Ok(())
}

/// Compares the results of every read method with the expected content.
async fn check_reads(world: &World, expected: &Expected, reader: &Scope) -> CaseResult {
    let mut visible: Vec<_> = expected.records_in(reader).collect();
    visible.sort_by_key(|record| record.position());
    let mut query = ScanQuery::oldest(3);
    let mut scanned = Vec::new();
    loop {
        let page = world.records.scan(reader, &query).await?;
        scanned.extend(page.records);
        query.after = page.next;
        if query.after.is_none() {
            break;
        }
    }
    ensure!(
        scanned.len() == visible.len()
            && scanned.iter().zip(&visible).all(|(found, record)| found.same_content(record)),
        "{reader} scans {scanned:#?} instead of {visible:#?}"
    );

    let ids: Vec<_> = (0..9).map(id).collect();
    let got = world.records.get(reader, &ids).await?;
    let adjacent = world.records.adjacent(reader, &ids).await?;
    for ((id, got), adjacent) in ids.iter().zip(got).zip(adjacent) {
        // In a tenant-wide scope, several users may have a record with this id. One of them is returned.
        let candidates: Vec<_> = visible.iter().filter(|record| record.id == *id).collect();
        let is_candidate = |found: &Record| candidates.iter().any(|record| found.same_content(record));
        ensure!(
            got.as_ref().map_or(candidates.is_empty(), is_candidate),
            "{reader} gets {got:?} instead of one of {candidates:?}"
        );
        let neighbors: Vec<_> = candidates.iter().map(|record| expected.neighbors(record)).collect();
        ensure!(
            if neighbors.is_empty() { adjacent == Adjacent::default() } else { neighbors.contains(&adjacent) },
            "{reader} sees the neighbors {adjacent:?} of {id} instead of one of {neighbors:?}"
        );
    }

    let mut active: Vec<_> = visible.iter().filter(|r| r.state == State::Active).map(|r| r.id).collect();
    active.sort();
    let words = world.keywords.search(reader, &find(&["word"])).await?;
    let vectors = world.vectors.search(reader, &near(at_angle(0.0))).await?;
    for (index, hits) in [("keyword", words), ("vector", vectors)] {
        let mut found: Vec<_> = hits.iter().map(|hit| hit.id).collect();
        found.sort();
        ensure!(found == active, "{reader} gets the {index} hits {found:?} instead of {active:?}");
    }

    let mut deleted: Vec<_> =
        expected.deleted.iter().filter(|(_, address)| reader.covers(address)).map(|((_, id), _)| *id).collect();
    deleted.sort();
    let tombstones = world.records.tombstones(reader, None, LARGE_LIMIT).await?;
    ensure!(tombstones.iter().all(|t| reader.covers(&t.scope)), "{reader} sees {tombstones:?}");
    ensure!(
        tombstones.iter().map(|t| t.id).eq(deleted.iter().copied()),
        "{reader} sees {tombstones:?}, not {deleted:?}"
    );

    let stats = world.records.stats(reader).await?;
    let addresses = visible.iter().map(|r| &r.scope).collect::<BTreeSet<_>>().len();
    let counted = (stats.records as usize, stats.addresses as usize, stats.tombstones as usize);
    ensure!(counted == (visible.len(), addresses, deleted.len()), "{reader} counts {stats:?}");
    Ok(())
}

pub async fn results_are_exactly_the_records_in_scope(world: &World) {
    for_all(cases(), async |tenant, case| {
        let mut expected = Expected::default();
        for (step, step_number) in case.steps.iter().zip(1..) {
            match step {
                ScopeStep::Write { address, number, active } => {
                    let mut record = numbered(&scope(tenant, address), *number);
                    record.text = format!("written in step {step_number}");
                    record.occurred_at = memory_engine_core::Timestamp::from_micros(step_number * 7 % 31);
                    // An inactive record is removed from the indexes by scope and id. Without a user, this scope covers
                    // all users, and the id could name several records.
                    let active = *active || address.1.user.is_none();
                    record.state = if active { State::Active } else { State::Revoked };
                    write(world, &mut expected, record).await?;
                }
                // In the scope of all users, an id may name several records; deletions happen in the scope of one
                // user.
                ScopeStep::Delete { reader: (_, RandomAddress { user: None, .. }), .. } => {}
                ScopeStep::Delete { reader, numbers } => {
                    let ids: Vec<_> = numbers.iter().map(|n| id(*n)).collect();
                    delete(world, &mut expected, &scope(tenant, reader), &ids).await?;
                }
            }
        }
        let tenant_wide = [false, true]
            .map(|is_second| (is_second, RandomAddress { user: None, agent: None, session: None, branch: None }));
        for reader in case.readers.iter().chain(&tenant_wide) {
            check_reads(world, &expected, &scope(tenant, reader)).await?;
        }
        for address in expected.live.values().map(|r| r.scope.clone()).collect::<BTreeSet<_>>() {
            check_reads(world, &expected, &address).await?;
        }
        Ok(())
    })
    .await;
}
