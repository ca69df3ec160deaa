//! Options for opening a model.

use memory_engine_core::Kernel;

use crate::error::ModelError;

/// The arithmetic of the linear layers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Precision {
    /// Integers if the machine has instructions for them, otherwise floats.
    #[default]
    Auto,
    /// Eight-bit activations and four- or eight-bit weights, on any machine. The cosine with vectors of `F32` is above
    /// 0.999, so both can be kept in one collection.
    Int8,
    /// Floats: exact, slower and with more memory.
    F32,
}

/// Options for [`Model::open_with`](crate::Model::open_with).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelOptions {
    /// The arithmetic of the linear layers. Default: integers where the machine supports them.
    pub precision: Precision,
    /// The instruction set to use. Default: the best one that the machine has.
    pub kernel: Option<Kernel>,
    /// Prefixes that a text may begin with, such as `"query: "`. They are encoded with the text, repeated in every
    /// window of a long text, and left out of [token vectors](crate::TokenVectors). Default: those of the e5 family
    /// for an E5S1 file, none for others.
    pub prefixes: Option<Vec<String>>,
}

impl ModelOptions {
    memory_engine_core::setters! {
        #![must_use]
        /// Sets the precision.
        with_precision(precision: Precision);
        /// Sets the instruction set.
        with_kernel(kernel: Kernel) => kernel = Some(kernel);
        /// Sets the prefixes.
        with_prefixes(prefixes: impl IntoIterator<Item = impl Into<String>>)
            => prefixes = Some(prefixes.into_iter().map(Into::into).collect());
    }

    /// Returns the kernel to use, and true if integer products are used.
    pub(crate) fn resolve(&self) -> Result<(Kernel, bool), ModelError> {
        let kernel = self.kernel.unwrap_or_else(Kernel::detect);
        if !kernel.is_available() {
            let message = format!("this machine does not have the {kernel:?} instructions");
            return Err(ModelError::unsupported(message));
        }
        let integer = match self.precision {
            Precision::Auto => kernel != Kernel::Plain,
            Precision::Int8 => true,
            Precision::F32 => false,
        };
        Ok((kernel, integer))
    }
}
