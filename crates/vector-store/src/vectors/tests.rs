#![allow(clippy::unwrap_used, clippy::panic)]

use proptest::prelude::*;

use super::*;

/// Returns the pseudo-random vector of length one of a seed, the same on every machine (SplitMix64).
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

/// Returns the best `limit` rows, best first, equal products by row.
fn best(mut rows: Vec<(u32, f32)>, limit: usize) -> Vec<(u32, f32)> {
    rows.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    rows.truncate(limit);
    rows
}

fn exact_rows(nearest: Nearest) -> Vec<(u32, f32)> {
    match nearest {
        Nearest::Exact(rows) => rows,
        Nearest::Lookup { rows, .. } => panic!("{rows:?} must be looked up"),
    }
}

fn full_scan(vectors: &Vectors, query: &[f32], rows: RowSelection<'_>, limit: usize) -> Vec<(u32, f32)> {
    let mut products = Vec::new();
    kernel::products(Kernel::Plain, query, vectors.values.as_ref().unwrap(), rows, &mut products);
    best((0..products.len()).map(|index| (rows.row(index) as u32, products[index])).collect(), limit)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Without signs, a search equals a full scan to the last bit, also with very similar vectors and in lists.
    #[test]
    fn a_search_without_signs_equals_a_full_scan(
        rows in 1..1500_usize, width in 1..70_usize, limit in 1..60_usize, common_weight in 0.0_f32..2.0,
        step in 1..4_usize,
    ) {
        let mut vectors = Vectors::new(width, true, false);
        let common = vector(7, width);
        for n in 0..rows {
            let own = vector(100 + n as u64 / 2, width);
            let mixed: Vec<f32> = own.iter().zip(&common).map(|(x, y)| x + common_weight * y).collect();
            vectors.push(&mixed);
        }
        let query = vector(3, width);
        let list: Vec<u32> = (0..rows as u32).step_by(step).collect();
        for rows in [RowSelection::First(rows), RowSelection::List(&list)] {
            let found = best(exact_rows(vectors.nearest(&query, rows, limit)), limit);
            prop_assert_eq!(found, full_scan(&vectors, &query, rows, limit));
        }
    }
}

/// The vectors form groups, as those of a model do.
#[test]
fn signs_miss_less_than_one_in_a_hundred_of_the_nearest() {
    let width = 64;
    let rows = 22_000;
    let groups = 300;
    let mut vectors = Vectors::new(width, true, false);
    let common = vector(1, width);
    let grouped_vector = |n: usize| -> Vec<f32> {
        let group = vector(10 + (n % groups) as u64, width);
        let own = vector(10_000 + n as u64, width);
        let mixed: Vec<f32> = (0..width).map(|i| 0.5 * common[i] + 0.6 * group[i] + 0.6 * own[i]).collect();
        let norm = mixed.iter().map(|v| v * v).sum::<f32>().sqrt();
        mixed.into_iter().map(|v| v / norm).collect()
    };
    let mut lean = Vectors::new(width, true, true);
    for n in 0..rows {
        vectors.push(&grouped_vector(n));
        lean.push(&grouped_vector(n));
    }
    // A removal moves the last row to the place of the removed one.
    for row in (0..rows - 1000).step_by(977) {
        vectors.swap_remove(row);
        lean.swap_remove(row);
    }
    assert!(lean.values.is_none());
    // The long list excludes a third of the groups, and with them all rows near a third of the queries. The short one
    // is searched in full.
    let long_list: Vec<u32> = (0..vectors.rows as u32).filter(|row| row % 3 != 1).collect();
    let short_list: Vec<u32> = (0..UNSIGNED_MAX_ROWS as u32).map(|n| 2 * n).collect();
    let mut found_count = 0;
    let mut exact_count = 0;
    let mut found_in_list = 0;
    let mut exact_in_list = 0;
    for n in 0..40 {
        let noise = vector(77_000_000 + n as u64, width);
        let query: Vec<f32> = grouped_vector(n * 571).iter().zip(&noise).map(|(x, y)| x + 0.7 * y).collect();
        let found = best(exact_rows(vectors.nearest(&query, RowSelection::First(vectors.rows), 10)), 10);
        let exact = full_scan(&vectors, &query, RowSelection::First(vectors.rows), 10);
        assert_eq!(found[0], exact[0]);
        // The lean index looks up all rows that were found, and few others.
        let Nearest::Lookup { rows: lookups, others } = lean.nearest(&query, RowSelection::First(vectors.rows), 10)
        else {
            panic!("a lean index has no full vectors")
        };
        assert!(found.iter().all(|(row, _)| lookups.contains(row)) && lookups.len() < 100, "{}", lookups.len());
        assert!(others.is_empty());
        // With many hits, the best are looked up, and the others have products with a small error.
        let long = best(exact_rows(vectors.nearest(&query, RowSelection::First(vectors.rows), 60)), 60);
        let Nearest::Lookup { rows: lookups, others } = lean.nearest(&query, RowSelection::First(vectors.rows), 60)
        else {
            panic!("a lean index has no full vectors")
        };
        assert!(
            long[..EXACT_HITS].iter().all(|(row, _)| lookups.contains(row)) && lookups.len() < 100,
            "{}",
            lookups.len()
        );
        for (row, product) in &long[EXACT_HITS..] {
            let estimate = others.iter().find(|(other, _)| other == row).map(|(_, estimate)| *estimate);
            assert!(
                lookups.contains(row) || estimate.is_some_and(|estimate| (estimate - product).abs() < 0.004),
                "{product} {estimate:?}"
            );
        }
        found_count += exact.iter().filter(|row| found.contains(row)).count();
        exact_count += exact.len();

        let found = best(exact_rows(vectors.nearest(&query, RowSelection::List(&long_list), 10)), 10);
        let exact = full_scan(&vectors, &query, RowSelection::List(&long_list), 10);
        assert_eq!(found[0], exact[0]);
        found_in_list += exact.iter().filter(|row| found.contains(row)).count();
        exact_in_list += exact.len();
        let found = best(exact_rows(vectors.nearest(&query, RowSelection::List(&short_list), 10)), 10);
        assert_eq!(found, full_scan(&vectors, &query, RowSelection::List(&short_list), 10));
    }
    assert!(found_count * 100 >= exact_count * 99, "{found_count} of {exact_count}");
    assert!(found_in_list * 100 >= exact_in_list * 99, "{found_in_list} of {exact_in_list} in the long list");
}
