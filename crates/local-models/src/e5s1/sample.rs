//! Generates a tiny E5S1 file for tests.

pub(crate) const HIDDEN: usize = 32;
pub(crate) const FEED_FORWARD: usize = 64;
pub(crate) const LAYERS: usize = 2;
pub(crate) const HEADS: usize = 2;
pub(crate) const POSITIONS: usize = 16;

/// The pieces. The id of a piece is its index; `<unk>` is 3.
pub(crate) const PIECES: [&str; 10] =
    ["<s>", "<pad>", "</s>", "<unk>", "\u{2581}", "\u{2581}a", "b", "中", ":", "\u{2581}query"];

/// Number of word vectors: more than pieces, as in the real file.
pub(crate) const VOCABULARY: usize = 12;

/// Pseudo-random numbers in −1..1.
pub(crate) fn noise(count: usize, seed: u64) -> Vec<f32> {
    let mut state = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect()
}

fn q4(count: usize, seed: u64) -> Vec<u8> {
    let values = noise(count, seed);
    let block = |values: &[f32]| {
        // 0.0625 as a half-precision number.
        let mut block = vec![0x00, 0x2C];
        let nibble = |value: f32| ((value + 1.0) * 8.0).clamp(0.0, 15.0) as u8;
        block.extend((0..16).map(|j| nibble(values[j]) | nibble(values[j + 16]) << 4));
        block
    };
    values.chunks(32).flat_map(block).collect()
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Name, encoding, number of elements, bytes.
type Tensor = (String, u8, usize, Vec<u8>);

fn tensors() -> Vec<Tensor> {
    let mut seed = 0;
    let mut all: Vec<Tensor> = Vec::new();
    let mut q4_tensor = |all: &mut Vec<Tensor>, name: String, count: usize| {
        seed += 1;
        all.push((name, 1, count, q4(count, seed)));
    };
    let float_tensor = |all: &mut Vec<Tensor>, name: String, count: usize, mean: f32| {
        let values = noise(count, 1000 + all.len() as u64);
        let values: Vec<f32> = values.iter().map(|value| mean + value * 0.1).collect();
        all.push((name, 0, count, floats(&values)));
    };
    q4_tensor(&mut all, "emb.word".into(), VOCABULARY * HIDDEN);
    float_tensor(&mut all, "emb.pos".into(), POSITIONS * HIDDEN, 0.0);
    float_tensor(&mut all, "emb.type".into(), 2 * HIDDEN, 0.0);
    let norm = |all: &mut Vec<Tensor>, name: String| {
        float_tensor(all, format!("{name}.w"), HIDDEN, 1.0);
        float_tensor(all, format!("{name}.b"), HIDDEN, 0.0);
    };
    norm(&mut all, "emb.ln".into());
    for layer in 0..LAYERS {
        for (part, outer, inner) in [
            ("q", HIDDEN, HIDDEN),
            ("k", HIDDEN, HIDDEN),
            ("v", HIDDEN, HIDDEN),
            ("ao", HIDDEN, HIDDEN),
            ("fi", FEED_FORWARD, HIDDEN),
            ("fo", HIDDEN, FEED_FORWARD),
        ] {
            q4_tensor(&mut all, format!("l{layer}.{part}.w"), outer * inner);
            float_tensor(&mut all, format!("l{layer}.{part}.b"), outer, 0.0);
        }
        norm(&mut all, format!("l{layer}.aln"));
        norm(&mut all, format!("l{layer}.oln"));
    }
    all
}

/// The whole file.
pub(crate) fn file() -> Vec<u8> {
    let mut out = b"E5S1".to_vec();
    let number = |out: &mut Vec<u8>, value: usize| out.extend((value as u32).to_le_bytes());
    for value in [1, HIDDEN, LAYERS, HEADS, FEED_FORWARD, VOCABULARY, POSITIONS, 2] {
        number(&mut out, value);
    }
    out.extend(1e-12f32.to_le_bytes());
    number(&mut out, 32);
    for value in [PIECES.len(), 0, 2, 1, 3] {
        number(&mut out, value);
    }
    let text = PIECES.concat();
    out.extend((text.len() as u64).to_le_bytes());
    let mut end = 0;
    number(&mut out, 0);
    for piece in PIECES {
        end += piece.len();
        number(&mut out, end);
    }
    let scores = [0.0, 0.0, 0.0, 0.0, -2.0, -3.0, -4.0, -5.0, -4.0, -6.0];
    out.extend(floats(&scores));
    out.extend(text.as_bytes());
    // Two rules: tab to space, and a full-width b.
    for value in [2, 18] {
        number(&mut out, value);
    }
    for (from, to) in [('\t', ' '), ('ｂ', 'b')] {
        number(&mut out, from as usize);
        out.push(1);
        number(&mut out, to as usize);
    }
    let tensors = tensors();
    number(&mut out, tensors.len());
    let directory: usize = tensors.iter().map(|(name, ..)| 23 + name.len()).sum();
    let mut offset = out.len() + directory;
    for (name, encoding, elements, bytes) in &tensors {
        out.extend((name.len() as u16).to_le_bytes());
        out.extend(name.as_bytes());
        out.push(*encoding);
        number(&mut out, *elements);
        out.extend((offset as u64).to_le_bytes());
        out.extend((bytes.len() as u64).to_le_bytes());
        offset += bytes.len();
    }
    out.extend(tensors.into_iter().flat_map(|(.., bytes)| bytes));
    out
}
