#![doc = include_str!("../README.md")]

mod backchannel;
mod block;
mod built;
mod filling;
mod frame;
mod gateway;
mod injection;
mod layer;
mod line;
mod list;
mod notice;
mod phrase_pattern;
mod plan;
mod question;
mod question_around_paste;
mod rewrite;
mod session_question;
mod statements;
mod story;
mod system;
mod tokens;
mod triggers;
mod weak_question;

pub use backchannel::is_backchannel;
pub use block::{MemoryBlock, RenderedBlock};
pub use built::{BuiltContext, LayerReport, LeftOut, LeftOutReason};
pub use frame::GatewayFrame;
pub use gateway::{BlockMemories, GatewayBlock};
pub use injection::{
    Action, ColdStartRule, CoreRule, EmotionRule, EmotionWords, IncomingMessage, InjectionDecision, InjectionRules,
    PlotRecallRule, RecallRule, RelevantRule, Rule,
};
pub use layer::{Item, Layer, Overflow};
pub use line::{quoted, visible};
pub use list::MemoryList;
pub use notice::RequestNotice;
pub use plan::ContextPlan;
pub use question::{asks_for_questions, is_question};
pub use question_around_paste::question_around_paste;
pub use rewrite::{
    MAX_CONTEXT_CHARS, MAX_CONTEXT_MESSAGES, REWRITE_PROMPT, RewriteRequest, contextual_query, contextual_search_text,
    parse_rewrite, recent_conversation,
};
pub use statements::{Statements, without_replies};
pub use story::{StoryEntity, StoryRelation, StorySections};
pub use system::{append_to_system, appended};
#[cfg(feature = "bpe")]
pub use tokens::BpeTokens;
pub use tokens::{Characters, EstimatedTokens, TokenCounter};
pub use weak_question::weak_question;
