#![doc = include_str!("../README.md")]

mod command;
mod files;
mod known;
mod listing;
mod path;
mod tool;

pub use tool::{MemoryTool, ToolResult};
