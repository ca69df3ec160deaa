//! Walks compared with those of a model of the graph, over random steps.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{RecordId, Scope};
use memory_engine_graph::{
    EntityId, EntityKind, Extraction, GraphEntry, GraphQuery, GraphStore, MemoryGraphStore, Mention, Relation, Seeds,
};
use proptest::{collection::vec, prelude::*, sample::select};

use super::helpers::{facts, names, store};
use crate::{
    World,
    arbitrary::{RandomAddress, addresses},
    cases::{CaseResult, ensure, for_all},
    fixtures::{id, numbered},
};

/// A relation between two of a few entities.
type GraphFact = (u8, &'static str, u8);

#[derive(Debug, Clone)]
enum GraphStep {
    Put { address: RandomAddress, number: u8, facts: Vec<GraphFact>, aliases: Vec<(u8, u8)> },
    Delete { reader: RandomAddress, number: u8 },
}

#[derive(Debug)]
struct WalkCase {
    steps: Vec<GraphStep>,
    walks: Vec<(RandomAddress, Vec<u8>, u32)>,
}

fn cases() -> impl Strategy<Value = WalkCase> {
    let entity = || 0..7_u8;
    let fact = (entity(), select(&["knows", "leads"][..]), entity());
    let put = (addresses(), 1..9_u8, vec(fact, 0..4), vec((entity(), 7..9_u8), 0..2))
        .prop_map(|(address, number, facts, aliases)| GraphStep::Put { address, number, facts, aliases });
    let delete = (addresses(), 1..9_u8).prop_map(|(reader, number)| GraphStep::Delete { reader, number });
    let walks = vec((addresses(), vec(0..9_u8, 1..3), 0..3_u32), 1..6);
    (vec(prop_oneof![5 => put, 1 => delete], 1..14), walks).prop_map(|(steps, walks)| WalkCase { steps, walks })
}

fn name(number: u8) -> String {
    ["Anna", "沈砚", "Bob", "臺北", "Old Mill", "carl", "KSK", "Red", "小红"][usize::from(number)].to_owned()
}

/// The address, facts and aliases of one record.
type GraphStatement = (Scope, Vec<GraphFact>, Vec<(u8, u8)>);

/// The reference model: a list of facts for each record, and an in-memory graph store.
#[derive(Debug, Default)]
struct ReferenceGraph {
    /// The reference for order and counts. It gets the same writes as the world.
    reference: MemoryGraphStore,
    statements: BTreeMap<(Scope, RecordId), GraphStatement>,
}

impl ReferenceGraph {
    /// Returns the entities that a walk reaches, each as the representative of its group, and the facts on its way.
    fn walk(&self, reader: &Scope, owner: &Scope, seeds: &[u8], hops: u32) -> (BTreeSet<u8>, BTreeSet<GraphFact>) {
        let visible = || {
            self.statements
                .iter()
                .filter(|((user, _), (address, ..))| user == owner && reader.covers(address))
                .map(|(_, statement)| statement)
        };
        let mentioned: BTreeSet<u8> = visible()
            .flat_map(|(_, facts, aliases)| facts.iter().flat_map(|f| [f.0, f.2]).chain(aliases.iter().map(|a| a.0)))
            .collect();
        let named = |alias: u8| {
            visible()
                .flat_map(|(_, _, aliases)| aliases)
                .filter(|a| a.1 == alias)
                .map(|a| a.0)
                .collect::<BTreeSet<u8>>()
        };
        // A seed is an entity of this name, and every entity with this alias.
        let mut reached: BTreeSet<u8> = seeds
            .iter()
            .flat_map(|seed| named(*seed).into_iter().chain([*seed]))
            .filter(|e| mentioned.contains(e))
            .collect();
        let mut traversed = BTreeSet::new();
        for _ in 0..hops {
            let previous = reached.clone();
            for fact in visible().flat_map(|(_, facts, _)| facts).filter(|f| f.0 != f.2) {
                if previous.contains(&fact.0) || previous.contains(&fact.2) {
                    traversed.insert(*fact);
                    reached.extend([fact.0, fact.2]);
                }
            }
        }
        (reached, traversed)
    }
}

fn extraction(facts: &[GraphFact], aliases: &[(u8, u8)]) -> Extraction {
    let all: BTreeSet<u8> = facts.iter().flat_map(|f| [f.0, f.2]).chain(aliases.iter().map(|a| a.0)).collect();
    let aliases_of = |entity: u8| aliases.iter().filter(move |a| a.0 == entity).map(|a| name(a.1));
    let mention =
        |entity: u8| Mention { aliases: aliases_of(entity).collect(), ..Mention::new(name(entity), EntityKind::Other) };
    let relations = facts.iter().filter(|f| f.0 != f.2).map(|f| Relation::new(name(f.0), f.1, name(f.2))).collect();
    Extraction { entities: all.into_iter().map(mention).collect(), relations }
}

async fn run(world: &World, tenant: &str, step: &GraphStep, model: &mut ReferenceGraph) -> CaseResult {
    match step {
        GraphStep::Put { address, number, facts, aliases } => {
            let record = numbered(&address.in_tenant(tenant), *number);
            let key = (record.scope.namespace(), record.id);
            if model.statements.get(&key).is_some_and(|(address, ..)| *address != record.scope) {
                return Ok(()); // the id is taken at another address
            }
            if world.put(&[&record]).await[0].revision > 0 {
                world.put_extraction(&record, extraction(facts, aliases)).await;
                let stored = world.stored(&record).await.ok_or("the record is gone")?;
                let entry = GraphEntry::new(stored, extraction(facts, aliases));
                model.reference.upsert(&record.scope, &[entry]).await?;
                model.statements.insert(key, (record.scope, facts.clone(), aliases.clone()));
            }
        }
        GraphStep::Delete { reader, number } => {
            let reader = reader.in_tenant(tenant);
            world.records.delete(&reader, &[id(*number)]).await?;
            if !world.one_database {
                world.graph.as_ref().unwrap().delete(&reader, &[id(*number)]).await?;
            }
            model.reference.delete(&reader, &[id(*number)]).await?;
            model.statements.retain(|(_, record), (address, ..)| *record != id(*number) || !reader.covers(address));
        }
    }
    Ok(())
}

pub(super) async fn compare_walks(world: &World) {
    let store = store(world);
    for_all(cases(), async |tenant, case| {
        let mut model = ReferenceGraph::default();
        for step in &case.steps {
            run(world, tenant, step, &mut model).await?;
        }
        for (reader, seeds, hops) in &case.walks {
            let reader = reader.in_tenant(tenant);
            let query = GraphQuery::of(seeds.iter().map(|seed| name(*seed))).with_hops(*hops).with_limits(100, 100);
            let found = store.expand(&reader, &query).await?;
            for query in [query.clone(), query.clone().with_limits(2, 3).with_evidence(1)] {
                let (ours, theirs) =
                    (store.expand(&reader, &query).await?, model.reference.expand(&reader, &query).await?);
                ensure!(ours == theirs, "{reader} finds {ours:#?} instead of {theirs:#?}");
            }
            let most = GraphQuery::new(Seeds::MostMentioned).with_limits(3, 9);
            let (ours, theirs) = (store.expand(&reader, &most).await?, model.reference.expand(&reader, &most).await?);
            ensure!(ours == theirs, "{reader} finds the most mentioned {ours:#?} instead of {theirs:#?}");
            ensure!(
                store.stats(&reader).await? == model.reference.stats(&reader).await?,
                "{reader} has other statistics"
            );
            let owners: BTreeSet<Scope> = model.statements.keys().map(|(owner, _)| owner.clone()).collect();
            let (mut entities, mut edges) = (BTreeSet::new(), BTreeSet::new());
            for owner in owners {
                let (reached, traversed) = model.walk(&reader, &owner, seeds, *hops);
                let key = |number: u8| EntityId::of(&owner, &name(number));
                entities.extend(reached.into_iter().map(key));
                edges.extend(traversed.into_iter().map(|fact| (key(fact.0), fact.1.to_owned(), key(fact.2))));
            }
            let found_entities: BTreeSet<EntityId> = found.entities.iter().map(|entity| entity.id).collect();
            let found_edges: BTreeSet<_> =
                found.edges.iter().map(|e| (e.source, e.relation.clone(), e.target)).collect();
            ensure!(found_entities == entities, "{reader} finds {:?} from {seeds:?} in {hops} hops", names(&found));
            ensure!(found_edges == edges, "{reader} finds {:?} from {seeds:?} in {hops} hops", facts(&found));
            ensure!(
                found.entities.is_sorted_by_key(|e| (e.hops, std::cmp::Reverse(e.mentions))),
                "{:?}",
                found.entities
            );
        }
        Ok(())
    })
    .await;
}
