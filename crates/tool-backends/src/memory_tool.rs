//! Anthropic's memory tool: the files of the model are records.

mod command;
mod files;
mod known;
mod listing;
mod path;
mod tool;

pub use tool::{MemoryTool, ToolResult};
