//! Token vectors of a text, for late interaction.

use crate::{
    error::{Error, ErrorKind, Result},
    varint,
};

/// Offset that is added to 4-bit codes in the stored form, so that they are not negative.
const NIBBLE_OFFSET: i8 = 8;

/// The number of bits of each code of a [`MultiVector`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeBits {
    /// Codes of −7 to 7: for stored texts.
    Four,
    /// Codes of −127 to 127: for queries.
    Eight,
}

impl CodeBits {
    const fn max_code(self) -> f32 {
        match self {
            Self::Four => 7.0,
            Self::Eight => 127.0,
        }
    }
}

/// One token of a [`MultiVector`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Token {
    /// Id of the token in the model's vocabulary.
    pub id: u32,
    /// Weight of the token in means over tokens, 0 to 1. Frequent tokens have lower weights.
    pub weight: f32,
    /// Scale of the token's codes: the difference between the values of neighbouring codes.
    pub scale: f32,
}

/// The vectors of the tokens of a text, quantised, for late interaction (ColBERT, Khattab and Zaharia 2020).
///
/// Value i of token t is about `codes[t · dimensions + i] · tokens[t].scale`. Every vector has length 1. A long text
/// has several parts, which are compared with a query one by one.
#[derive(Debug, Clone, PartialEq)]
pub struct MultiVector {
    bits: CodeBits,
    dimensions: usize,
    tokens: Vec<Token>,
    codes: Vec<i8>,
    /// Index of the token after each part.
    part_ends: Vec<usize>,
}

impl MultiVector {
    /// Quantises vectors of length 1, one after the other in `values`. `tokens` has the id and the weight of each. A
    /// part has at most `max_part_tokens` tokens; all parts have nearly the same length.
    ///
    /// # Errors
    /// `InvalidInput` if `dimensions` or `max_part_tokens` is 0, or `values` has another length than `dimensions` times
    /// the number of tokens.
    pub fn quantize(
        bits: CodeBits,
        dimensions: usize,
        values: &[f32],
        tokens: &[(u32, f32)],
        max_part_tokens: usize,
    ) -> Result<Self> {
        check_shape(dimensions, max_part_tokens, values.len(), tokens.len())?;
        let mut codes = Vec::with_capacity(values.len());
        let mut stored_tokens = Vec::with_capacity(tokens.len());
        for (row, (id, weight)) in values.chunks_exact(dimensions).zip(tokens) {
            let max_value = round_max_value(row.iter().fold(0.0, |max: f32, value| max.max(value.abs())));
            let scale = max_value / bits.max_code();
            let max_code = bits.max_code();
            let code = |value: &f32| round_half_away((value / scale).clamp(-max_code, max_code)) as i8;
            if scale > 0.0 {
                codes.extend(row.iter().map(code));
            } else {
                codes.resize(codes.len() + dimensions, 0);
            }
            stored_tokens.push(Token { id: *id, weight: round_weight(*weight), scale });
        }
        let part_ends = even_parts(tokens.len(), max_part_tokens);
        Ok(Self { bits, dimensions, tokens: stored_tokens, codes, part_ends })
    }

    /// Creates token vectors from codes of 8 bits. `codes` has `dimensions` codes for each token, one token after the
    /// other. A part has at most `max_part_tokens` tokens; all parts have nearly the same length.
    ///
    /// # Errors
    /// `InvalidInput` if `dimensions` or `max_part_tokens` is 0, or `codes` has another length than `dimensions` times
    /// the number of tokens.
    pub fn from_codes(dimensions: usize, codes: Vec<i8>, tokens: Vec<Token>, max_part_tokens: usize) -> Result<Self> {
        check_shape(dimensions, max_part_tokens, codes.len(), tokens.len())?;
        let part_ends = even_parts(tokens.len(), max_part_tokens);
        Ok(Self { bits: CodeBits::Eight, dimensions, tokens, codes, part_ends })
    }

    /// Returns the number of values of each vector.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Returns the tokens, in the order of the text.
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// Returns the codes of all tokens.
    pub fn codes(&self) -> &[i8] {
        &self.codes
    }

    /// Returns the index of the token after each part of the text.
    pub fn part_ends(&self) -> &[usize] {
        &self.part_ends
    }

    /// Returns true if there are no tokens.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Returns a vector of the whole text: the mean of the vectors, weighted by the tokens' weights (Arora, Liang and
    /// Ma 2017) and scaled to length 1. All values are 0 if no token has a weight.
    pub fn weighted_mean(&self) -> Vec<f32> {
        let mut mean = vec![0.0; self.dimensions];
        for (codes, token) in self.codes.chunks_exact(self.dimensions).zip(&self.tokens) {
            for (sum, code) in mean.iter_mut().zip(codes) {
                *sum += token.weight * token.scale * f32::from(*code);
            }
        }
        let length = mean.iter().map(|value| value * value).sum::<f32>().sqrt();
        if length > 0.0 {
            mean.iter_mut().for_each(|value| *value /= length);
        }
        mean
    }

