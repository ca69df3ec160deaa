#![doc = include_str!("../README.md")]

mod chat;
mod settings;

pub use chat::{Asked, Mem0Chat, Retrieved};
pub use settings::Mem0Settings;
