use std::{collections::BTreeMap, convert::Infallible};

use memory_engine_core::snapshot::{SnapshotReader, SnapshotWriter};
use proptest::prelude::*;

use super::*;

fn space() -> EmbeddingSpace {
    EmbeddingSpace::cosine("test", 2)
}

proptest! {
    /// After any sequence of inserts and removals, the index has the same content as a plain map.
    #[test]
    fn agrees_with_a_plain_map(steps in proptest::collection::vec((0_u8..12, 0_u8..3, any::<bool>()), 0..80)) {
        let mut index = FlatIndex::new(&space());
        let mut plain = BTreeMap::new();
        for (key, group, insert) in steps {
            if insert {
                let angle = f32::from(key) / 10.0 + f32::from(group);
                index.insert(key, group, Embedding::new(vec![angle.cos(), angle.sin()]).unwrap());
                plain.insert(key, (group, angle));
            } else {
                prop_assert_eq!(index.remove(&key), plain.remove(&key).is_some());
            }
        }
        prop_assert_eq!(index.len(), plain.len());
        let query = Embedding::new(vec![1.0, 0.0]).unwrap();
        let all = index.search(&query, SearchSubset::All, 50);
        prop_assert_eq!(&all, &index.search(&query, SearchSubset::Groups(&[0, 1, 2]), 50));
        prop_assert_eq!(all.len(), plain.len());
        for group in 0..3_u8 {
            let found = {
                let even: Vec<u8> = index.keys(&[group]).copied().filter(|key| key % 2 == 0).collect();
                let found = index.search(&query, SearchSubset::Keys(&even), 5);
                prop_assert_eq!(&found, &index.search(&query, SearchSubset::Matching(&|key| even.contains(key)), 5));
                found
            };
            let expected = plain.iter().filter(|(key, (owner, _))| *owner == group && *key % 2 == 0);
            let mut expected: Vec<u8> = expected.map(|(key, _)| *key).collect();
            expected.sort_by(|a, b| plain[b].1.cos().total_cmp(&plain[a].1.cos()));
            expected.truncate(5);
            prop_assert_eq!(found.iter().map(|(k, _)| *k).collect::<Vec<_>>(), expected);
            let members = index.search(&query, SearchSubset::Groups(&[group]), 50);
            prop_assert_eq!(members.len(), plain.values().filter(|(owner, _)| *owner == group).count());
        }
    }
}

proptest! {
    /// An index that is saved in parts and loaded finds the same as before, in any order of keys, by codes and by
    /// full vectors.
    #[test]
    fn segments_saved_in_parts_load_to_the_same_index(
        steps in proptest::collection::vec((0_u8..30, 0_u8..3, -1.0_f32..1.0), 1..80), part in 1_usize..20,
    ) {
        let mut written = FlatIndex::lean(&space());
        let mut read: FlatIndex<u8, u8> = FlatIndex::lean(&space());
        let embedding = |angle: f32| Embedding::new(vec![angle.cos(), angle.sin()]).unwrap();
        let mut vectors = BTreeMap::new();
        for steps in steps.chunks(part) {
            let mut fresh = FlatIndex::lean(&space());
            for (key, group, angle) in steps {
                fresh.insert(*key, *group, embedding(*angle));
                written.insert(*key, *group, embedding(*angle));
                vectors.insert(*key, embedding(*angle));
            }
            for from in (0..fresh.len()).step_by(7) {
                let mut out = SnapshotWriter::new(Vec::new()).unwrap();
                let encode = |key: &u8, group: u8| ([u64::from(*key), 0], [i64::from(group), 0, 0]);
                fresh.save(&mut out, from..from + 7, encode).unwrap();
                let bytes = out.finish().unwrap();
                let mut input = SnapshotReader::new(&bytes[..], bytes.len() as u64).unwrap();
                let decode = |[key, _]: [u64; 2], [group, ..]: [i64; 3]| (key as u8, group as u8);
                read.extend(&mut input, decode).unwrap();
                input.finish().unwrap();
            }
        }
        read.finish_extending();
        prop_assert_eq!(read.len(), written.len());
        for groups in [&[0_u8, 1, 2][..], &[1], &[0, 2]] {
            let look_up = |key: &u8| Ok::<_, Infallible>(vectors.get(key).cloned());
            let found = read.search_with(&embedding(0.2), SearchSubset::Groups(groups), 20, look_up).unwrap();
            prop_assert_eq!(found, written.search(&embedding(0.2), SearchSubset::Groups(groups), 20));
        }
    }
}

#[test]
fn a_vector_of_another_length_is_rejected() {
    let mut index = FlatIndex::new(&space());
    assert!(!index.insert(1, 0, Embedding::new(vec![1.0; 3]).unwrap()));
    assert!(index.is_empty());
}
