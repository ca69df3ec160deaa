#![doc = include_str!("../README.md")]

mod index;
mod memory;
mod message;
mod options;
mod retrieve;

pub use index::{Indexed, Wait};
pub use memory::{StoryContext, StoryMemory};
pub use message::{StoryMessage, StoryTurn};
pub use options::{StoryOptions, story_digest};
