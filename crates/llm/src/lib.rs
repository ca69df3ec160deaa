#![doc = include_str!("../README.md")]

mod chat;
mod daily_budget;
mod reply;
mod request;
mod scripted;
pub mod structured;

pub use chat::ChatModel;
pub use daily_budget::DailyBudget;
pub use reply::{ChatDelta, ChatReply, ChatStream, FinishReason, Usage};
pub use request::{ChatRequest, Message, OutputSchema};
pub use scripted::{ScriptedModel, ScriptedReply};
