#![doc = include_str!("../README.md")]

mod conversation;
mod document;
mod filter;
mod index;
mod message;
mod tools;

pub use conversation::EngineConversationMemory;
pub use document::MemoryDocument;
pub use index::EngineVectorIndex;
pub use tools::{AddMemory, AddMemoryArgs, AddedMemory, FoundMemory, SearchMemory, SearchMemoryArgs};
