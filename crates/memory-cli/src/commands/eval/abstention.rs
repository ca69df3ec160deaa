//! Measures abstention: how often the relevance threshold suppresses the hits of unanswerable questions, and how many
//! answers it keeps.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use memory_engine::{MemoryEngine, Scope};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{modes::EVAL_DEADLINE, output, question::EvalQuestion};

/// Maximum number of hits that would be injected.
const MAX_INJECTED: usize = 5;

/// The greatest relevance among the first hits of a question; −1 if there is no such hit.
struct BestRelevance {
    of_any: f64,
    of_gold: f64,
}

/// Injection rates at one threshold of relevance.
#[derive(Debug, Serialize)]
struct Rates {
    min_relevance: f64,
    /// Share of the answerable questions for which a record with the answer is injected.
    answers_injected: f64,
    /// Share of the unanswerable questions for which anything is injected.
    false_injections: f64,
}

/// Asks answerable and unanswerable questions, and returns the injection rates at several thresholds.
pub(super) async fn measure(
    engine: &MemoryEngine,
    answerable: &[EvalQuestion],
    unanswerable: &[EvalQuestion],
) -> Result<Value> {
    let answerable = best_relevances(engine, answerable).await?;
    let unanswerable = best_relevances(engine, unanswerable).await?;
    let share = |count: usize, of: &[BestRelevance]| count as f64 / of.len().max(1) as f64;
    let rates = |min_relevance: f64| Rates {
        min_relevance,
        answers_injected: share(answerable.iter().filter(|best| best.of_gold >= min_relevance).count(), &answerable),
        false_injections: share(unanswerable.iter().filter(|best| best.of_any >= min_relevance).count(), &unanswerable),
    };
    let default = rates(engine.settings().recall_options().min_relevance);
    let thresholds: Vec<Rates> = (1..20).map(|n| rates(f64::from(n) / 20.0)).collect();
    Ok(json!({ "unanswerable": unanswerable.len(), "default": default, "thresholds": thresholds }))
}

async fn best_relevances(engine: &MemoryEngine, questions: &[EvalQuestion]) -> Result<Vec<BestRelevance>> {
    let bar = output::progress(questions.len() as u64, "relevance {wide_bar} {pos}/{len} questions {eta}");
    let options = engine.settings().recall_options().with_deadline(EVAL_DEADLINE);
    let mut best = Vec::with_capacity(questions.len());
    for question in questions {
        let query = question.query()?.with_limit(MAX_INJECTED).with_options(options);
        let recall = engine.recall(&Scope::user(&question.scope)?, query).await?;
        ensure!(!recall.is_partial(), "the recall was degraded: {:?}", recall.degraded);
        let gold: BTreeSet<String> = question.groups().into_iter().flatten().collect();
        let is_gold = |id: &Option<String>| id.as_ref().is_some_and(|id| gold.contains(id));
        let any = recall.hits.iter().map(|hit| hit.relevance);
        let gold = recall.hits.iter().filter(|hit| is_gold(&hit.record.source.message_id)).map(|hit| hit.relevance);
        best.push(BestRelevance { of_any: any.fold(-1.0, f64::max), of_gold: gold.fold(-1.0, f64::max) });
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(best)
}

/// Renders the rates as a table: the default, then other thresholds.
pub(super) fn table(measured: &Value) -> String {
    let mut table = output::table(["relevance at least", "answers injected", "false injections"]);
    let mut add = |name: &str, rates: &Value| {
        let value = |key: &str| rates.get(key).and_then(Value::as_f64).map(output::ratio).unwrap_or_default();
        let threshold = format!("{}{name}", value("min_relevance"));
        table.add_row([threshold, value("answers_injected"), value("false_injections")]);
    };
    add(" (default)", &measured["default"]);
    for rates in measured["thresholds"].as_array().into_iter().flatten() {
        add("", rates);
    }
    table.to_string()
}
