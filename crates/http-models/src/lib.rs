#![doc = include_str!("../README.md")]

mod chat;
mod client;
mod embedder;
mod endpoint;
mod hub;
mod mem0;
mod postgrest;
mod preset;
mod relay;
mod reranker;
mod secret;
mod sse;

pub use chat::{ChatOptions, HttpChatModel, JsonMode};
pub use client::{HttpClient, HttpOptions};
pub use embedder::{EmbeddingOptions, Encoding, HttpEmbedder};
pub use endpoint::Endpoint;
pub use hub::{Checked, Fetched, Hub, HubFile, HubModel, Step};
pub use mem0::{Mem0Client, Mem0Event, Mem0Memory, Mem0Owner, Mem0Search};
pub use postgrest::{Comparison, PostgrestClient, Select};
pub use preset::Preset;
pub use relay::{Relay, RelayOptions, RelayReply, RelayRequest};
pub use reranker::{Dialect, HttpReranker, RerankOptions};
pub use secret::Secret;
pub use sse::SseEvents;
