#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::{rows::LANES, *};

fn kernels() -> impl Iterator<Item = Kernel> {
    Kernel::ALL.into_iter().filter(|kernel| kernel.is_available())
}

/// Generates a query, rows of the same width, and a list of some of the rows.
fn matrix<T: std::fmt::Debug + Clone>(
    element: impl Strategy<Value = T> + Clone,
) -> impl Strategy<Value = (Vec<T>, Vec<T>, Vec<u32>)> {
    (1..200_usize, 1..12_usize).prop_flat_map(move |(width, rows)| {
        let numbers = |count| proptest::collection::vec(element.clone(), count);
        (numbers(width), numbers(width * rows), proptest::collection::vec(0..rows as u32, 0..20))
    })
}

proptest! {
    #[test]
    fn products_are_those_of_the_plain_loop((query, values, list) in matrix(-1.0_f32..1.0)) {
        let width = query.len();
        for rows in [RowSelection::First(values.len() / width), RowSelection::List(&list)] {
            let mut plain = Vec::new();
            products(Kernel::Plain, &query, &values, rows, &mut plain);
            for (index, product) in plain.iter().enumerate() {
                let row = &values[rows.row(index) * width..][..width];
                let sum: f64 = query.iter().zip(row).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
                prop_assert!((f64::from(*product) - sum).abs() < 1e-4);
            }
            for kernel in kernels() {
                let mut found = Vec::new();
                products(kernel, &query, &values, rows, &mut found);
                prop_assert_eq!(&found, &plain, "{:?}", kernel);
            }
        }
    }

    #[test]
    fn code_products_are_those_of_the_plain_loop((query, codes, list) in matrix(-127_i8..=127)) {
        let width = query.len();
        for rows in [RowSelection::First(codes.len() / width), RowSelection::List(&list)] {
            for kernel in kernels() {
                let mut found = Vec::new();
                code_products(kernel, &query, &codes, rows, &mut found);
                prop_assert_eq!(found.len(), rows.len());
                for (index, product) in found.into_iter().enumerate() {
                    let row = &codes[rows.row(index) * width..][..width];
                    let sum: i32 = query.iter().zip(row).map(|(x, y)| i32::from(*x) * i32::from(*y)).sum();
                    prop_assert_eq!(product, sum, "{:?}", kernel);
                }
            }
        }
    }

    #[test]
    fn codes_are_the_nearest_multiples_of_the_scale(values in proptest::collection::vec(-2.0_f32..2.0, 1..200)) {
        let mut plain_codes = vec![1, 2];
        let plain = encode(Kernel::Plain, &values, &mut plain_codes);
        prop_assert_eq!(&plain_codes[..2], [1, 2]);
        let mut squared_length = 0.0;
        let mut squared_error = 0.0;
        for (value, code) in values.iter().zip(&plain_codes[2..]) {
            let decoded = f64::from(*code) * f64::from(plain.scale);
            let error = f64::from(*value) - decoded;
            prop_assert!(error.abs() <= f64::from(plain.scale) * 0.50001, "{} as {}", value, code);
            squared_length += decoded * decoded;
            squared_error += error * error;
        }
        prop_assert_eq!(plain_codes.len(), values.len() + 2);
        prop_assert!((plain.squared_length - squared_length).abs() <= 1e-9 * squared_length);
        prop_assert!((plain.squared_error - squared_error).abs() <= 1e-9 * squared_error + 1e-12);
        let greatest = plain_codes[2..].iter().map(|code| code.unsigned_abs()).max();
        prop_assert!(greatest == Some(127) || values.iter().all(|value| value.abs() < 1e-30));
        for kernel in kernels() {
            let mut codes = vec![1, 2];
            prop_assert_eq!(encode(kernel, &values, &mut codes), plain, "{:?}", kernel);
            prop_assert_eq!(&codes, &plain_codes, "{:?}", kernel);
        }
    }

    #[test]
    fn differences_are_those_of_the_plain_loop(
        (query, heavy, signs, rows) in (1..9_usize, 0..40_usize).prop_flat_map(|(words, rows)| {
            let numbers = |count| proptest::collection::vec(any::<u64>(), count);
            (numbers(words), numbers(words), numbers(words * rows.div_ceil(LANES) * LANES), Just(rows))
        }),
    ) {
        for kernel in kernels() {
            let mut found = Vec::new();
            differences(kernel, &query, &heavy, &signs, rows, &mut found);
            prop_assert_eq!(found.len(), rows);
            for (row, count) in found.into_iter().enumerate() {
                let word = |w: usize| signs[(row / LANES * query.len() + w) * LANES + row % LANES] ^ query[w];
                let difference = |w: usize| word(w).count_ones() + 2 * (word(w) & heavy[w]).count_ones();
                prop_assert_eq!(u32::from(count), (0..query.len()).map(difference).sum::<u32>(), "{:?}", kernel);
            }
        }
    }

    #[test]
    fn indexes_within_a_threshold_are_those_of_a_filter(
        differences in proptest::collection::vec(0_u16..100, 0..200),
        threshold in 0_u16..110,
    ) {
        let within = (0..).zip(&differences).filter(|(_, difference)| **difference <= threshold);
        let expected: Vec<u32> = within.map(|(index, _)| index).collect();
        for kernel in kernels() {
            let mut found = Vec::new();
            indexes_within(kernel, &differences, threshold, &mut found);
            prop_assert_eq!(&found, &expected, "{:?}", kernel);
        }
    }
}
