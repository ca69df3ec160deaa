//! What extracted the newest fact. It tells whether the rules or a model work, without the settings of the server.

use anyhow::Result;
use memory_engine::{Field, Filter, Kind, MemoryEngine, ScanQuery, Scope, enrichment::ExtractedFact};
use serde::Serialize;

/// The newest fact, without its text.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct NewestFact {
    /// The time at which it was stored.
    recorded_at: String,
    /// `model`, or the id of the rule; absent for a fact that a person wrote.
    rule: Option<String>,
}

impl NewestFact {
    /// Returns the newest fact within a scope.
    pub(crate) async fn within(engine: &MemoryEngine, scope: &Scope) -> Result<Option<Self>> {
        let query = ScanQuery::newest(1).with_filter(Filter::eq(Field::Kind, Kind::FACT.as_str()));
        let page = engine.scan(scope, &query).await?;
        Ok(page.records.first().map(|record| {
            let rule = ExtractedFact::from_record(record).and_then(|fact| fact.rule).map(|rule| rule.to_string());
            Self { recorded_at: record.recorded_at.to_string(), rule }
        }))
    }

    /// Describes it for a table.
    pub(crate) fn describe(&self) -> String {
        let source = match self.rule.as_deref() {
            Some("model") => "by the model".to_owned(),
            Some(rule) => format!("by the rule {rule}"),
            None => "by a person".to_owned(),
        };
        format!("{source}, {}", self.recorded_at)
    }
}
