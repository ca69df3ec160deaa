#![doc = include_str!("../README.md")]

mod document;
mod persist;
mod retrieve;
mod storage;

pub use retrieve::EngineFilter;
pub use storage::EngineStorage;
