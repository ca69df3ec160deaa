//! No answer ever holds anything outside the scope, and everything within it is there.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{
    Adjacent, BlockReason, ErrorKind, Neighbor, Outcome, Record, RecordId, ScanQuery, Scope, State, Write,
};
use proptest::{collection::vec, prelude::*};

use crate::{
    World,
    arbitrary::{Address, addresses},
    cases::{Verdict, ensure, for_all},
    given::{LARGE_LIMIT, at_angle, find, id, near, numbered, terms},
};

/// Something that happens to a world; the number is the record's id.
#[derive(Debug, Clone)]
enum Step {
    Write { place: RecordKey, number: u8, active: bool },
    Delete { reader: RecordKey, numbers: Vec<u8> },
}

/// An address in one of the case's two tenants.
type RecordKey = (bool, Address);

#[derive(Debug)]
struct Case {
    steps: Vec<Step>,
    readers: Vec<RecordKey>,
}

fn cases() -> impl Strategy<Value = Case> {
    let place = || (any::<bool>(), addresses());
    let write = (place(), 1..8_u8, proptest::bool::weighted(0.85)).prop_map(|(place, number, active)| Step::Write {
        place,
        number,
        active,
    });
    let delete = (place(), vec(1..8_u8, 1..4)).prop_map(|(reader, numbers)| Step::Delete { reader, numbers });
    let steps = vec(prop_oneof![6 => write, 1 => delete], 1..30);
    (steps, vec(place(), 1..8)).prop_map(|(steps, readers)| Case { steps, readers })
}

fn scope(tenant: &str, (second, address): &RecordKey) -> Scope {
    // One tenant's name begins with the other's, followed by what parts the names of dimensions elsewhere.
    address.within(&if *second { format!("{tenant}/a") } else { tenant.to_owned() })
}

/// The expected content of the world, as a plain list.
#[derive(Debug, Default)]
struct Expected {
    live: BTreeMap<(Scope, RecordId), Record>,
    gone: BTreeMap<(Scope, RecordId), Scope>,
}

impl Expected {
    fn within<'a>(&'a self, reader: &'a Scope) -> impl Iterator<Item = &'a Record> {
        self.live.values().filter(|record| reader.covers(&record.scope))
    }

    /// The active records of one address in their order.
    fn row(&self, address: &Scope) -> Vec<&Record> {
        let mut row: Vec<_> = self.live.values().filter(|r| r.scope == *address && r.state == State::Active).collect();
        row.sort_by_key(|r| r.position());
        row
    }

    fn beside(&self, record: &Record) -> Adjacent {
        let row = self.row(&record.scope);
        let before = row.iter().rev().find(|r| r.position() < record.position());
        let after = row.iter().find(|r| r.position() > record.position());
        let neighbor = |other: &&Record| Neighbor::of(record, other);
        Adjacent { previous: before.map(neighbor), next: after.map(neighbor) }
    }
}

