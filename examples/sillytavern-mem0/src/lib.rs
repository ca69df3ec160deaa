//! The long-term memory of a chat on a mem0 server, of this project or any other.
//!
//! [`Mem0Chat::before_generation`] searches before a reply is generated: with the question, then with the dialogue
//! before it, then with a query that a model has rewritten. [`Mem0Chat::chat_saved`] stores the last rounds after the
//! chat was saved. Neither fails, and neither exceeds the limits of [`Mem0Settings`].

mod memory;
mod settings;

pub use memory::{ChatMemories, Mem0Chat, MemorySearch};
pub use settings::Mem0Settings;
