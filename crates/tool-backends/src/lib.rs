#![doc = include_str!("../README.md")]

mod item_store;
mod memory_tool;
mod named_records;

pub use item_store::{ItemQuery, ItemStore, ItemWrite, NamespaceQuery, StoreItem};
pub use memory_tool::{MemoryTool, ToolResult};
