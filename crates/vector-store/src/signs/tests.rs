use proptest::prelude::*;

use super::*;

proptest! {
    /// After any sequence of additions and removals.
    #[test]
    fn signs_are_those_of_the_remaining_rows(
        width in 1..140_usize,
        steps in proptest::collection::vec((any::<u32>(), any::<bool>()), 0..60),
    ) {
        let vector = |seed: u32| -> Vec<f32> {
            let hash = seed.wrapping_mul(2_654_435_761);
            (0..width).map(|n| if (hash >> (n % 31)) & 1 == 1 { 1.0 } else { -1.0 }).collect()
        };
        let mut signs = Signs { mean: vec![0.0; width], mean_rows: 1, added_rows: 0, words: Vec::new(), rows: 0 };
        let mut remaining: Vec<u32> = Vec::new();
        for (seed, insert) in steps {
            if insert || remaining.is_empty() {
                signs.push(&vector(seed));
                remaining.push(seed);
            } else {
                let row = seed as usize % remaining.len();
                signs.swap_remove(row);
                remaining.swap_remove(row);
            }
        }
        for (row, seed) in remaining.iter().enumerate() {
            let words = pack(vector(*seed).iter().map(|value| *value > 0.0));
            for (word, bits) in words.into_iter().enumerate() {
                prop_assert_eq!(signs.words[signs.word_index(row, word)], bits);
            }
        }
        if let Some(seed) = remaining.first() {
            let nearest = signs.nearest(&vector(*seed), RowSelection::First(signs.rows), 1);
            prop_assert!(nearest.contains(&0), "a vector is nearest to itself");
        }
    }

    /// The number of rows stays the same.
    #[test]
    fn the_mean_is_outdated_after_all_rows_were_replaced(rows in 1..40_usize) {
        let mut codes = Codes::default();
        (0..rows).for_each(|_| codes.push(&[1.0, -1.0]));
        let mut signs = Signs::of_codes(&codes, 2);
        for _ in 0..=rows {
            prop_assert!(!signs.is_mean_outdated());
            signs.swap_remove(0);
            signs.push(&[-1.0, 1.0]);
        }
        prop_assert!(signs.is_mean_outdated());
    }

    #[test]
    fn signs_of_codes_equal_those_of_the_decoded_numbers(
        rows in (1..150_usize).prop_flat_map(|width| {
            proptest::collection::vec(proptest::collection::vec(-1.0_f32..1.0, width), 1..40)
        }),
    ) {
        let mut codes = Codes::default();
        let width = rows[0].len();
        rows.iter().for_each(|row| codes.push(row));
        let built = Signs::of_codes(&codes, width);
        let mut pushed = Signs { mean: built.mean.clone(), mean_rows: 1, added_rows: 0, words: Vec::new(), rows: 0 };
        let mut values = Vec::new();
        for row in 0..rows.len() {
            codes.decode(row, width, &mut values);
            pushed.push(&values);
        }
        prop_assert_eq!(built.words, pushed.words);
    }

    #[test]
    fn the_threshold_is_the_least_that_enough_rows_do_not_exceed(
        differences in proptest::collection::vec(0_u16..50, 1..80),
        count in 1..90_usize,
    ) {
        let threshold = difference_threshold(&differences, count);
        let rows_up_to = |threshold: u16| differences.iter().filter(|difference| **difference <= threshold).count();
        prop_assert!(rows_up_to(threshold) >= count.min(differences.len()));
        prop_assert!(threshold == 0 || rows_up_to(threshold - 1) < count);
    }

    /// Unsorted, and sorted either way, so that the sample is also far from the distribution of the whole.
    #[test]
    fn the_least_differences_are_those_of_a_full_sort(
        mut differences in proptest::collection::vec(0_u16..300, 1..2000),
        count in 0..2000_usize,
        order in 0..3_u8,
    ) {
        match order {
            0 => {}
            1 => differences.sort_unstable(),
            _ => differences.sort_unstable_by(|a, b| b.cmp(a)),
        }
        let mut sorted = differences.clone();
        sorted.sort_unstable();
        let threshold = count.min(sorted.len()).checked_sub(1).map(|last| sorted[last]);
        let within = (0..).zip(&differences).filter(|(_, difference)| Some(**difference) <= threshold);
        prop_assert_eq!(least_differences(&differences, count), within.map(|(index, _)| index).collect::<Vec<u32>>());
    }
}
