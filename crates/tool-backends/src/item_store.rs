//! LangGraph's store: items with a namespace and a key are records.

mod filter;
mod item;
mod query;
mod store;

pub use item::StoreItem;
pub use query::{ItemQuery, NamespaceQuery};
pub use store::{ItemStore, ItemWrite};
