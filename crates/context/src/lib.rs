#![doc = include_str!("../README.md")]

mod block;

pub use block::{MemoryBlock, Rendered};
