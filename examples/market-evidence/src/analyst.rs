//! The two layers of analysis. Both return the same form, with evidence or without.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::Result;
use memory_engine::llm::{ChatModel, ChatRequest, Message, OutputSchema, structured};
use memory_engine_evidence::MemoryEvidence;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// `market.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    min_confidence: f64,
    white_list: Vec<String>,
    fresh: Vec<String>,
    weak: f64,
    fast: String,
    deep: String,
    names: BTreeMap<String, Vec<String>>,
    words: BTreeMap<String, Vec<String>>,
}

/// The result of a layer.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Signal {
    pub(crate) event_type: String,
    /// Asset codes separated by commas; `NONE` if there is no asset.
    pub(crate) asset: String,
    pub(crate) summary: String,
    pub(crate) confidence: f64,
}

pub(crate) struct Analyst {
    pub(crate) model: Arc<dyn ChatModel>,
    pub(crate) config: Config,
}

impl Analyst {
    /// Runs the first layer.
    pub(crate) async fn fast(&self, flash: &str) -> Result<Signal> {
        self.ask(&self.config.fast, flash.to_owned()).await
    }

    /// Returns true if a flash needs the second layer.
    pub(crate) fn needs_deep_analysis(&self, signal: &Signal) -> bool {
        signal.confidence >= self.config.min_confidence && self.config.white_list.contains(&signal.event_type)
    }

    /// Returns the keywords and asset codes for the search in memory. They are never part of the output.
    pub(crate) fn derive(&self, flash: &str, signal: &Signal) -> (Vec<String>, Vec<String>) {
        let text = flash.to_lowercase();
        let codes: Vec<String> = signal.asset.split(',').map(|code| code.trim().to_owned()).collect();
        let names = codes.iter().filter_map(|code| self.config.names.get(code));
        let words = names.chain(self.config.words.get(&signal.event_type)).flatten();
        let keywords = words.filter(|word| text.contains(word.as_str())).cloned().collect();
        (keywords, codes.into_iter().filter(|code| code != "NONE").collect())
    }

    /// Returns true if the web is searched: the event type needs recent information, and memory has no strong evidence.
    pub(crate) fn may_search_the_web(&self, signal: &Signal, evidence: &MemoryEvidence) -> bool {
        self.config.fresh.contains(&signal.event_type) && evidence.strength() < self.config.weak
    }

    /// Runs the second layer with the evidence from memory.
    pub(crate) async fn deep(&self, flash: &str, fast: &Signal, memory: &MemoryEvidence, web: bool) -> Result<Signal> {
        let tools = if web { vec!["search_web"] } else { Vec::new() };
        let context = json!({ "memory_evidence": memory });
        let input = json!({ "flash": flash, "signal": fast, "additional_context": context, "tools": tools });
        self.ask(&self.config.deep, input.to_string()).await
    }

    async fn ask(&self, system: &str, input: String) -> Result<Signal> {
        let schema = serde_json::from_str(include_str!("../data/signal.schema.json"))?;
        let request = ChatRequest::new([Message::system(system), Message::user(input)]);
        let request = request.with_output(OutputSchema::new("signal", schema));
        Ok(structured::ask::<Signal>(&*self.model, request).await?.value)
    }
}
