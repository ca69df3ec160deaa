//! Anthropic Messages (`/v1/messages`).

mod reply;
mod request;
mod stream;

pub use reply::{error, reply};
pub use request::chat_request;
pub use stream::EventStream;