async fn write(world: &World, expected: &mut Expected, mut record: Record) -> Verdict {
    let key = (record.scope.namespace(), record.id);
    let result = world.records.put(&record.scope, vec![Write::upsert(record.clone())]).await;
    let taken = expected.live.get(&key).is_some_and(|old| old.scope != record.scope);
    if taken {
        ensure!(
            result.as_ref().is_err_and(|e| e.kind() == ErrorKind::Conflict),
            "{result:?} though the id is taken at another address of this user"
        );
        return Ok(());
    }
    let written = result?.remove(0);
    if expected.gone.contains_key(&key) {
        ensure!(written.outcome == Outcome::Blocked(BlockReason::Id), "{:?} of what was deleted", written.outcome);
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

async fn delete(world: &World, expected: &mut Expected, reader: &Scope, ids: &[RecordId]) -> Verdict {
    let known = |id: &&RecordId| expected.within(reader).any(|record| record.id == **id);
    let ids: Vec<_> = BTreeSet::from_iter(ids.iter().filter(known)).into_iter().copied().collect();
    ensure!(world.forget(reader, &ids).await == ids, "not all of {ids:?} were deleted by {reader}");
    for id in ids {
        let key = (reader.namespace(), id);
        let Some(record) = expected.live.remove(&key) else { continue };
        expected.gone.insert(key, record.scope);
    }
    Ok(())
}

/// Reads everything that the scope can read, in every way there is.
async fn read(world: &World, expected: &Expected, reader: &Scope) -> Verdict {
    let mut within: Vec<_> = expected.within(reader).collect();
    within.sort_by_key(|record| record.position());
    let (mut query, mut scanned) = (ScanQuery::oldest(3), Vec::new());
    loop {
        let page = world.records.scan(reader, &query).await?;
        scanned.extend(page.records);
        query.after = page.next;
        if query.after.is_none() {
            break;
        }
    }
    ensure!(
        scanned.len() == within.len() && scanned.iter().zip(&within).all(|(found, wanted)| found.same_content(wanted)),
        "{reader} scans {scanned:#?} instead of {within:#?}"
    );

    let ids: Vec<_> = (0..9).map(id).collect();
    let got = world.records.get(reader, &ids).await?;
    let adjacent = world.records.adjacent(reader, &ids).await?;
    for ((id, got), adjacent) in ids.iter().zip(got).zip(adjacent) {
        // Seen from a whole tenant an id may name several records, of which one is given.
        let named: Vec<_> = within.iter().filter(|record| record.id == *id).collect();
        let right = |found: &Record| named.iter().any(|wanted| found.same_content(wanted));
        ensure!(got.as_ref().map_or(named.is_empty(), right), "{reader} gets {got:?} instead of one of {named:?}");
        let beside: Vec<_> = named.iter().map(|record| expected.beside(record)).collect();
        ensure!(
            if beside.is_empty() { adjacent == Adjacent::default() } else { beside.contains(&adjacent) },
            "{reader} sees {adjacent:?} beside {id} instead of one of {beside:?}"
        );
    }

    let mut active: Vec<_> = within.iter().filter(|r| r.state == State::Active).map(|r| r.id).collect();
    active.sort();
    let words = world.keywords.search(reader, &find(&["word"])).await?;
    let vectors = world.vectors.search(reader, &near(at_angle(0.0))).await?;
    for (what, hits) in [("words", words), ("vectors", vectors)] {
        let mut found: Vec<_> = hits.iter().map(|hit| hit.id).collect();
        found.sort();
        ensure!(found == active, "{reader} finds {what} of {found:?} instead of {active:?}");
    }

    let mut gone: Vec<_> = expected.gone.iter().filter(|(_, at)| reader.covers(at)).map(|((_, id), _)| *id).collect();
    gone.sort();
    let tombstones = world.records.tombstones(reader, None, LARGE_LIMIT).await?;
    ensure!(tombstones.iter().all(|t| reader.covers(&t.scope)), "{reader} sees {tombstones:?}");
    ensure!(tombstones.iter().map(|t| t.id).eq(gone.iter().copied()), "{reader} sees {tombstones:?}, not {gone:?}");

    let stats = world.records.stats(reader).await?;
    let addresses = within.iter().map(|r| &r.scope).collect::<BTreeSet<_>>().len();
    let counted = (stats.records as usize, stats.addresses as usize, stats.tombstones as usize);
    ensure!(counted == (within.len(), addresses, gone.len()), "{reader} counts {stats:?}");
    Ok(())
}

pub async fn every_answer_holds_what_the_scope_covers_and_nothing_else(world: &World) {
    for_all(cases(), async |tenant, case| {
        let mut expected = Expected::default();
        for (step, number_of_step) in case.steps.iter().zip(1..) {
            match step {
                Step::Write { place, number, active } => {
                    let mut record = numbered(&scope(tenant, place), *number);
                    record.text = format!("said in step {number_of_step}");
                    record.occurred_at = memory_engine_core::Timestamp::from_micros(number_of_step * 7 % 31);
                    // What is not active is taken out of the indexes by its address and id; above all users that names
                    // several.
                    let active = *active || place.1.user.is_none();
                    record.state = if active { State::Active } else { State::Revoked };
                    write(world, &mut expected, record).await?;
                }
                // In the scope of all users, an id may name several records; deletions happen in the scope of one
                // user.
                Step::Delete { reader: (_, Address { user: None, .. }), .. } => {}
                Step::Delete { reader, numbers } => {
                    let ids: Vec<_> = numbers.iter().map(|n| id(*n)).collect();
                    delete(world, &mut expected, &scope(tenant, reader), &ids).await?;
                }
            }
        }
        let whole =
            [false, true].map(|second| (second, Address { user: None, agent: None, session: None, branch: None }));
        for reader in case.readers.iter().chain(&whole) {
            read(world, &expected, &scope(tenant, reader)).await?;
        }
        for address in expected.live.values().map(|r| r.scope.clone()).collect::<BTreeSet<_>>() {
            read(world, &expected, &address).await?;
        }
        Ok(())
    })
    .await;
}
