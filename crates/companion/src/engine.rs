//! A companion at work on a memory engine and a chat model.

mod companion;
mod ledger;
mod material;
mod message;
mod profile;
mod stream;
mod turn;

pub use companion::Companion;
pub use message::{TurnReply, UserMessage};
pub use stream::{TurnPiece, TurnStream};