    /// Returns the stored form. The bytes are the same on every machine.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.tokens.len() * (self.dimensions + 6) + 8);
        bytes.push(match self.bits {
            CodeBits::Four => 4,
            CodeBits::Eight => 8,
        });
        varint::push(&mut bytes, self.dimensions as u64);
        varint::push(&mut bytes, self.part_ends.len() as u64);
        for end in &self.part_ends {
            varint::push(&mut bytes, *end as u64);
        }
        for token in &self.tokens {
            varint::push(&mut bytes, u64::from(token.id));
            bytes.push((token.weight * f32::from(u8::MAX)).round() as u8);
            let max_value = token.scale * self.bits.max_code();
            bytes.extend_from_slice(&((max_value * f32::from(u16::MAX)).round() as u16).to_le_bytes());
        }
        match self.bits {
            CodeBits::Eight => bytes.extend(self.codes.iter().map(|code| code.to_le_bytes()[0])),
            CodeBits::Four => bytes.extend(self.codes.chunks(2).map(|pair| {
                let nibble = |index: usize| pair.get(index).map_or(0, |code| (code + NIBBLE_OFFSET) as u8);
                nibble(0) | nibble(1) << 4
            })),
        }
        bytes
    }

    /// Reads the stored form that [`to_bytes`](Self::to_bytes) returns.
    ///
    /// # Errors
    /// `Corrupt` if the bytes are not in this form.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let corrupt = || Error::new(ErrorKind::Corrupt, "token vectors", "the stored token vectors cannot be read");
        Self::parse(bytes).ok_or_else(corrupt)
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (bits, mut rest) = bytes.split_first()?;
        let bits = match bits {
            4 => CodeBits::Four,
            8 => CodeBits::Eight,
            _ => return None,
        };
        let dimensions = usize::try_from(varint::pull(&mut rest)?).ok().filter(|dimensions| *dimensions > 0)?;
        let parts = varint::pull(&mut rest)?;
        let mut part_ends: Vec<usize> = Vec::new();
        for _ in 0..parts {
            let end = usize::try_from(varint::pull(&mut rest)?).ok()?;
            if end <= part_ends.last().copied().unwrap_or(0) {
                return None;
            }
            part_ends.push(end);
        }
        let count = part_ends.last().copied().unwrap_or(0);
        let mut tokens = Vec::new();
        for _ in 0..count {
            let id = u32::try_from(varint::pull(&mut rest)?).ok()?;
            let ([weight, low, high], after) = rest.split_first_chunk::<3>()?;
            rest = after;
            let max_value = f32::from(u16::from_le_bytes([*low, *high])) / f32::from(u16::MAX);
            let weight = f32::from(*weight) / f32::from(u8::MAX);
            tokens.push(Token { id, weight, scale: max_value / bits.max_code() });
        }
        let values = count.checked_mul(dimensions)?;
        let codes: Vec<i8> = match bits {
            CodeBits::Eight => rest.iter().map(|byte| i8::from_le_bytes([*byte])).collect(),
            CodeBits::Four if rest.len() == values.div_ceil(2) => {
                let pair = |byte: &u8| [byte & 15, byte >> 4].map(|nibble| nibble as i8 - NIBBLE_OFFSET);
                rest.iter().flat_map(pair).take(values).collect()
            }
            CodeBits::Four => return None,
        };
        (codes.len() == values).then_some(Self { bits, dimensions, tokens, codes, part_ends })
    }
}

/// # Errors
/// `InvalidInput` if a size is 0, or the values are not those of this number of vectors.
fn check_shape(dimensions: usize, max_part_tokens: usize, values: usize, tokens: usize) -> Result<()> {
    if dimensions == 0 || max_part_tokens == 0 {
        let message = format!("dimensions ({dimensions}) and max_part_tokens ({max_part_tokens}) must be at least 1");
        return Err(Error::invalid("token vectors", message));
    }
    if values != dimensions * tokens {
        let message = format!("{values} values are not {tokens} token vectors of {dimensions} dimensions");
        return Err(Error::invalid("token vectors", message));
    }
    Ok(())
}

/// Returns the index of the token after each part: the fewest parts of at most `max_part_tokens`, of nearly the same
/// length.
fn even_parts(tokens: usize, max_part_tokens: usize) -> Vec<usize> {
    let parts = tokens.div_ceil(max_part_tokens);
    (1..=parts).map(|part| tokens * part / parts).collect()
}

