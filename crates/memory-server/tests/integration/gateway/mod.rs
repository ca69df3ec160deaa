//! The chat gateway between a scripted client and a scripted model service.

mod chats;
mod dialects;
pub(crate) mod fixtures;
mod forwarding;
mod owners;
mod prompt_cache;
mod prompts;
mod regeneration;
mod requests;
mod scenes;
mod servers;
mod storing;
mod streams;
