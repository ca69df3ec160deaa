#![doc = include_str!("../README.md")]

mod diversity;
mod feature;
mod fusion;
mod lexical;
mod linear;
mod relevance;
mod reranker;

pub use diversity::{DIVERSITY_MIN_SIMILARITY, DIVERSITY_REPEAT_SIMILARITY, Diversified, TermSet, diversify};
pub use feature::{Feature, FeatureValues, position_among};
pub use fusion::{Fused, Fusion, Method, Ranking, RetrieverRank, fuse};
pub use lexical::LexicalReranker;
pub use linear::{FeatureWeights, QueryShape, RankingModel};
pub use relevance::RelevanceModel;
pub use reranker::Reranker;
