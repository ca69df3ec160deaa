//! The extractor of the fact of the latest message. It shows whether the rules or a model work, without the settings of
//! the server.

use anyhow::Result;
use memory_engine::{Field, Filter, Kind, MemoryEngine, ScanQuery, Scope, Timestamp, Trust, enrichment::ExtractedFact};
use serde::Serialize;

/// The fact of the latest message, without its text.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct LatestFact {
    /// The time of the message.
    occurred_at: Timestamp,
    /// `model`, the id of a rule, or `person`; absent if the extractor named none.
    source: Option<String>,
}

impl LatestFact {
    /// Returns that of a scope.
    pub(crate) async fn within(engine: &MemoryEngine, scope: &Scope) -> Result<Option<Self>> {
        let query = ScanQuery::newest(1).with_filter(Filter::eq(Field::Kind, Kind::FACT.as_str()));
        let page = engine.scan(scope, &query).await?;
        Ok(page.records.first().map(|record| {
            let rule = ExtractedFact::from_record(record).and_then(|fact| fact.rule).map(|rule| rule.to_string());
            // A correction by a person keeps the rule that has read it.
            let source = if record.trust == Trust::User { Some("person".to_owned()) } else { rule };
            Self { occurred_at: record.occurred_at, source }
        }))
    }

    /// Describes it for a table.
    pub(crate) fn describe(&self) -> String {
        let source = match self.source.as_deref() {
            Some("model") => "by the model".to_owned(),
            Some("person") => "by a person".to_owned(),
            Some(rule) => format!("by the rule {rule}"),
            None => "by an extractor without a name".to_owned(),
        };
        format!("{source}, from a message of {}", self.occurred_at)
    }
}
