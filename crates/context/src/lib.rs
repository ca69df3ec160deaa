#![doc = include_str!("../README.md")]

mod block;
mod line;
mod question;
mod rewrite;

pub use block::{MemoryBlock, Rendered};
pub use question::weak_question;
pub use rewrite::{
    MAX_CONTEXT_CHARS, REWRITE_PROMPT, RewriteRequest, contextual_query, parse_rewrite, recent_conversation,
};
