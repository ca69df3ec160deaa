//! Reduces the token vectors of a text to one vector.

use ndarray::{ArrayView2, Axis};

use crate::kernel::rows::scale_to_unit;

/// The pooling of the token vectors of a window into one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pooling {
    /// The mean of all tokens, special tokens included.
    Mean,
    /// The vector of the first token.
    #[cfg_attr(not(feature = "hf"), allow(dead_code))]
    First,
}

impl Pooling {
    /// Returns one vector of length 1 from token vectors, one in each row. There must be at least one.
    pub(crate) fn pool(self, tokens: ArrayView2<'_, f32>) -> Vec<f32> {
        let (first, others) = tokens.split_at(Axis(0), 1);
        let mut pooled: Vec<f32> = first.iter().copied().collect();
        if self == Self::Mean {
            others.rows().into_iter().filter_map(|token| token.to_slice()).for_each(|token| add(&mut pooled, token));
        }
        scale_to_unit(&mut pooled);
        pooled
    }
}

/// Returns the mean direction of the vectors of the windows of a text, with length 1.
pub(crate) fn join_windows(windows: impl IntoIterator<Item = Vec<f32>>) -> Vec<f32> {
    let mut windows = windows.into_iter();
    let mut joined = windows.next().unwrap_or_default();
    let mut count = 1;
    for window in windows {
        add(&mut joined, &window);
        count += 1;
    }
    if count > 1 {
        scale_to_unit(&mut joined);
    }
    joined
}

fn add(sums: &mut [f32], values: &[f32]) {
    for (sum, &value) in sums.iter_mut().zip(values) {
        *sum += value;
    }
}
