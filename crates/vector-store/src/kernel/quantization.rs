//! The result of quantizing a vector.

/// The scale of the codes of a vector, and their error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Quantization {
    /// The value of one step of a code.
    pub(crate) scale: f32,
    /// The squared length of the decoded vector.
    pub(crate) squared_length: f64,
    /// The squared length of the difference between the vector and the decoded one.
    pub(crate) squared_error: f64,
}