/// As [`f32::round`] for small numbers, which is a function call on x86-64 without SSE 4.1. NaN becomes 0.
fn round_half_away(value: f32) -> i32 {
    let whole = value as i32;
    let rest = value - whole as f32;
    if rest >= 0.5 {
        whole + 1
    } else if rest <= -0.5 {
        whole - 1
    } else {
        whole
    }
}

/// Rounds the maximum value of a vector to 16 bits, as in the stored form.
fn round_max_value(max_value: f32) -> f32 {
    (max_value.min(1.0) * f32::from(u16::MAX)).round() / f32::from(u16::MAX)
}

/// Rounds a weight to 8 bits, as in the stored form. NaN becomes 0.
fn round_weight(weight: f32) -> f32 {
    let weight = if weight.is_nan() { 0.0 } else { weight };
    (weight.clamp(0.0, 1.0) * f32::from(u8::MAX)).round() / f32::from(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(bits: CodeBits) -> MultiVector {
        let values = [0.6, -0.8, 0.0, 1.0, -0.6, 0.8, 0.5, 0.5, -0.7, -0.1];
        let tokens = [(7, 1.0), (300, 0.5), (7, 0.25), (0, 0.0), (250_000, 0.1)];
        MultiVector::quantize(bits, 2, &values, &tokens, 2).unwrap()
    }

    #[test]
    fn stored_form_is_exact() {
        for bits in [CodeBits::Four, CodeBits::Eight] {
            let vectors = example(bits);
            assert_eq!(MultiVector::from_bytes(&vectors.to_bytes()).unwrap(), vectors);
            let empty = MultiVector::quantize(bits, 3, &[], &[], 8).unwrap();
            assert_eq!(MultiVector::from_bytes(&empty.to_bytes()).unwrap(), empty);
        }
    }

    #[test]
    fn rounding_equals_that_of_the_standard_library() {
        for step in -20_000..=20_000 {
            let value = step as f32 / 128.0;
            for value in [value, value.next_up(), value.next_down()] {
                assert_eq!(round_half_away(value) as f32, value.round(), "{value}");
            }
        }
        assert_eq!(round_half_away(f32::NAN), 0);
    }

    #[test]
    fn values_are_within_half_a_step() {
        let vectors = example(CodeBits::Four);
        for (codes, (token, expected)) in
            vectors.codes().chunks(2).zip(vectors.tokens().iter().zip([[0.6, -0.8], [0.0, 1.0]]))
        {
            for (code, expected) in codes.iter().zip(expected) {
                let value = f32::from(*code) * token.scale;
                assert!((value - expected).abs() <= token.scale * 0.501, "{value} {expected}");
            }
        }
        assert_eq!(vectors.part_ends(), [1, 3, 5]);
    }

    #[test]
    fn mean_has_length_one_and_follows_the_weights() {
        let mean = example(CodeBits::Eight).weighted_mean();
        assert!((mean.iter().map(|value| value * value).sum::<f32>() - 1.0).abs() < 1e-5);
        let values = [1.0, 0.0, 0.0, 1.0];
        let one_sided = MultiVector::quantize(CodeBits::Eight, 2, &values, &[(1, 1.0), (2, 0.0)], 8).unwrap();
        assert_eq!(one_sided.weighted_mean(), [1.0, 0.0]);
        assert_eq!(MultiVector::quantize(CodeBits::Eight, 2, &[], &[], 8).unwrap().weighted_mean(), [0.0, 0.0]);
    }

    #[test]
    fn other_bytes_are_corrupt() {
        let bytes = example(CodeBits::Four).to_bytes();
        assert_eq!(MultiVector::from_bytes(&[]).unwrap_err().kind(), ErrorKind::Corrupt);
        assert!(MultiVector::from_bytes(&bytes[..bytes.len() - 1]).is_err());
        assert!(MultiVector::from_bytes(&[&bytes[..], &[0]].concat()).is_err());
        let huge = [4, 0xff, 0xff, 0xff, 0xff, 0x7f, 1, 0xff, 0xff, 0xff, 0xff, 0x7f];
        assert!(MultiVector::from_bytes(&huge).is_err());
        assert!(MultiVector::quantize(CodeBits::Four, 2, &[0.0; 3], &[(1, 1.0)], 8).is_err());
    }

    #[test]
    fn codes_need_a_length_that_fits() {
        let token = |id| Token { id, weight: 1.0, scale: 0.01 };
        let vectors = MultiVector::from_codes(2, vec![60, -80, 0, 100, 80, 60], vec![token(1), token(2), token(3)], 2);
        let vectors = vectors.unwrap();
        assert_eq!(vectors.part_ends(), [1, 3]);
        assert_eq!(vectors.tokens()[2], token(3));
        assert!(MultiVector::from_codes(2, vec![1; 3], vec![token(1)], 2).is_err());
        assert!(MultiVector::from_codes(2, vec![1; 2], vec![token(1)], 0).is_err());
    }
}
