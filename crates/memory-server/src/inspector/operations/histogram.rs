//! Percentiles of histograms.

/// A histogram with cumulative buckets, as Prometheus has them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Histogram {
    /// The upper bound of each bucket, and the number of values up to it. The last bound is infinite.
    buckets: Vec<(f64, f64)>,
    sum: f64,
}

impl Histogram {
    /// Adds the values up to an upper bound.
    pub(super) fn add_bucket(&mut self, bound: f64, values: f64) {
        match self.buckets.binary_search_by(|(known, _)| known.total_cmp(&bound)) {
            Ok(index) => self.buckets[index].1 += values,
            Err(index) => self.buckets.insert(index, (bound, values)),
        }
    }

    /// Adds to the sum of the values.
    pub(super) fn add_sum(&mut self, sum: f64) {
        self.sum += sum;
    }

    /// Returns the number of values.
    pub(super) fn count(&self) -> u64 {
        self.buckets.last().map_or(0, |(_, values)| *values as u64)
    }

    /// Returns the number of values up to the first bound.
    pub(super) fn first_bucket(&self) -> u64 {
        self.buckets.first().map_or(0, |(_, values)| *values as u64)
    }

    /// Returns the mean; `None` without values.
    pub(super) fn mean(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum / self.count() as f64)
    }

    /// Estimates a quantile (0–1) by interpolating within its bucket, as `histogram_quantile` of Prometheus does; the
    /// largest finite bound if it is above that, and `None` without values.
    pub(super) fn quantile(&self, quantile: f64) -> Option<f64> {
        if self.count() == 0 {
            return None;
        }
        let rank = quantile * self.count() as f64;
        let mut lower = (0.0, 0.0);
        for &(bound, values) in &self.buckets {
            if bound.is_infinite() {
                break;
            }
            if values >= rank && values > lower.1 {
                let share = (rank - lower.1) / (values - lower.1);
                return Some(lower.0 + (bound - lower.0) * share);
            }
            lower = (bound, values);
        }
        Some(lower.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(buckets: &[(f64, f64)]) -> Histogram {
        let mut histogram = Histogram::default();
        buckets.iter().for_each(|(bound, values)| histogram.add_bucket(*bound, *values));
        histogram
    }

    #[test]
    fn quantiles_are_interpolated_within_their_bucket() {
        let histogram = histogram(&[(f64::INFINITY, 100.0), (0.1, 50.0), (0.2, 90.0), (1.0, 98.0)]);
        assert_eq!(histogram.count(), 100);
        let close = |quantile, expected: f64| (histogram.quantile(quantile).unwrap() - expected).abs() < 1e-9;
        assert!(close(0.25, 0.05) && close(0.5, 0.1) && close(0.9, 0.2) && close(0.94, 0.6), "{histogram:?}");
        assert!(close(0.99, 1.0), "above the largest bound");
    }

    #[test]
    fn a_quantile_skips_empty_buckets() {
        let histogram = histogram(&[(0.1, 0.0), (0.2, 0.0), (0.4, 10.0), (f64::INFINITY, 10.0)]);
        assert!((histogram.quantile(0.0).unwrap() - 0.2).abs() < 1e-9);
        assert_eq!(Histogram::default().quantile(0.5), None);
    }
}
