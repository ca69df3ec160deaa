use proptest::prelude::*;

use super::*;

proptest! {
    /// After any additions and removals, the signs are those of the remaining rows.
    #[test]
    fn rows_that_come_and_go_leave_the_signs_of_the_others(
        width in 1..140_usize,
        steps in proptest::collection::vec((any::<u32>(), any::<bool>()), 0..60),
    ) {
        let vector = |seed: u32| -> Vec<f32> {
            (0..width).map(|n| if (seed.wrapping_mul(2_654_435_761) >> (n % 31)) & 1 == 1 { 1.0 } else { -1.0 }).collect()
        };
        let mut signs = Signs { mean: vec![0.0; width], taken_of: 1, words: Vec::new(), rows: 0 };
        let mut kept: Vec<u32> = Vec::new();
        for (seed, insert) in steps {
            if insert || kept.is_empty() {
                signs.push(&vector(seed));
                kept.push(seed);
            } else {
                let row = seed as usize % kept.len();
                signs.swap_remove(row);
                kept.swap_remove(row);
            }
        }
        for (row, seed) in kept.iter().enumerate() {
            let words = pack(vector(*seed).iter().map(|value| *value > 0.0));
            for (word, bits) in words.into_iter().enumerate() {
                prop_assert_eq!(signs.words[signs.place(row, word)], bits);
            }
        }
        if let Some(seed) = kept.first() {
            let nearest = signs.nearest(&vector(*seed), Rows::First(signs.rows), 1);
            prop_assert!(nearest.contains(&0), "nothing is nearer to a vector than itself");
        }
    }

    /// Taken of codes or one by one, the signs are the same.
    #[test]
    fn signs_of_codes_are_those_of_the_numbers_that_they_stand_for(
        rows in (1..150_usize).prop_flat_map(|width| {
            proptest::collection::vec(proptest::collection::vec(-1.0_f32..1.0, width), 1..40)
        }),
    ) {
        let (mut codes, width) = (Codes::default(), rows[0].len());
        rows.iter().for_each(|row| codes.push(row));
        let taken = Signs::of(&codes, rows.len(), width);
        let mut pushed = Signs { mean: taken.mean.clone(), taken_of: 1, words: Vec::new(), rows: 0 };
        let mut values = Vec::new();
        for row in 0..rows.len() {
            codes.decode(row, width, &mut values);
            pushed.push(&values);
        }
        prop_assert_eq!(taken.words, pushed.words);
    }

    #[test]
    fn as_many_are_counted_as_are_wanted(differences in proptest::collection::vec(0_u16..50, 1..80), count in 1..90_usize) {
        let limit = count_up_to(&differences, count);
        let within = |limit: u16| differences.iter().filter(|d| **d <= limit).count();
        prop_assert!(within(limit) >= count.min(differences.len()));
        prop_assert!(limit == 0 || within(limit - 1) < count);
    }
}
