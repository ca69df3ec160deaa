//! Tests of the format with a tiny file, valid and damaged.

use std::io::Cursor;

use memory_engine_core::Kernel;

use super::sample;
use crate::{
    error::{ModelError, ModelErrorKind},
    model::Model,
    parts::ModelParts,
    pooling::Pooling,
};

fn open(bytes: Vec<u8>, kernel: Kernel, integer: bool) -> Result<Model, ModelError> {
    let (encoder, tokenizer) = super::open(Cursor::new(bytes), kernel, integer)?;
    let parts = ModelParts { encoder, tokenizer, pooling: Pooling::Mean, max_tokens: None };
    Model::assemble("tiny".to_owned(), parts, &["query: ".to_owned()])
}

#[test]
fn tokenize_returns_piece_ids() {
    let model = open(sample::file(), Kernel::Plain, false).expect("a valid file");
    assert_eq!(model.tokenize("a\tab 中ｂ"), [0, 5, 5, 6, 4, 7, 6, 2]);
    assert_eq!(model.tokenize(""), [0, 2]);
    assert_eq!((model.dimensions(), model.max_tokens(), model.id()), (32, 16, "tiny"));
}

#[test]
fn the_forward_pass_equals_the_reference() {
    let model = open(sample::file(), Kernel::detect(), false).expect("a valid file");
    let ids = model.tokenize("a b中 ab");
    let expected = reference::embed(&sample::file(), &ids);
    let found = &model.embed(&["a b中 ab"], 1).row(0).to_vec();
    for (found, expected) in found.iter().zip(&expected) {
        assert!((f64::from(*found) - expected).abs() < 1e-5, "{found} is not {expected}");
    }
}

#[test]
fn integer_vectors_are_close_on_every_kernel() {
    let exact = open(sample::file(), Kernel::Plain, false).expect("a valid file");
    let texts = ["a b中 ab", "query: b", ""];
    let exact = exact.embed(&texts, 1);
    for kernel in Kernel::ALL.into_iter().filter(|kernel| kernel.is_available()) {
        let model = open(sample::file(), kernel, true).expect("a valid file");
        for (left, right) in model.embed(&texts, 1).rows().into_iter().zip(exact.rows()) {
            assert!(left.dot(&right) > 0.999, "{kernel:?}: {}", left.dot(&right));
        }
    }
}

#[test]
fn vectors_do_not_depend_on_batch_or_threads() {
    let model = open(sample::file(), Kernel::detect(), true).expect("a valid file");
    let texts: Vec<String> = (0..40).map(|n| "ab 中".repeat(n % 9)).collect();
    let together = model.embed(&texts, 1);
    assert_eq!(model.embed(&texts, 3), together);
    assert_eq!(model.embed(&texts, 0), together);
    for (text, vector) in texts.iter().zip(together.rows()) {
        assert_eq!(model.embed(&[text], 1).row(0), vector);
        assert!((vector.dot(&vector) - 1.0).abs() < 1e-5);
    }
    assert!(model.embed::<&str>(&[], 2).is_empty());
}

#[test]
fn a_long_text_is_the_mean_of_its_windows() {
    let model = open(sample::file(), Kernel::Plain, false).expect("a valid file");
    // 26 tokens after a prefix of two: three windows of 8 or 9 tokens, each with four prefix and special tokens.
    let text = format!("query: {}", "ab".repeat(13));
    let ids = model.tokenize(&text);
    assert_eq!(ids[..3], [0, 9, 8]);
    let body = &ids[3..ids.len() - 1];
    let (first, second, third) = (body.len() / 3, body.len() * 2 / 3, body.len());
    let mut mean = vec![0.0f64; 32];
    for part in [&body[..first], &body[first..second], &body[second..third]] {
        let window = [&ids[..3], part, &[2]].concat();
        let vector = reference::embed(&sample::file(), &window);
        mean.iter_mut().zip(vector).for_each(|(sum, value)| *sum += value);
    }
    let length = mean.iter().map(|value| value * value).sum::<f64>().sqrt();
    for (found, mean) in model.embed(&[&text], 1).row(0).to_vec().iter().zip(&mean) {
        assert!((f64::from(*found) - mean / length).abs() < 1e-5);
    }
    assert_eq!(model.embed_with_tokens(&text).1.len(), body.len());
}

