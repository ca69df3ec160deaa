use proptest::prelude::*;

use super::*;

proptest! {
    /// For vectors of any length and of numbers of any size.
    #[test]
    fn an_estimate_is_within_its_maximum_error(
        (query, rows) in (1..80_usize).prop_flat_map(|width| {
            let vector = move || (proptest::collection::vec(-1.0_f32..1.0, width), -8..9_i32)
                .prop_map(|(v, e)| v.into_iter().map(|x| x * 10_f32.powi(e)).collect::<Vec<f32>>());
            (vector(), proptest::collection::vec(vector(), 1..6))
        }),
    ) {
        let mut codes = Codes::default();
        rows.iter().for_each(|row| codes.push(row));
        let estimates = codes.estimates(&query, RowSelection::First(rows.len()));
        let length = query.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt() as f32 * 1.000_001;
        for (n, (row, first)) in rows.iter().zip(estimates).enumerate() {
            let exact: f64 = query.iter().zip(row).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
            for Estimate { product, max_error } in [first, codes.refined_estimate(&query, length, n as u32)] {
                let error = (f64::from(product) - exact).abs();
                prop_assert!(error <= f64::from(max_error) + 1e-30, "{product} {exact} {max_error}");
            }
        }
    }
}
