//! The memory as tools, prompts and resources of the Model Context Protocol.

mod api;
mod caller;
mod host;
mod lines;
mod markdown;
mod memory;
mod options;
mod parse_error;
mod prompts;
mod resources;
mod schema;
mod service;
mod tools;

pub use options::McpOptions;
pub use service::Mcp;
pub(crate) use service::build;
