#![doc = include_str!("../README.md")]

mod fusion;
mod lexical;
mod novelty;
mod reranker;

pub use fusion::{Fused, Fusion, Method, Ranking, RetrieverRank, fuse};
pub use lexical::LexicalReranker;
pub use novelty::Novelty;
pub use reranker::Reranker;
