#![doc = include_str!("../README.md")]

mod chat;
mod settings;

pub use chat::{Mem0Chat, MemorySearch, Retrieved};
pub use settings::Mem0Settings;
