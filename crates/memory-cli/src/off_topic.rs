//! Measures the relevance gate: how often hits pass as relevant for questions about their scope (on topic) and for
//! questions about another scope (off topic).

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use memory_engine::{MemoryEngine, RecallHit, Scope, recall::Retriever};
use serde_json::{Value, json};

use crate::{modes::EVAL_DEADLINE, output, question::EvalQuestion};

/// Maximum number of hits that would be injected.
const MAX_INJECTED: usize = 5;

/// The scores of a hit.
struct MeasuredHit {
    keyword_score: f64,
    similarity: f64,
    is_relevant: bool,
    is_gold: bool,
}

/// Runs every question in its own scope and in another one. Returns, for several thresholds, the share of questions for
/// which a hit would be injected.
pub(crate) async fn measure(engine: &MemoryEngine, questions: &[EvalQuestion]) -> Result<Value> {
    let scopes: Vec<&str> = questions.iter().map(|q| q.scope.as_str()).collect::<BTreeSet<_>>().into_iter().collect();
    ensure!(scopes.len() > 1, "all questions belong to one scope; --off-topic needs questions of at least two");
    let bar = output::progress(2 * questions.len() as u64, "off topic {wide_bar} {pos}/{len} {eta}");
    let mut on_topic = Vec::new();
    let mut off_topic = Vec::new();
    for question in questions {
        let own = scopes.iter().position(|scope| *scope == question.scope).unwrap_or_default();
        on_topic.push(ask(engine, question, scopes[own]).await?);
        off_topic.push(ask(engine, question, scopes[(own + 1) % scopes.len()]).await?);
        bar.inc(2);
    }
    bar.finish_and_clear();
    let count = |passes: &dyn Fn(&MeasuredHit) -> bool| {
        let share = |questions: &[Vec<MeasuredHit>], counts: &dyn Fn(&MeasuredHit) -> bool| {
            questions.iter().filter(|hits| hits.iter().any(counts)).count() as f64 / questions.len().max(1) as f64
        };
        json!({
            "injects": share(&on_topic, passes),
            "injects_gold": share(&on_topic, &|hit| passes(hit) && hit.is_gold),
            "injects_off_topic": share(&off_topic, passes),
        })
    };
    let grid = |of: fn(&MeasuredHit) -> f64| -> Value {
        (1..20).map(|n| f64::from(n) / 20.0).map(|t| (format!("{t:.2}"), count(&|hit| of(hit) >= t))).collect()
    };
    Ok(json!({
        "any": count(&|_| true),
        "default": count(&|hit| hit.is_relevant),
        "words": grid(|hit| hit.keyword_score),
        "nearness": grid(|hit| hit.similarity),
    }))
}

async fn ask(engine: &MemoryEngine, question: &EvalQuestion, scope: &str) -> Result<Vec<MeasuredHit>> {
    let options = engine.admin().recall_options().with_deadline(EVAL_DEADLINE);
    let query = question.query()?.with_limit(MAX_INJECTED).with_options(options);
    let recall = engine.recall(&Scope::user(scope)?, query).await?;
    ensure!(!recall.is_partial(), "the recall was degraded: {:?}", recall.degraded);
    let gold: BTreeSet<String> = question.groups().into_iter().flatten().collect();
    let hits = recall.hits.iter().map(|hit| MeasuredHit {
        keyword_score: retriever_score(hit, Retriever::Keyword).unwrap_or_default(),
        similarity: retriever_score(hit, Retriever::Vector).map_or(0.0, |score| {
            let unrelated = engine.embedder().unrelated(&question.question, &hit.record.text);
            (score - unrelated) / (1.0 - unrelated)
        }),
        is_relevant: hit.relevant,
        is_gold: hit.record.source.message_id.as_ref().is_some_and(|id| gold.contains(id)),
    });
    Ok(hits.collect())
}

/// Returns the score that one retriever gave to a hit.
fn retriever_score(hit: &RecallHit, retriever: Retriever) -> Option<f64> {
    hit.found_by.iter().find(|found| found.retriever == retriever).map(|found| found.score.value())
}

/// Renders the measured shares as a table: the default, then each threshold alone.
pub(crate) fn table(measured: &Value) -> String {
    let mut table = output::table(["injected are", "on topic", "with gold", "off topic"]);
    let mut add = |name: String, counts: &Value| {
        let share = |key: &str| counts.get(key).and_then(Value::as_f64).map(output::ratio).unwrap_or_default();
        table.add_row([name, share("injects"), share("injects_gold"), share("injects_off_topic")]);
    };
    add("all hits".into(), &measured["any"]);
    add("relevant hits".into(), &measured["default"]);
    for of in ["words", "nearness"] {
        for (threshold, counts) in measured[of].as_object().into_iter().flatten() {
            add(format!("{of} from {threshold}"), counts);
        }
    }
    table.to_string()
}
