//! The OpenAI-compatible chat gateway: adds memories to the prompt and stores the turns.

mod api;
mod body;
mod build;
mod chat;
mod continuation;
mod conversion;
mod count_tokens;
mod derived_session;
mod dialect;
mod edited_first;
mod exchange;
mod identity;
mod json;
mod models;
mod openai;
mod options;
mod pending_turn;
#[cfg(feature = "ui")]
mod preview;
mod prompt;
mod prompter;
mod relay;
mod replacement;
mod reply;
mod requests;
mod response_owner;
mod responses;
mod service;
mod session_state;
mod sessions;
mod sse;
mod state;
mod stream;
mod thread;
mod turn;
mod turn_writer;
mod upstream;
mod usage;

pub(crate) use build::build;
pub use options::GatewayOptions;
#[cfg(feature = "ui")]
pub(crate) use preview::{EarlierMessage, preview};
pub use service::Gateway;
pub use upstream::Upstream;
