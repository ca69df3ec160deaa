//! Traces of deleted records are found.

use memory_engine_core::{
    Outcome, PutMode, Record, RecordId, Scope, Trust, Write,
    residue::{ResidueProbe, ResidueProbes, ResidueReport, Salt, SearchExtent},
};

use crate::{
    World,
    fixtures::{at_angle, id, lin, mo, numbered, session, terms},
};

const SALT: Salt = Salt::from_bytes([3; 32]);
const SECRETS: [&str; 2] = ["the spare key is behind the atlas on the shelf", "备用钥匙藏在书架上的地图册后面"];

fn probes(records: &[&Record]) -> ResidueProbes {
    let probe = |record: &&Record| ResidueProbe {
        namespace: record.scope.namespace(),
        id: record.id,
        content: SALT.hash(&record.content_hash()),
        cascade_deleted: false,
    };
    let probes = ResidueProbes::new(SALT, records.iter().map(probe).collect());
    let mut probes = probes.with_extent(SearchExtent::Database);
    records.iter().for_each(|record| probes.add_texts(record));
    probes
}

fn with_text(address: &Scope, number: u8, text: &str) -> Record {
    let mut record = numbered(address, number);
    text.clone_into(&mut record.text);
    record
}

async fn search(world: &World, records: &[&Record]) -> ResidueReport {
    world.records.find_residue(&probes(records)).await.unwrap()
}

pub async fn stored_records_have_traces(world: &World) {
    let records = [with_text(&session("a"), 1, SECRETS[0]), with_text(&lin(), 2, SECRETS[1])];
    world.put(&[&records[0], &records[1]]).await;
    world.embed(&records[0], at_angle(0.0)).await;
    let report = search(world, &[&records[0], &records[1]]).await;
    assert!(report.residue() >= 2, "{report:#?}");
    assert_eq!(report.missing_tombstones, [id(1), id(2)]);
}

pub async fn deleted_records_have_no_traces(world: &World) {
    let records = [with_text(&session("a"), 1, SECRETS[0]), with_text(&lin(), 2, SECRETS[1])];
    let mut derived = with_text(&lin(), 3, "a summary about a key and an atlas on a shelf");
    (derived.derived_from, derived.trust) = (vec![id(1)], Trust::Derived);
    let kept = with_text(&lin(), 4, "tea is good in the morning, and coffee at noon");
    world.put(&[&records[0], &records[1], &derived, &kept]).await;
    for (record, angle) in [&records[0], &records[1], &derived, &kept].into_iter().zip([0.0, 0.5, 1.0, 1.5]) {
        world.index(record, terms(["key"])).await;
        world.embed(record, at_angle(angle)).await;
    }
    assert_eq!(world.forget(&lin(), &[id(1), id(2)]).await, [id(1), id(2), id(3)]);
    let report = search(world, &[&records[0], &records[1], &derived]).await;
    assert_eq!((report.residue(), &report.missing_tombstones), (0, &Vec::new()), "{report:#?}");
    assert!(report.places.iter().any(|place| place.keeps_ids.is_some() && place.ids >= 3), "{report:#?}");
    assert!(search(world, &[&kept]).await.residue() > 0, "the others stay");
    world.records.remove_tombstones(&lin(), &[id(2)]).await.unwrap();
    assert_eq!(search(world, &[&records[0], &records[1]]).await.missing_tombstones, [id(2)]);
}

pub async fn a_record_of_another_user_is_no_trace(world: &World) {
    let (own, others) = (with_text(&lin(), 1, SECRETS[0]), with_text(&mo(), 1, SECRETS[0]));
    world.put(&[&own]).await;
    world.put(&[&others]).await;
    world.forget(&lin(), &[id(1)]).await;
    let report = search(world, &[&own]).await;
    assert_eq!((report.residue(), report.blocked_copies.len(), report.other_copies), (0, 0, 0), "{report:#?}");
    assert!(search(world, &[&others]).await.residue() > 0);
}

pub async fn a_search_of_some_users_does_not_depend_on_others(world: &World) {
    let own = [with_text(&session("a"), 1, SECRETS[0]), with_text(&lin(), 2, SECRETS[1])];
    world.put(&[&own[0], &own[1]]).await;
    world.index(&own[0], terms(["key"])).await;
    world.embed(&own[0], at_angle(0.0)).await;
    world.forget(&lin(), &[id(1)]).await;
    let probes = probes(&[&own[0], &own[1]]).with_extent(SearchExtent::Users);
    let alone = world.records.find_residue(&probes).await.unwrap();
    assert!(alone.residue() > 0, "the second record is still there: {alone:#?}");

    // The same ids and texts, and a conversation whose name is one of the texts.
    let named = mo().with_session(SECRETS[0]).unwrap();
    let others = [with_text(&mo(), 1, SECRETS[0]), with_text(&named, 2, SECRETS[1])];
    world.put(&[&others[0], &others[1]]).await;
    world.index(&others[0], terms(["key"])).await;
    world.embed(&others[0], at_angle(0.0)).await;
    world.put(&[&with_text(&mo(), 3, SECRETS[0])]).await;
    world.forget(&mo(), &[id(3)]).await;
    assert_eq!(world.records.find_residue(&probes).await.unwrap(), alone);
}

