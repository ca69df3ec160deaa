#![doc = include_str!("../README.md")]

mod block;
mod gateway;
mod injection;
mod line;
mod list;
mod question;
mod rewrite;
mod system;

pub use block::{MemoryBlock, Rendered};
pub use gateway::GatewayBlock;
pub use injection::{
    Action, ColdStartRule, Decision, EmotionRule, EmotionWords, InjectionRules, Message, PlotRecallRule, RecallRule,
    Rule,
};
pub use list::MemoryList;
pub use question::weak_question;
pub use rewrite::{
    MAX_CONTEXT_CHARS, REWRITE_PROMPT, RewriteRequest, contextual_query, parse_rewrite, recent_conversation,
};
pub use system::{append_to_system, appended};
