#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod agent;
mod event;
mod handler;
mod session;

pub use agent::Agent;
pub use event::{HookEvent, HookKind, SessionBeginning};
pub use handler::{AgentHooks, HookAnswer, HookOptions, PromptPreview};
