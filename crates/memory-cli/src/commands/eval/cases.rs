//! Tests which records would be injected: some are expected, others are forbidden.

use std::{collections::BTreeSet, path::Path};

use anyhow::{Result, ensure};
use memory_engine::{MemoryEngine, Scope};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{json_lines, modes::EVAL_DEADLINE, output, question};

/// A question with the records that must, and must not, be injected for it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InjectionCase {
    id: String,
    scope: String,
    /// The session that is searched; all sessions of the scope if absent.
    session: Option<String>,
    question: String,
    /// The time of the question, read as UTC. Default: now.
    time: Option<String>,
    /// Maximum number of hits. Default: the engine's.
    limit: Option<usize>,
    /// Records that must be injected.
    #[serde(default)]
    expected: BTreeSet<String>,
    /// Records that must not be injected.
    #[serde(default)]
    forbidden: BTreeSet<String>,
    /// True if no other record may be injected.
    #[serde(default)]
    exact: bool,
}

/// The result of a case.
#[derive(Debug, Serialize)]
struct CaseOutcome {
    id: String,
    passed: bool,
    injected: Vec<String>,
    missing: Vec<String>,
    unwanted: Vec<String>,
}

/// Reads a file of cases.
pub(super) fn read(path: &Path) -> Result<Vec<InjectionCase>> {
    json_lines::read(path)
}

/// Runs the cases on the relevant hits of each question.
pub(super) async fn run(engine: &MemoryEngine, cases: &[InjectionCase]) -> Result<Value> {
    let mut outcomes = Vec::with_capacity(cases.len());
    for case in cases {
        let mut scope = Scope::user(&case.scope)?;
        if let Some(session) = &case.session {
            scope = scope.with_session(session)?;
        }
        let options = engine.settings().recall_options().with_deadline(EVAL_DEADLINE);
        let mut query = question::query_at(&case.question, case.time.as_deref())?.with_options(options);
        if let Some(limit) = case.limit {
            query = query.with_limit(limit);
        }
        let recall = engine.recall(&scope, query).await?;
        ensure!(!recall.is_partial(), "the recall was degraded: {:?}", recall.degraded);
        outcomes.push(case.evaluate(recall.relevant().map(|hit| question::data_set_id(&hit.record)).collect()));
    }
    let passed = outcomes.iter().filter(|outcome| outcome.passed).count();
    Ok(json!({ "passed": passed, "failed": outcomes.len() - passed, "cases": outcomes }))
}

impl InjectionCase {
    fn evaluate(&self, injected: Vec<String>) -> CaseOutcome {
        let missing: Vec<String> = self.expected.iter().filter(|id| !injected.contains(id)).cloned().collect();
        let is_unwanted = |id: &&String| self.forbidden.contains(*id) || (self.exact && !self.expected.contains(*id));
        let unwanted: Vec<String> = injected.iter().filter(is_unwanted).cloned().collect();
        let passed = missing.is_empty() && unwanted.is_empty();
        CaseOutcome { id: self.id.clone(), passed, injected, missing, unwanted }
    }
}

/// Renders the failed cases as a table, with the number of those that passed.
pub(super) fn table(result: &Value) -> String {
    let count = |key: &str| result.get(key).and_then(Value::as_u64).unwrap_or_default();
    let summary = format!("{} passed, {} failed", output::counted(count("passed"), "case", "cases"), count("failed"));
    if count("failed") == 0 {
        return summary;
    }
    let mut table = output::table(["failed case", "missing", "unwanted"]);
    for case in result["cases"].as_array().into_iter().flatten().filter(|case| case["passed"] == false) {
        let list = |key: &str| {
            let ids = case[key].as_array().into_iter().flatten().filter_map(Value::as_str);
            ids.collect::<Vec<_>>().join(", ")
        };
        table.add_row([case["id"].as_str().unwrap_or_default().to_owned(), list("missing"), list("unwanted")]);
    }
    format!("{summary}\n{table}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(case: &Value, injected: &[&str]) -> bool {
        let mut case = case.clone();
        case["id"] = json!("c1");
        case["scope"] = json!("lin");
        case["question"] = json!("Where do I live?");
        let case: InjectionCase = serde_json::from_value(case).unwrap();
        case.evaluate(injected.iter().map(|id| (*id).to_owned()).collect()).passed
    }

    #[test]
    fn expected_and_forbidden_records_decide() {
        let case = json!({ "expected": ["a"], "forbidden": ["b"] });
        assert!(passes(&case, &["a", "c"]));
        assert!(!passes(&case, &["c"]), "a is missing");
        assert!(!passes(&case, &["a", "b"]), "b is forbidden");
    }

    #[test]
    fn exact_forbids_everything_else() {
        assert!(passes(&json!({ "exact": true }), &[]));
        assert!(!passes(&json!({ "exact": true }), &["a"]));
        assert!(!passes(&json!({ "expected": ["a"], "exact": true }), &["a", "b"]));
    }
}
