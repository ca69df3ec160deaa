//! Rows of matrices, as the kernels take them.

/// Number of rows of signs that lie side by side: the 64-bit words of the widest register.
pub(crate) const LANES: usize = 8;

/// Rows of a matrix: all of them, or those of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rows<'r> {
    /// The first rows, this many.
    First(usize),
    /// The rows of this list.
    Of(&'r [u32]),
}

impl Rows<'_> {
    /// Number of rows.
    pub(crate) fn len(self) -> usize {
        match self {
            Self::First(count) => count,
            Self::Of(rows) => rows.len(),
        }
    }

    /// Returns the row at a place of the list.
    pub(crate) fn at(self, place: usize) -> usize {
        match self {
            Self::First(_) => place,
            Self::Of(rows) => rows[place] as usize,
        }
    }
}
