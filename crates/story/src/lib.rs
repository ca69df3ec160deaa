#![doc = include_str!("../README.md")]

mod index;
mod memory;
mod message;
mod mode;
mod options;
mod retrieve;
mod snippets;

pub use index::{IndexedMessage, Wait};
pub use memory::{StoryContext, StoryMemory};
pub use message::{StoryMessage, StoryTurn};
pub use mode::MemoryMode;
pub use options::{StoryOptions, story_enrichment};
