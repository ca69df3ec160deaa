use super::*;

/// Uneven numbers in −1..1.
fn noise(count: usize) -> Vec<f32> {
    (0..count as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 23) as f32 - 1.0).collect()
}

/// The outputs of attention for sequences of these lengths.
fn outputs(kernel: Kernel, integer: bool, lengths: &[usize], heads: usize, projected: &[f32]) -> Vec<f32> {
    let sequences: Vec<Vec<u32>> = lengths.iter().map(|length| vec![0; *length]).collect();
    let sequences: Vec<&[u32]> = sequences.iter().map(Vec::as_slice).collect();
    let mut context = Vec::new();
    let columns = projected.len() / lengths.iter().sum::<usize>();
    Scratch::default().run(kernel, integer, &sequences, heads, matrix::rows(projected, columns), &mut context);
    context
}

#[test]
fn the_largest_score_of_a_wide_head_does_not_overflow() {
    for width in [32, 64, 128, 512] {
        // All queries and keys are equal and as large as a number can be. So every token gets the mean of the values.
        let tokens = 3;
        let mut projected = vec![1.0; tokens * width * 3];
        for (token, row) in projected.chunks_exact_mut(3 * width).enumerate() {
            row[2 * width..].fill(token as f32);
        }
        for kernel in Kernel::ALL.into_iter().filter(|kernel| kernel.is_available()) {
            let mean = outputs(kernel, true, &[tokens], 1, &projected);
            assert!(mean.iter().all(|value| (value - 1.0).abs() < 1e-3), "{kernel:?} {width}: {mean:?}");
        }
    }
}

#[test]
fn fixed_point_attention_is_close_to_the_exact_one() {
    let lengths = [1, 2, 11, 12, 13, 40, 33, 300];
    let tokens: usize = lengths.iter().sum();
    for (heads, width) in [(2, 32), (3, 7), (1, 64), (4, 1), (1, 128)] {
        // Large scores make the weights uneven, and one large head must not cost the others their precision.
        let mut projected = noise(tokens * heads * width * 3);
        projected.iter_mut().for_each(|value| *value *= 3.0);
        projected.iter_mut().step_by(heads * width).for_each(|value| *value *= 4.0);
        let exact = outputs(Kernel::Plain, false, &lengths, heads, &projected);
        for kernel in Kernel::ALL.into_iter().filter(|kernel| kernel.is_available()) {
            let fixed = outputs(kernel, true, &lengths, heads, &projected);
            assert_eq!(fixed.len(), exact.len());
            for (index, (fixed, exact)) in fixed.iter().zip(&exact).enumerate() {
                assert!((fixed - exact).abs() < 0.03, "{kernel:?} {heads} {width}: {fixed} is not {exact} at {index}");
            }
            let error: f32 = fixed.iter().zip(&exact).map(|(fixed, exact)| (fixed - exact).powi(2)).sum();
            let size: f32 = exact.iter().map(|exact| exact.powi(2)).sum();
            assert!(error < 4e-6 * size, "{kernel:?} {heads} {width}: {}", (error / size).sqrt());
        }
    }
}

#[test]
fn values_that_are_zero_or_not_finite_do_not_panic() {
    for kernel in Kernel::ALL.into_iter().filter(|kernel| kernel.is_available()) {
        assert_eq!(outputs(kernel, true, &[3], 1, &[0.0; 18]), [0.0; 6]);
        let _ = outputs(kernel, true, &[3], 1, &[f32::NAN; 18]);
        let _ = outputs(kernel, true, &[3], 1, &[f32::INFINITY; 18]);
        let _ = outputs(kernel, true, &[3], 1, &[f32::MAX; 18]);
    }
}
