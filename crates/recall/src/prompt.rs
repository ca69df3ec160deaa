//! Memories as text for a prompt.

use std::future::IntoFuture;

use futures_util::{FutureExt, future::BoxFuture};
use memory_engine_context::{
    ContextPlan, EstimatedTokens, Item, Layer, LayerReport, LeftOut, LeftOutReason, MemoryBlock, Overflow,
    RenderedBlock, TokenCounter, quoted,
};
use memory_engine_core::{Field, Filter, Kind, Record, RecordId, Result, Scope, State};
use memory_engine_indexing::verb;
use tracing::{Span, field::Empty};

use crate::{
    hit::{Degraded, RecallHit},
    injection::pinned::{MAX_PINNED, pinned_records, within_budget},
    pipeline::{RecallPipeline, SharedPipeline},
    query::RecallQuery,
};

/// Budget of the persona, as a share of the token limit (0–1). The persona is never cut, and may exceed it.
const PERSONA_SHARE: f64 = 0.4;
/// Budget of the recent turns, as a share of the token limit (0–1). Persona and memories are filled first; the
/// memories get at most the rest of the limit.
const RECENT_SHARE: f64 = 0.3;
/// The name of the layer of the memories.
const MEMORIES: &str = "memories";

/// A request for text for a prompt. `MemoryEngine::context` creates one; awaiting it runs it.
#[derive(Debug, Clone)]
#[must_use = "a request does nothing until it is awaited"]
pub struct ContextRequest {
    pipeline: SharedPipeline,
    scope: Scope,
    query: RecallQuery,
    persona: String,
    recent: usize,
    max_tokens: usize,
    block: MemoryBlock,
}

/// Text for a prompt, with the records that it shows.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PromptContext {
    /// The text: persona, relevant memories, recent turns. Parts that are empty are left out.
    pub text: String,
    /// Number of tokens of the text by [`EstimatedTokens`].
    pub tokens: usize,
    /// The records of the memories and recent turns in the text.
    pub records: Vec<RecordId>,
    /// The size of each part, and what was left out.
    pub layers: Vec<LayerReport>,
    /// The hits of the recall, best first, also those that are not in the text.
    pub hits: Vec<RecallHit>,
    /// Stages of the recall that failed or were late.
    pub degraded: Vec<Degraded>,
}

impl ContextRequest {
    /// Creates a request with the default options.
    pub fn new(
        engine: impl AsRef<RecallPipeline> + Send + Sync + 'static,
        scope: Scope,
        query: impl Into<RecallQuery>,
    ) -> Self {
        let pipeline = SharedPipeline::of(engine);
        let block = pipeline.memory_block();
        Self { pipeline, scope, query: query.into(), persona: String::new(), recent: 0, max_tokens: 1000, block }
    }

    memory_engine_core::setters! {
        /// Sets the persona of the model: a text that comes first and is never cut. Default: none.
        persona(text: impl Into<String>) => persona = text.into();
        /// Appends the newest `turns` turns within the scope, oldest first. The oldest are left out if they exceed
        /// their share of the limit. They are never listed among the memories. Default: 0.
        recent(turns: usize) => recent = turns;
        /// Sets the maximum number of tokens of the whole text. Default: 1000.
        max_tokens(tokens: usize) => max_tokens = tokens;
        /// Sets heading, zone and line length of the list of memories. Default:
        /// `Settings::memory_block`.
        block(block: MemoryBlock);
    }

    async fn run(self) -> Result<PromptContext> {
        let scope = self.scope.clone();
        let max_tokens = self.max_tokens;
        let note = |span: &Span, context: &PromptContext| {
            span.record("tokens", context.tokens);
            span.record("records", context.records.len());
        };
        let work = self.build();
        verb!("context", &scope, { max_tokens = max_tokens, tokens = Empty, records = Empty }, work, note)
    }

