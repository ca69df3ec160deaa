#![doc = include_str!("../README.md")]

mod boilerplate;
mod injected;
mod message;
mod pattern;
mod surrogates;
mod tasks;
mod thoughts;

pub use injected::without_injected;
pub use message::{IncomingWords, model_words, note_words, prompt_words};
pub use surrogates::without_lone_surrogates;
pub use tasks::is_client_task;