#[test]
fn token_vectors_leave_out_prefix_and_special_tokens() {
    let model = open(sample::file(), Kernel::Plain, false).expect("a valid file");
    let (vector, tokens) = model.embed_with_tokens("query: ab");
    assert_eq!((tokens.len(), tokens.dimensions()), (2, 32));
    assert_eq!(vector, model.embed(&["query: ab"], 1).row(0).to_vec());
    assert!(tokens.weights().iter().all(|&weight| (0.0..=1.0).contains(&weight)));
    assert_eq!(model.embed_with_tokens("ab").1.len(), 2);
    assert!(model.embed_with_tokens("query: ").1.is_empty() || model.embed_with_tokens("query:").1.is_empty());
    assert!(model.embed_with_tokens("").1.is_empty());
}

#[test]
fn other_formats_and_versions_have_different_errors() {
    let kind = |bytes: Vec<u8>| open(bytes, Kernel::Plain, false).err().map(|e| e.kind());
    assert_eq!(kind(b"GGUF and more".to_vec()), Some(ModelErrorKind::Corrupt));
    let mut bytes = sample::file();
    bytes[4] = 2;
    assert_eq!(kind(bytes), Some(ModelErrorKind::Unsupported));
    assert_eq!(kind(Vec::new()), Some(ModelErrorKind::Corrupt));
}

#[test]
fn a_truncated_file_is_corrupt_wherever_it_ends() {
    let whole = sample::file();
    let lengths = (0..2500).chain((2500..whole.len()).step_by(97)).chain([whole.len() - 1]);
    for length in lengths {
        let error = open(whole[..length].to_vec(), Kernel::Plain, false).err();
        assert_eq!(error.map(|e| e.kind()), Some(ModelErrorKind::Corrupt), "at {length}");
    }
}

/// Returns the peak address space of this process in kB, if the system reports it.
fn peak_address_space() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find(|line| line.starts_with("VmPeak"))?.split_whitespace().nth(1)?.parse().ok()
}

#[test]
fn damaged_bytes_never_panic_or_allocate_much() {
    let whole = sample::file();
    let before = peak_address_space();
    // All of the header, the tokenizer and the directory, and samples of the data.
    let offsets = (0..2500).chain((2500..whole.len()).step_by(53));
    for offset in offsets {
        for damage in [0x01, 0x10, 0x80, 0xFF] {
            let mut bytes = whole.clone();
            bytes[offset] ^= damage;
            if let Ok(model) = open(bytes, Kernel::detect(), offset % 2 == 0) {
                let vector = &model.embed(&["query: ab 中 x"], 1).row(0).to_vec();
                assert_eq!(vector.len(), model.dimensions());
            }
        }
    }
    if let (Some(before), Some(after)) = (before, peak_address_space()) {
        // Threads of other tests reserve address space too. A wrong length would allocate gigabytes.
        assert!(after - before < 1_500_000, "address space grew by {} kB", after - before);
    }
}

