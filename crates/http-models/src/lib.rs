#![doc = include_str!("../README.md")]

mod chat;
mod client;
mod embedder;
mod endpoint;
#[cfg(feature = "hub")]
mod hub;
#[cfg(feature = "mem0")]
mod mem0;
#[cfg(feature = "postgrest")]
mod postgrest;
mod preset;
#[cfg(feature = "relay")]
mod relay;
mod reranker;
mod secret;
#[cfg_attr(not(feature = "relay"), allow(unreachable_pub, reason = "exported with the feature relay"))]
mod sse;

pub use chat::{ChatOptions, HttpChatModel, JsonMode};
pub use client::{HttpClient, HttpOptions};
pub use embedder::{EmbeddingOptions, Encoding, HttpEmbedder};
pub use endpoint::Endpoint;
#[cfg(feature = "hub")]
pub use hub::{DownloadProgress, FetchedFile, Hub, HubFile, HubModel, Verification};
#[cfg(feature = "mem0")]
pub use mem0::{Mem0Client, Mem0Event, Mem0Memory, Mem0Owner, Mem0Search};
#[cfg(feature = "postgrest")]
pub use postgrest::{FilterOperator, PostgrestClient, Select};
pub use preset::Preset;
#[cfg(feature = "relay")]
pub use relay::{Relay, RelayOptions, RelayReply, RelayRequest};
pub use reranker::{HttpReranker, RerankApi, RerankOptions};
pub use secret::Secret;
#[cfg(feature = "relay")]
pub use sse::SseEvents;
