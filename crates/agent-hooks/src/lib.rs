#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod agent;
mod event;
mod handler;
mod notes;
mod project;
mod projects;
mod session;
mod statement;

pub use agent::Agent;
pub use event::{HookEvent, HookKind, SessionBeginning};
pub use handler::{AgentHooks, HookAnswer, HookOptions, PromptPreview};
pub use project::locate_project;
pub use projects::{Project, Projects};