    async fn build(self) -> Result<PromptContext> {
        let recent = self.recent_turns().await?;
        let recall = self.pipeline.recall(&self.scope, &self.query).await?;
        let is_recent = |record: &&Record| recent.iter().any(|turn| turn.id == record.id);
        let mut block = self.block.clone();
        let mut pinned = pinned_records(&*self.pipeline, &self.scope, MAX_PINNED).await?;
        pinned.retain(|record| !is_recent(&record));
        let pinned = within_budget(pinned, block.max_chars, block.max_chars_each);
        let relevant = recall.relevant().map(|hit| &hit.record).filter(|record| !is_recent(record));
        let relevant = relevant.filter(|record| pinned.iter().all(|pinned| pinned.id != record.id));
        let memories: Vec<&Record> = pinned.iter().chain(relevant).collect();
        block.zone.get_or_insert_with(|| self.pipeline.parts().locale.zone.clone());
        let recent_budget = token_share(self.max_tokens, RECENT_SHARE);
        // The separators before and after the memories.
        let separator_tokens = 2 * EstimatedTokens.count(ContextPlan::LAYER_SEPARATOR);
        let persona_tokens = EstimatedTokens.count(&self.persona);
        let reserved_tokens = recent_budget.max(persona_tokens + separator_tokens);
        let memories_budget = self.max_tokens.saturating_sub(reserved_tokens);
        let order: Vec<RecordId> = memories.iter().map(|record| record.id).collect();
        let memories = render_within(block, memories, memories_budget, &EstimatedTokens);
        let persona = Layer::text("persona", token_share(self.max_tokens, PERSONA_SHARE), self.persona).stable();
        let recent_items = recent.iter().map(|turn| Item::of(turn, spoken_line(turn)));
        let plan = ContextPlan::new(self.max_tokens)
            .with_layer(persona.with_overflow(Overflow::NeverCut))
            .with_layer(Layer::block(MEMORIES, memories_budget, &memories))
            .with_layer(Layer::new("recent", recent_budget).with_items(recent_items));
        let mut built = plan.build(&EstimatedTokens)?;
        if let Some(layer) = built.layers.iter_mut().find(|layer| layer.name == MEMORIES) {
            report_memories(layer, &order, memories);
        }
        let records = built.layers.iter().flat_map(|layer| layer.included.iter().copied()).collect();
        Ok(PromptContext {
            text: built.text,
            tokens: built.tokens,
            records,
            layers: built.layers,
            hits: recall.hits,
            degraded: recall.degraded,
        })
    }

    /// Returns the newest turns within the scope, oldest first.
    async fn recent_turns(&self) -> Result<Vec<Record>> {
        if self.recent == 0 {
            return Ok(Vec::new());
        }
        let turns = Filter::eq(Field::Kind, Kind::TURN.as_str()).and(Filter::eq(Field::State, State::Active.as_str()));
        let mut turns = self.pipeline.newest(&self.scope, turns, self.recent).await?;
        turns.reverse();
        Ok(turns)
    }
}

fn token_share(max_tokens: usize, share: f64) -> usize {
    (max_tokens as f64 * share) as usize
}

/// Renders the best memories, as many as fit into `max_tokens` and into the block.
fn render_within(
    mut block: MemoryBlock,
    memories: Vec<&Record>,
    max_tokens: usize,
    counter: &dyn TokenCounter,
) -> RenderedBlock {
    loop {
        let rendered = block.render(memories.iter().copied());
        let tokens = counter.count(&rendered.text);
        if tokens <= max_tokens {
            return rendered;
        }
        // The limit of a block is in characters, and the number of characters per token differs between languages.
        let max_chars = rendered.text.chars().count() * max_tokens / tokens;
        block = block.with_max_chars(max_chars);
    }
}

/// Names the memories of a block in the report of its layer: those in the text, and those that did not fit. `order` are
/// the ids of all of them, best first.
fn report_memories(layer: &mut LayerReport, order: &[RecordId], block: RenderedBlock) {
    if layer.tokens > 0 {
        layer.included = block.included;
    }
    let left_out = order.iter().copied().enumerate().filter(|(_, id)| !layer.included.contains(id));
    let reason = LeftOutReason::Layer;
    layer.left_out = left_out.map(|(place, id)| LeftOut { place, id: Some(id), reason }).collect();
    layer.taken = layer.included.len();
}

fn spoken_line(turn: &Record) -> String {
    match turn.speaker.as_deref().or(turn.role.as_ref().map(|role| role.as_str())) {
        Some(speaker) => format!("{}: {}", quoted(speaker, &[]), quoted(&turn.text, &[])),
        None => quoted(&turn.text, &[]),
    }
}

impl IntoFuture for ContextRequest {
    type Output = Result<PromptContext>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        self.run().boxed()
    }
}
