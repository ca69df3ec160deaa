#![doc = include_str!("../README.md")]

// First, so that the other modules see its macro.
#[macro_use]
pub mod data_files;
mod code;
mod macros;
mod regex;
mod sentences;
mod words;

pub use code::{CodeRanges, FencedBlock, fenced_blocks, is_code_block};
pub use data_files::load;
pub use macros::{Macros, alternatives, join_lines};
pub use regex::{Captures, Match, RegexError, RegexIndex, RegexOptions, SharedRegex};
pub use sentences::{Sentence, SentenceRules, sentences};
pub use words::Words;
