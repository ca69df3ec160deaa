//! The core.

use axum::{Json, extract::State};
use memory_engine::{
    MemoryEngine,
    context::{Core, CoreRule},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    fault::Fault,
    request::{OwnerQuery, check_limit, owner_params},
};

const MAX_TOKENS: usize = 10_000;

owner_params! {
    /// The parameters of the core.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub(super) struct CoreQuery: Option<String> {
        /// The scene from which it is visible. Default: all scenes.
        #[serde(default)]
        from_scene: Option<String>,
        /// Maximum number of tokens, from 1 to 10000. Default: 120.
        #[serde(default)]
        #[schemars(range(min = 1, max = MAX_TOKENS))]
        max_tokens: Option<usize>,
    }
}

/// The memories that the prompt of every message has.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CoreReply {
    /// The memories by rank, also those that do not fit.
    memories: Vec<CoreMemory>,
}

/// A memory of the core.
#[derive(Debug, Serialize, JsonSchema)]
struct CoreMemory {
    id: String,
    text: String,
    /// `pinned`, `health`, `wish`, `identity`, `others_health` or `people`.
    class: &'static str,
    /// Estimated number of tokens.
    tokens: usize,
    /// True if it fits into the limit.
    included: bool,
}

pub(super) async fn core(
    State(engine): State<MemoryEngine>,
    OwnerQuery { scope, params }: OwnerQuery<CoreQuery>,
) -> Result<Json<CoreReply>, Fault> {
    if scope.user_name().is_none() {
        return Err(Fault::bad_request("name the user in `user_id`: the core is that of one person"));
    }
    let max_tokens = check_limit(params.max_tokens.unwrap_or(CoreRule::default().max_tokens), MAX_TOKENS)?;
    let core = Core::load(&engine, &scope, params.from_scene.as_deref(), max_tokens).await?;
    let memories = core.entries.into_iter().map(|entry| CoreMemory {
        id: entry.record.id.to_string(),
        class: entry.class.as_str(),
        tokens: entry.tokens,
        included: entry.included,
        text: entry.record.text,
    });
    Ok(Json(CoreReply { memories: memories.collect() }))
}
