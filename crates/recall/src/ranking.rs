//! The methods by which a recall orders its candidates.

use memory_engine_core::{Error, enum_names};
use serde::{Deserialize, Serialize};

/// Method by which a recall orders its candidates.
///
/// ```
/// use memory_engine::{RecallOptions, recall::{Method, RankingMethod}};
///
/// // What vector databases call hybrid search: reciprocal rank fusion, and nothing else.
/// let mut options = RecallOptions::default().with_ranking(RankingMethod::Fusion);
/// options.fusion = Method::Ranks { k: 60.0 };
/// options.vector_weight = 0.5;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RankingMethod {
    /// By features of words, speakers, neighbors and time, then by the reranker, boosts and diversity. The default. It
    /// reads up to [`max_candidates`](crate::RecallOptions::max_candidates) records.
    #[default]
    Features,
    /// In the order in which the lists of the retrievers are fused. Nothing else changes the order or the scores: no
    /// neighbors, features, reranker, boosts, or diversity. It reads about as many records as it returns, and so takes
    /// a quarter of the time.
    Fusion,
}

enum_names! {
    RankingMethod, "ranking method" {
        Features => "features",
        Fusion => "fusion",
    }
}
