//! Every fenced Rust block of the READMEs, of two pages of the guide and of the library pages, compiled and run by a
//! crate that has no other connection to this project than its dependencies.

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/agent-hooks/README.md")]
pub mod agent_hooks {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/companion/README.md")]
pub mod companion {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/conformance/README.md")]
pub mod conformance {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/context/README.md")]
pub mod context {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/curation/README.md")]
pub mod curation {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/databases/README.md")]
pub mod databases {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/dialects/README.md")]
pub mod dialects {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/embedder/README.md")]
pub mod embedder {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/enrichment/README.md")]
pub mod enrichment {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/evidence/README.md")]
pub mod evidence {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/graph/README.md")]
pub mod graph {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/http-models/README.md")]
pub mod http_models {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/import/README.md")]
pub mod import {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/indexing/README.md")]
pub mod indexing {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/keyword-store/README.md")]
pub mod keyword_store {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/llm/README.md")]
pub mod llm {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/local-models/README.md")]
pub mod local_models {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/memory-core/README.md")]
pub mod memory_core {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/memory-engine/README.md")]
pub mod memory_engine {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/memory-server/README.md")]
pub mod memory_server {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/tool-backends/README.md")]
pub mod tool_backends {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/postgres/README.md")]
pub mod postgres {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/recall/README.md")]
pub mod recall {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/reranker/README.md")]
pub mod reranker {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/scene/README.md")]
pub mod scene {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/sqlite/README.md")]
pub mod sqlite {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/story/README.md")]
pub mod story {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/summarizer/README.md")]
pub mod summarizer {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/synonyms/README.md")]
pub mod synonyms {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/temporal/README.md")]
pub mod temporal {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/text/README.md")]
pub mod text {}

#[cfg(doctest)]
#[doc = include_str!("../../../../crates/vector-store/README.md")]
pub mod vector_store {}

#[cfg(doctest)]
#[doc = include_str!("../../../../README.md")]
pub mod root {}

#[cfg(doctest)]
#[doc = include_str!("../../../../README.zh-CN.md")]
pub mod root_in_chinese {}

#[cfg(doctest)]
#[doc = include_str!("../../../../docs/guide/remember-and-recall.md")]
pub mod guide {}

#[cfg(doctest)]
#[doc = include_str!("../../../../docs/guide/life-of-a-memory.md")]
pub mod life_of_a_memory {}

#[cfg(doctest)]
#[doc = include_str!("../../../../docs/library/tasks.md")]
pub mod library_tasks {}

#[cfg(doctest)]
#[doc = include_str!("../../../../docs/library/service.md")]
pub mod library_service {}

#[cfg(doctest)]
#[doc = include_str!("../../../../docs/library/testing.md")]
pub mod library_testing {}

#[cfg(doctest)]
#[doc = include_str!("../../../../docs/library/own-parts.md")]
pub mod library_own_parts {}

#[cfg(doctest)]
#[doc = include_str!("../../../../docs/library/errors.md")]
pub mod library_errors {}

#[cfg(doctest)]
#[doc = include_str!("../../../../docs/library/data.md")]
pub mod library_data {}

#[cfg(doctest)]
#[doc = include_str!("../../../../docs/library/observing.md")]
pub mod library_observing {}
