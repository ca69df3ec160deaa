#![doc = include_str!("../README.md")]

mod accept;
mod expansion;
mod forward;
mod group;
mod memory;
mod pair;
mod shared;
mod store;
mod suggestion;
mod thesaurus;

pub use accept::SynonymStoreExt;
pub use group::{SEED, SynonymGroup, groups_from_toml};
pub use memory::MemorySynonymStore;
pub use pair::{PairVerdict, WordPair};
pub use shared::SharedThesaurus;
pub use store::{ApplicableGroups, SynonymStore};
pub use suggestion::{PairEvidence, PairReason, SourceText, Suggester, Suggestion};
pub use thesaurus::Thesaurus;
