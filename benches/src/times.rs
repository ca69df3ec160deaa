//! Times, and what they come to.

/// The part of these values below which so large a part of them lies, with what lies between two values by their
/// distance; NaN of none.
pub fn percentile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = part * last as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

/// Four digits behind the point: what is written into a file of numbers.
pub fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_between_two_values_is_taken_by_their_distance() {
        let times = [4.0, 1.0, 3.0, 2.0];
        assert_eq!([0.0, 0.5, 1.0].map(|part| percentile(&times, part)), [1.0, 2.5, 4.0]);
        assert!(percentile(&[], 0.5).is_nan());
    }
}