#[test]
fn huge_numbers_in_the_header_are_rejected() {
    // Every i32 of the header and of the tokenizer header. The value at 36 is the epsilon, a float.
    for offset in (8..64).step_by(4).filter(|&offset| offset != 36) {
        for value in [i32::MAX, i32::MIN, -1, 1 << 28] {
            let mut bytes = sample::file();
            bytes[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
            let padding = offset == 44 + 12;
            assert!(open(bytes, Kernel::Plain, false).is_err() || padding, "{value} at {offset}");
        }
    }
}

/// The forward pass in double precision, as in the paper, with plain loops.
mod reference {
    use super::super::sample::{FEED_FORWARD, HEADS, HIDDEN, LAYERS};
    use super::super::{CheckedReader, Tensors, read_shape, read_unigram};
    use crate::encoder::TensorSource;
    use std::io::Cursor;

    type Rows = Vec<Vec<f64>>;

    struct Weights(Tensors<Cursor<Vec<u8>>>);

    impl Weights {
        fn matrix(&mut self, name: &str, rows: usize, columns: usize) -> Rows {
            let stored = self.0.matrix(name, rows, columns).expect("a tensor");
            let values = stored.to_floats().into_owned();
            values.chunks(columns).map(|row| row.iter().map(|&x| f64::from(x)).collect()).collect()
        }

        fn linear(&mut self, name: &str, x: &Rows, outer: usize) -> Rows {
            let w = self.matrix(&format!("{name}.w"), outer, x[0].len());
            let b = self.matrix(&format!("{name}.b"), 1, outer);
            let dot = |x: &[f64], w: &[f64]| x.iter().zip(w).map(|(x, w)| x * w).sum::<f64>();
            x.iter().map(|x| w.iter().zip(&b[0]).map(|(w, b)| dot(x, w) + b).collect()).collect()
        }

        fn norm(&mut self, name: &str, x: &Rows) -> Rows {
            let w = self.matrix(&format!("{name}.w"), 1, HIDDEN);
            let b = self.matrix(&format!("{name}.b"), 1, HIDDEN);
            let normalise = |row: &Vec<f64>| {
                let mean = row.iter().sum::<f64>() / HIDDEN as f64;
                let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / HIDDEN as f64;
                let scale = (variance + 1e-12).sqrt();
                (0..HIDDEN).map(|i| (row[i] - mean) / scale * w[0][i] + b[0][i]).collect()
            };
            x.iter().map(normalise).collect()
        }
    }

    fn add(left: &Rows, right: &Rows) -> Rows {
        let row = |(l, r): (&Vec<f64>, &Vec<f64>)| l.iter().zip(r).map(|(l, r)| l + r).collect();
        left.iter().zip(right).map(row).collect()
    }

    fn gelu(x: f64) -> f64 {
        // erf by its series, which converges for the small values here.
        let z = x / std::f64::consts::SQRT_2;
        let (mut term, mut sum) = (z, z);
        for n in 1..200 {
            term *= -z * z / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        0.5 * x * (1.0 + sum * std::f64::consts::FRAC_2_SQRT_PI)
    }

    fn attention(q: &Rows, k: &Rows, v: &Rows) -> Rows {
        let width = HIDDEN / HEADS;
        let mut out = vec![vec![0.0; HIDDEN]; q.len()];
        for head in 0..HEADS {
            let range = head * width..(head + 1) * width;
            for (q, out) in q.iter().zip(&mut out) {
                let score = |k: &Vec<f64>| {
                    let dot: f64 = range.clone().map(|i| q[i] * k[i]).sum();
                    (dot / (width as f64).sqrt()).exp()
                };
                let weights: Vec<f64> = k.iter().map(score).collect();
                let total: f64 = weights.iter().sum();
                for (weight, v) in weights.iter().zip(v) {
                    range.clone().for_each(|i| out[i] += weight / total * v[i]);
                }
            }
        }
        out
    }

    pub(super) fn embed(file: &[u8], ids: &[u32]) -> Vec<f64> {
        let mut source = CheckedReader::new(Cursor::new(file.to_vec())).expect("a source");
        source.seek(8).expect("a offset");
        let shape = read_shape(&mut source).expect("a shape");
        read_unigram(&mut source).expect("a tokenizer");
        let mut weights = Weights(Tensors::read(source).expect("a directory"));
        let words = weights.matrix("emb.word", shape.vocabulary, HIDDEN);
        let positions = weights.matrix("emb.pos", shape.positions, HIDDEN);
        let types = weights.matrix("emb.type", shape.types, HIDDEN);
        let words: Rows = ids.iter().map(|&id| words[id as usize].clone()).collect();
        let x = add(&add(&words, &positions), &vec![types[0].clone(); ids.len()]);
        let mut x = weights.norm("emb.ln", &x);
        for l in 0..LAYERS {
            let [q, k, v] = ["q", "k", "v"].map(|p| weights.linear(&format!("l{l}.{p}"), &x, HIDDEN));
            let merged = weights.linear(&format!("l{l}.ao"), &attention(&q, &k, &v), HIDDEN);
            x = weights.norm(&format!("l{l}.aln"), &add(&x, &merged));
            let mut wide = weights.linear(&format!("l{l}.fi"), &x, FEED_FORWARD);
            wide.iter_mut().flatten().for_each(|value| *value = gelu(*value));
            let narrow = weights.linear(&format!("l{l}.fo"), &wide, HIDDEN);
            x = weights.norm(&format!("l{l}.oln"), &add(&x, &narrow));
        }
        let sums: Vec<f64> = (0..HIDDEN).map(|i| x.iter().map(|row| row[i]).sum()).collect();
        let length = sums.iter().map(|sum| sum * sum).sum::<f64>().sqrt();
        sums.iter().map(|sum| sum / length).collect()
    }
}
