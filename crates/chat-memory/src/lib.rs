#![doc = include_str!("../README.md")]

mod chat;
mod settings;

pub use chat::{ChatMemories, Mem0Chat, MemorySearch};
pub use settings::Mem0Settings;
