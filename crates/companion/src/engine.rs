//! A companion at work on a memory engine and a chat model.

mod books;
mod companion;
mod material;
mod message;
mod profile;
mod stream;
mod turn;

pub use companion::Companion;
pub use message::{Said, TurnReply};
pub use stream::{TurnPiece, TurnStream};
