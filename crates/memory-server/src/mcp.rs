//! The memory as tools of the Model Context Protocol.

mod api;
mod caller;
mod host;
mod memory;
mod options;
mod parse_error;
mod schema;
mod service;
mod tools;

pub use options::McpOptions;
pub use service::Mcp;
pub(crate) use service::build;
