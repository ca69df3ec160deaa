#![allow(clippy::unwrap_used, clippy::panic)]

use proptest::prelude::*;

use super::*;

/// A vector of length one that a number stands for, the same on every machine.
fn vector(seed: u64, width: usize) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 40) as f32 / (1_u64 << 24) as f32 - 0.5
    };
    let values: Vec<f32> = (0..width).map(|_| next()).collect();
    let norm = values.iter().map(|v| v * v).sum::<f32>().sqrt();
    values.into_iter().map(|v| v / norm).collect()
}

/// The best of what was found, in the order of a full scan.
fn best(mut found: Vec<(u32, f32)>, limit: usize) -> Vec<(u32, f32)> {
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    found.truncate(limit);
    found
}

fn known(nearest: Nearest) -> Vec<(u32, f32)> {
    match nearest {
        Nearest::Exact(known) => known,
        Nearest::Lookup { rows, .. } => panic!("{rows:?} are to be looked up"),
    }
}

fn scanned(vectors: &Vectors, query: &[f32], among: Rows<'_>, limit: usize) -> Vec<(u32, f32)> {
    let mut products = Vec::new();
    kernel::products(Kernel::Plain, query, vectors.values.as_ref().unwrap(), among, &mut products);
    best((0..products.len()).map(|place| (among.at(place) as u32, products[place])).collect(), limit)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Below the size from which signs are asked, the answer is that of a full scan, to the last bit: also among
    /// vectors that are much alike, and in lists.
    #[test]
    fn of_what_is_not_many_the_best_are_found_exactly(
        rows in 1..1500_usize, width in 1..70_usize, limit in 1..60_usize, alike in 0.0_f32..2.0, step in 1..4_usize,
    ) {
        let mut vectors = Vectors::new(width, true, false);
        let common = vector(7, width);
        for n in 0..rows {
            let own = vector(100 + n as u64 / 2, width);
            let mixed: Vec<f32> = own.iter().zip(&common).map(|(x, y)| x + alike * y).collect();
            vectors.push(&mixed);
        }
        let query = vector(3, width);
        let list: Vec<u32> = (0..rows as u32).step_by(step).collect();
        for among in [Rows::First(rows), Rows::Of(&list)] {
            let found = best(known(vectors.nearest(&query, among, limit)), limit);
            prop_assert_eq!(found, scanned(&vectors, &query, among, limit));
        }
    }
}

/// In groups of vectors, as a model makes them, signs miss less than one in a hundred of the ten nearest.
#[test]
fn signs_miss_less_than_one_in_a_hundred_of_the_nearest() {
    let (width, rows, groups) = (64, LEAN_MAX_FULL_ROWS + 2000, 300);
    let mut vectors = Vectors::new(width, true, false);
    let common = vector(1, width);
    let at = |n: usize| -> Vec<f32> {
        let (group, own) = (vector(10 + (n % groups) as u64, width), vector(10_000 + n as u64, width));
        let mixed: Vec<f32> = (0..width).map(|i| 0.5 * common[i] + 0.6 * group[i] + 0.6 * own[i]).collect();
        let norm = mixed.iter().map(|v| v * v).sum::<f32>().sqrt();
        mixed.into_iter().map(|v| v / norm).collect()
    };
    let mut lean = Vectors::new(width, true, true);
    for n in 0..rows {
        vectors.push(&at(n));
        lean.push(&at(n));
    }
    // Some go, and others take their places.
    for row in (0..rows - 1000).step_by(977) {
        vectors.swap_remove(row);
        lean.swap_remove(row);
    }
    assert!(lean.values.is_none());
    // A list without a third of the groups, so that it lacks all rows near a third of the queries; and a list that is
    // short enough for a full scan.
    let long_list: Vec<u32> = (0..vectors.rows as u32).filter(|row| row % 3 != 1).collect();
    let short_list: Vec<u32> = (0..UNSIGNED_MAX_ROWS as u32).map(|n| 2 * n).collect();
    let mut found_count = 0;
    let mut exact_count = 0;
    let mut found_in_list = 0;
    let mut exact_in_list = 0;
    for n in 0..40 {
        let noise = vector(77_000_000 + n as u64, width);
        let query: Vec<f32> = at(n * 571).iter().zip(&noise).map(|(x, y)| x + 0.7 * y).collect();
        let found = best(known(vectors.nearest(&query, Rows::First(vectors.rows), 10)), 10);
        let exact = scanned(&vectors, &query, Rows::First(vectors.rows), 10);
        assert_eq!(found[0], exact[0]);
        // The lean ones name all that were found, and not many more.
        let Nearest::Lookup { rows: named, others } = lean.nearest(&query, Rows::First(vectors.rows), 10) else {
            panic!("nothing is kept")
        };
        assert!(found.iter().all(|(row, _)| named.contains(row)) && named.len() < 100, "{}", named.len());
        assert!(others.is_empty());
        // Of a long list the first are named, and the others come with products that are off by little.
        let long = best(known(vectors.nearest(&query, Rows::First(vectors.rows), 60)), 60);
        let Nearest::Lookup { rows: named, others } = lean.nearest(&query, Rows::First(vectors.rows), 60) else {
            panic!("nothing is kept")
        };
        assert!(long[..MAX_LOOKUPS].iter().all(|(row, _)| named.contains(row)) && named.len() < 100, "{}", named.len());
        for (row, product) in &long[MAX_LOOKUPS..] {
            let about = others.iter().find(|(other, _)| other == row).map(|(_, about)| *about);
            assert!(
                named.contains(row) || about.is_some_and(|about| (about - product).abs() < 0.004),
                "{product} {about:?}"
            );
        }
        found_count += exact.iter().filter(|one| found.contains(one)).count();
        exact_count += exact.len();

        let found = best(known(vectors.nearest(&query, Rows::Of(&long_list), 10)), 10);
        let exact = scanned(&vectors, &query, Rows::Of(&long_list), 10);
        assert_eq!(found[0], exact[0]);
        found_in_list += exact.iter().filter(|one| found.contains(one)).count();
        exact_in_list += exact.len();
        let found = best(known(vectors.nearest(&query, Rows::Of(&short_list), 10)), 10);
        assert_eq!(found, scanned(&vectors, &query, Rows::Of(&short_list), 10));
    }
    assert!(found_count * 100 >= exact_count * 99, "{found_count} of {exact_count}");
    assert!(found_in_list * 100 >= exact_in_list * 99, "{found_in_list} of {exact_in_list} in the long list");
}
