//! OpenAI Responses (`/v1/responses`).

mod reply;
mod request;
mod stream;

pub use reply::{error, reply};
pub use request::chat_request;
pub use stream::EventStream;
