//! The rows of a matrix that a kernel reads.

/// Number of rows whose sign words are interleaved: the 64-bit words of the widest register.
pub(crate) const LANES: usize = 8;

/// Rows of a matrix: the first ones, or those of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RowSelection<'r> {
    /// This many rows, from the first on.
    First(usize),
    /// The rows of this list.
    List(&'r [u32]),
}

impl RowSelection<'_> {
    /// Number of rows.
    pub(crate) fn len(self) -> usize {
        match self {
            Self::First(count) => count,
            Self::List(rows) => rows.len(),
        }
    }

    /// Returns the row at an index of the selection.
    pub(crate) fn row(self, index: usize) -> usize {
        match self {
            Self::First(_) => index,
            Self::List(rows) => rows[index] as usize,
        }
    }
}
