//! Scans a session for secrets.

use std::collections::BTreeMap;

use axum::{Json, extract::State};
use memory_engine::{
    MemoryEngine, RecordId,
    screening::{Category, ScreeningRuleId, SecretReport},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::session::Session;
use crate::{fault::Fault, request::Body};

/// The parameters of a scan for secrets.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ScanParams {
    /// The categories: `key`, `password`, `private_key`, `connection_string`, `card`, `bank_account`, `identity`,
    /// `email`, `phone`. Default: those that the server masks or refuses.
    categories: Vec<String>,
    /// True to mask the findings in the stored records. Default: false.
    redact: bool,
}

/// The findings. They contain no text of a record.
#[derive(Serialize, JsonSchema)]
pub(super) struct ScanReport {
    session_id: String,
    /// Number of records read.
    scanned: u64,
    /// Number of records with findings.
    found: u64,
    /// Number of records whose findings were masked.
    redacted: u64,
    /// Number of findings of each rule.
    rules: Map<String, Value>,
    /// The records with findings, at most the first 1000.
    records: Vec<RecordFindings>,
}

/// The findings in a record.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RecordFindings")]
struct RecordFindings {
    #[schemars(with = "String")]
    id: RecordId,
    kind: String,
    /// Number of findings of each rule.
    rules: Map<String, Value>,
    /// The fields with findings.
    fields: Vec<&'static str>,
}

pub(super) async fn run(
    State(engine): State<MemoryEngine>,
    session: Session,
    Body(params): Body<ScanParams>,
) -> Result<Json<ScanReport>, Fault> {
    let mut scan = engine.screening().scan(&session.scope).redact(params.redact);
    if !params.categories.is_empty() {
        let categories: Result<Vec<Category>, _> = params.categories.iter().map(|name| name.parse()).collect();
        scan = scan.categories(categories?);
    }
    Ok(Json(ScanReport::new(session.id, scan.run().await?)))
}

impl ScanReport {
    fn new(session_id: String, report: SecretReport) -> Self {
        let counts = |rules: BTreeMap<ScreeningRuleId, u64>| {
            rules.into_iter().map(|(rule, count)| (rule.to_string(), count.into())).collect()
        };
        let records = report.records.into_iter().map(|record| RecordFindings {
            id: record.id,
            kind: record.kind.to_string(),
            rules: counts(record.rules),
            fields: record.fields.into_iter().map(|field| field.as_str()).collect(),
        });
        Self {
            session_id,
            scanned: report.scanned,
            found: report.found,
            redacted: report.redacted,
            records: records.collect(),
            rules: counts(report.rules),
        }
    }
}
