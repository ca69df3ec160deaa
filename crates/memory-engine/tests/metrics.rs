//! The metrics of `docs/reference/metrics.md`: all recorded metrics have the documented names and labels.

#![cfg(feature = "metrics")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "a test that cannot go on fails"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use memory_engine::{
    MemoryEngine, Scope, Turn,
    admin::{METRICS, MetricKind, describe_metrics},
};
use metrics::{
    Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit, set_global_recorder,
};

/// The metrics of the process: the number of values, or the sum of a counter, by name and labels.
#[derive(Debug, Clone, Default)]
struct Recorded {
    values: Arc<Mutex<BTreeMap<Key, Arc<AtomicU64>>>>,
    described: Arc<Mutex<BTreeMap<String, Option<Unit>>>>,
}

#[derive(Debug)]
struct CountOfValues(Arc<AtomicU64>);

impl HistogramFn for CountOfValues {
    fn record(&self, _: f64) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Recorded {
    fn value(&self, key: &Key) -> Arc<AtomicU64> {
        Arc::clone(self.values.lock().unwrap().entry(key.clone()).or_default())
    }

    fn describe(&self, name: &KeyName, unit: Option<Unit>) {
        self.described.lock().unwrap().insert(name.as_str().to_owned(), unit);
    }

    /// Returns the sum of the metric over all keys that have these labels.
    fn sum(&self, name: &str, labels: &[(&str, &str)]) -> u64 {
        let values = self.values.lock().unwrap();
        let has = |key: &Key, (name, value): &(&str, &str)| {
            key.labels().any(|label| label.key() == *name && label.value() == *value)
        };
        let keys = values.iter().filter(|(key, _)| key.name() == name && labels.iter().all(|label| has(key, label)));
        keys.map(|(_, value)| value.load(Ordering::Relaxed)).sum()
    }
}

impl Recorder for Recorded {
    fn describe_counter(&self, name: KeyName, unit: Option<Unit>, _: SharedString) {
        self.describe(&name, unit);
    }

    fn describe_gauge(&self, name: KeyName, unit: Option<Unit>, _: SharedString) {
        self.describe(&name, unit);
    }

    fn describe_histogram(&self, name: KeyName, unit: Option<Unit>, _: SharedString) {
        self.describe(&name, unit);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.value(key))
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(Arc::new(CountOfValues(self.value(key))))
    }
}

/// One test: a process has one recorder.
#[tokio::test]
async fn calls_stages_and_jobs_are_counted_under_the_documented_names() {
    let recorded = Recorded::default();
    set_global_recorder(recorded.clone()).unwrap();
    describe_metrics();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    let memory = MemoryEngine::builder().sqlite(path).background(false).build().await.unwrap();
    let lin = Scope::user("lin-qwertz").unwrap();
    let turns = ["I live in Qwertzville.", "My sister plays the qwertzhorn."].map(Turn::user);
    memory.remember_all(&lin, turns).await.unwrap();
    memory.remember(&lin, "qwertznuts").await.unwrap();
    memory.drain(&lin, |_| ()).await.unwrap();
    memory.recall(&lin, "Qwertzville").await.unwrap();
    memory.recall(&lin, "").await.unwrap_err();

    let operations = "memory_engine_operations_total";
    assert_eq!(recorded.sum(operations, &[("operation", "remember_all"), ("outcome", "ok")]), 1);
    assert_eq!(recorded.sum(operations, &[("operation", "remember")]), 1);
    assert_eq!(recorded.sum(operations, &[("operation", "recall"), ("outcome", "ok"), ("error_type", "none")]), 1);
    let refused = [("operation", "recall"), ("outcome", "error"), ("error_type", "invalid_input")];
    assert_eq!(recorded.sum(operations, &refused), 1);
    assert_eq!(
        recorded.sum(operations, &[("operation", "get")]),
        0,
        "the reads inside a verb are not counted as verbs"
    );
    assert_eq!(recorded.sum("memory_engine_operation_duration_seconds", &[("operation", "recall")]), 2);
    assert_eq!(recorded.sum("memory_engine_recall_hits", &[]), 1);
    assert_eq!(recorded.sum("memory_engine_recall_stage_duration_seconds", &[("stage", "vector")]), 1);
    assert_eq!(recorded.sum("memory_engine_jobs_queued_total", &[("job", "embedding")]), 3);
    assert_eq!(recorded.sum("memory_engine_jobs_done_total", &[("job", "embedding")]), 3);
    assert_eq!(recorded.sum("memory_engine_job_latency_seconds", &[("job", "embedding")]), 3);
    assert!(recorded.sum("memory_engine_index_loads_total", &[("index", "vectors"), ("source", "rows")]) > 0);

    for key in recorded.values.lock().unwrap().keys() {
        let labels: BTreeSet<&str> = key.labels().map(|label| label.key()).collect();
        let metric = METRICS.iter().find(|metric| metric.name == key.name());
        let metric = metric.unwrap_or_else(|| panic!("{} is not listed", key.name()));
        assert_eq!(labels, metric.labels.iter().copied().collect(), "{}", metric.name);
        assert!(!format!("{key:?}").to_lowercase().contains("qwertz"), "{key:?}");
    }
    assert_eq!(recorded.described.lock().unwrap().len(), METRICS.len());
}

#[test]
fn the_page_lists_every_metric_with_its_labels() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/metrics.md");
    let page = std::fs::read_to_string(path).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| `memory_engine_")).count();
    assert_eq!(rows, METRICS.len());
    for metric in METRICS {
        let kind = match metric.kind {
            MetricKind::Counter => "counter",
            MetricKind::Seconds => "histogram, seconds",
            _ => "histogram",
        };
        let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        let row = format!("| `{}` | {kind} | {} | {} |", metric.name, labels.join(", "), metric.meaning);
        assert!(page.contains(&row), "{row}");
    }
}