pub async fn remaining_records_with_the_content_are_listed(world: &World) {
    let mut records: Vec<Record> = (1..=4).map(|number| with_text(&lin(), number, SECRETS[1])).collect();
    for (record, trust) in records.iter_mut().zip([Trust::User, Trust::Import, Trust::User, Trust::Derived]) {
        record.trust = trust;
    }
    world.put(&records.iter().collect::<Vec<_>>()).await;
    world.forget(&lin(), &[id(1)]).await;
    let report = search(world, &[&records[0]]).await;
    let expected: Vec<RecordId> = vec![id(2), id(4)];
    assert_eq!((report.residue(), &report.blocked_copies, report.other_copies), (0, &expected, 1), "{report:#?}");
    // A content that was only cascade-deleted may be derived again.
    let mut probe = probes(&[&records[0]]).records.remove(0);
    probe.cascade_deleted = true;
    let report = world.records.find_residue(&ResidueProbes::new(SALT, vec![probe])).await.unwrap();
    assert_eq!((&report.blocked_copies, report.other_copies), (&vec![id(2)], 2), "{report:#?}");
}

pub async fn a_record_derived_from_a_deleted_one_is_a_trace(world: &World) {
    let source = with_text(&lin(), 1, SECRETS[0]);
    let mut derived = with_text(&lin(), 2, "the key is somewhere");
    (derived.derived_from, derived.trust) = (vec![id(1)], Trust::Derived);
    world.put(&[&source]).await;
    world.forget(&lin(), &[id(1)]).await;
    // A source need not exist.
    world.put(&[&derived]).await;
    assert!(search(world, &[&source]).await.residue() >= 1);
}

pub async fn a_replaced_value_has_no_traces(world: &World) {
    let mut stored = with_text(&session("a"), 1, "the new line of the aunt is 0471 882 3390, call after six");
    stored.metadata.insert("said".into(), "\"0471 882 3390\", she said at the door".into());
    let mut derived = with_text(&lin(), 2, "欧阳姨的电话改成0471 882 3390了，晚上打给她");
    (derived.derived_from, derived.trust) = (vec![id(1)], Trust::Derived);
    let mut same = with_text(&lin(), 3, "a summary without the number");
    (same.derived_from, same.trust) = (vec![id(1)], Trust::Derived);
    world.put(&[&stored, &derived, &same]).await;
    for (record, angle) in [&stored, &derived, &same].into_iter().zip([0.0, 0.5, 1.0]) {
        world.index(record, terms(["04718823390"])).await;
        world.embed(record, at_angle(angle)).await;
    }
    let mut probes = ResidueProbes::new(SALT, Vec::new()).with_extent(SearchExtent::Database);
    let said = stored.metadata["said"].as_str().unwrap().to_owned();
    for text in [&stored.text, &said, &derived.text] {
        let start = text.find("0471").unwrap();
        probes.add_value(&lin(), text, start..start + "0471 882 3390".len());
    }
    let traces = async |probes: &ResidueProbes| {
        let report = world.records.find_residue(probes).await.unwrap();
        assert!(report.missing_tombstones.is_empty());
        report.places.iter().map(|place| place.residue() + place.shared).sum::<u64>()
    };
    assert!(traces(&probes).await >= 3);
    assert!(traces(&probes.clone().with_extent(SearchExtent::Users)).await >= 3);

    let mask = |text: &str| text.replace("0471 882 3390", "[deleted]");
    let mut writes = Vec::new();
    for mut record in [stored.clone(), derived, same] {
        record = world.records.get(&lin(), &[record.id]).await.unwrap().remove(0).unwrap();
        let replaces = record.revision;
        if record.id != id(3) {
            (record.text, record.revision) = (mask(&record.text), replaces + 1);
        }
        if let Some(said) = record.metadata.get_mut("said") {
            *said = mask(said.as_str().unwrap()).into();
        }
        writes.push(Write::new(record, PutMode::Replica { replaces }));
    }
    let written = world.records.put(&lin(), writes).await.unwrap();
    assert!(written.iter().all(|written| written.cascade_deleted.is_empty()), "{written:?}");
    let outcomes: Vec<Outcome> = written.iter().map(|written| written.outcome).collect();
    assert_eq!(outcomes, [Outcome::Updated, Outcome::Updated, Outcome::Unchanged]);
    assert_eq!(traces(&probes).await, 0);
    assert_eq!(world.records.derived(&lin(), &[id(1)]).await.unwrap(), [id(2), id(3)]);
}
