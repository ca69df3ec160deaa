//! The metrics of the engine, through the `metrics` crate. Without the feature `metrics` every function does nothing.

#[cfg(feature = "metrics")]
pub(crate) use on::*;
#[cfg(feature = "metrics")]
pub use on::{METRICS, MetricDescription, MetricKind, describe_metrics};

#[cfg(not(feature = "metrics"))]
pub(crate) use off::*;

/// An operation, by the metrics that count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// A call of the engine, by its name.
    Verb(&'static str),
    /// A stage of a recall, by its name.
    Stage(&'static str),
    /// A batch of a background job, by the name of the job.
    Batch(&'static str),
    /// A call of a model, by the operation: `embed`, `rerank`, `chat` …
    Model(&'static str),
    /// A wait for a connection to a database, by the system: `postgresql`.
    Connection(&'static str),
    /// An operation that has a span and no metric.
    Unmeasured,
}

#[cfg(not(feature = "metrics"))]
mod off {
    use std::time::Duration;

    use super::Operation;

    pub(crate) const ARE_ON: bool = false;

    pub(crate) fn operation(_: Operation, _: &'static str, _: &'static str, _: Duration) {}
    pub(crate) fn recall(_: usize, _: impl IntoIterator<Item = &'static str>) {}
    pub(crate) fn items_done(_: &'static str, _: usize, _: impl IntoIterator<Item = Duration>) {}
    pub(crate) fn item_failed(_: &'static str, _: bool) {}
    pub(crate) fn items_queued(_: impl IntoIterator<Item = &'static str>) {}
    pub(crate) fn screened(_: &'static str, _: &'static str, _: u64) {}
    pub(crate) fn index_load(_: &'static str, _: &'static str, _: Duration) {}
    pub(crate) fn retry(_: &'static str) {}
}

#[cfg(feature = "metrics")]
mod on {
    use std::time::Duration;

    use metrics::{Unit, counter, describe_counter, describe_histogram, histogram};

    use super::Operation;

    pub(crate) const ARE_ON: bool = true;

    /// A metric of the engine.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct MetricDescription {
        /// The name.
        pub name: &'static str,
        /// Counter or histogram.
        pub kind: MetricKind,
        /// The labels. Each has a fixed set of values.
        pub labels: &'static [&'static str],
        /// The meaning, in one sentence.
        pub meaning: &'static str,
    }

    /// The kind of a metric.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum MetricKind {
        /// A number that only grows.
        Counter,
        /// A distribution of seconds.
        Seconds,
        /// A distribution of counts.
        Counts,
    }

    const OPERATIONS: &str = "memory_engine_operations_total";
    const OPERATION_SECONDS: &str = "memory_engine_operation_duration_seconds";
    const RECALL_HITS: &str = "memory_engine_recall_hits";
    const RECALL_DEGRADED: &str = "memory_engine_recall_degraded_total";
    const STAGE_SECONDS: &str = "memory_engine_recall_stage_duration_seconds";
    const JOBS_QUEUED: &str = "memory_engine_jobs_queued_total";
    const JOBS_DONE: &str = "memory_engine_jobs_done_total";
    const JOBS_FAILED: &str = "memory_engine_jobs_failed_total";
    const BATCH_SECONDS: &str = "memory_engine_job_batch_duration_seconds";
    const JOB_LATENCY: &str = "memory_engine_job_latency_seconds";
    const SCREENED: &str = "memory_engine_screened_total";
    const INDEX_LOADS: &str = "memory_engine_index_loads_total";
    const INDEX_LOAD_SECONDS: &str = "memory_engine_index_load_duration_seconds";
    const MODEL_CALLS: &str = "memory_engine_model_calls_total";
    const MODEL_CALL_SECONDS: &str = "memory_engine_model_call_duration_seconds";
    const MODEL_RETRIES: &str = "memory_engine_model_retries_total";
    const CONNECTION_SECONDS: &str = "memory_engine_connection_wait_seconds";

    const fn metric(
        name: &'static str,
        kind: MetricKind,
        labels: &'static [&'static str],
        meaning: &'static str,
    ) -> MetricDescription {
        MetricDescription { name, kind, labels, meaning }
    }

    /// Every metric of the engine.
    pub const METRICS: [MetricDescription; 17] = [
        metric(OPERATIONS, MetricKind::Counter, &["operation", "outcome", "error_type"], "Calls of the engine."),
        metric(OPERATION_SECONDS, MetricKind::Seconds, &["operation"], "Duration of a call of the engine."),
        metric(RECALL_HITS, MetricKind::Counts, &[], "Number of hits of a recall."),
        metric(RECALL_DEGRADED, MetricKind::Counter, &["stage"], "Stages that failed or were late in a recall."),
        metric(STAGE_SECONDS, MetricKind::Seconds, &["stage", "outcome"], "Duration of a stage of a recall."),
        metric(JOBS_QUEUED, MetricKind::Counter, &["job"], "Items that writes of this process queued."),
        metric(JOBS_DONE, MetricKind::Counter, &["job"], "Items that this process has done."),
        metric(JOBS_FAILED, MetricKind::Counter, &["job", "final"], "Failed attempts at an item."),
        metric(BATCH_SECONDS, MetricKind::Seconds, &["job", "outcome"], "Duration of a batch of a job."),
        metric(JOB_LATENCY, MetricKind::Seconds, &["job"], "Time from the write of a record until its job was done."),
        metric(
            SCREENED,
            MetricKind::Counter,
            &["category", "action"],
            "Secrets and personal data in records to store.",
        ),
        metric(INDEX_LOADS, MetricKind::Counter, &["index", "source"], "Loads of an index into memory."),
        metric(INDEX_LOAD_SECONDS, MetricKind::Seconds, &["index", "source"], "Duration of the load of an index."),
        metric(MODEL_CALLS, MetricKind::Counter, &["operation", "outcome", "error_type"], "Calls of a model."),
        metric(MODEL_CALL_SECONDS, MetricKind::Seconds, &["operation"], "Duration of a call, with its retries."),
        metric(MODEL_RETRIES, MetricKind::Counter, &["operation"], "Requests that were sent again."),
        metric(CONNECTION_SECONDS, MetricKind::Seconds, &["system"], "Wait for a connection to a database server."),
    ];

    /// Gives the recorder of this process the units and meanings of all metrics. Call it once, after the recorder is
    /// installed. Without the call they are recorded all the same.
    pub fn describe_metrics() {
        for MetricDescription { name, kind, meaning, .. } in METRICS {
            match kind {
                MetricKind::Counter => describe_counter!(name, Unit::Count, meaning),
                MetricKind::Seconds => describe_histogram!(name, Unit::Seconds, meaning),
                MetricKind::Counts => describe_histogram!(name, Unit::Count, meaning),
            }
        }
    }

    pub(crate) fn operation(operation: Operation, outcome: &'static str, error: &'static str, took: Duration) {
        let seconds = took.as_secs_f64();
        match operation {
            Operation::Verb(name) => {
                counter!(OPERATIONS, "operation" => name, "outcome" => outcome, "error_type" => error).increment(1);
                histogram!(OPERATION_SECONDS, "operation" => name).record(seconds);
            }
            Operation::Stage(stage) => {
                histogram!(STAGE_SECONDS, "stage" => stage, "outcome" => outcome).record(seconds);
            }
            Operation::Batch(job) => histogram!(BATCH_SECONDS, "job" => job, "outcome" => outcome).record(seconds),
            Operation::Model(name) => {
                counter!(MODEL_CALLS, "operation" => name, "outcome" => outcome, "error_type" => error).increment(1);
                histogram!(MODEL_CALL_SECONDS, "operation" => name).record(seconds);
            }
            Operation::Connection(system) => histogram!(CONNECTION_SECONDS, "system" => system).record(seconds),
            Operation::Unmeasured => {}
        }
    }

    pub(crate) fn recall(hits: usize, degraded: impl IntoIterator<Item = &'static str>) {
        histogram!(RECALL_HITS).record(hits as f64);
        for stage in degraded {
            counter!(RECALL_DEGRADED, "stage" => stage).increment(1);
        }
    }

    pub(crate) fn items_done(job: &'static str, items: usize, latencies: impl IntoIterator<Item = Duration>) {
        counter!(JOBS_DONE, "job" => job).increment(items as u64);
        for latency in latencies {
            histogram!(JOB_LATENCY, "job" => job).record(latency.as_secs_f64());
        }
    }

    pub(crate) fn item_failed(job: &'static str, is_final: bool) {
        let is_final = if is_final { "true" } else { "false" };
        counter!(JOBS_FAILED, "job" => job, "final" => is_final).increment(1);
    }

    pub(crate) fn items_queued(jobs: impl IntoIterator<Item = &'static str>) {
        for job in jobs {
            counter!(JOBS_QUEUED, "job" => job).increment(1);
        }
    }

    pub(crate) fn screened(category: &'static str, action: &'static str, count: u64) {
        counter!(SCREENED, "category" => category, "action" => action).increment(count);
    }

    pub(crate) fn index_load(index: &'static str, source: &'static str, took: Duration) {
        counter!(INDEX_LOADS, "index" => index, "source" => source).increment(1);
        histogram!(INDEX_LOAD_SECONDS, "index" => index, "source" => source).record(took.as_secs_f64());
    }

    pub(crate) fn retry(operation: &'static str) {
        counter!(MODEL_RETRIES, "operation" => operation).increment(1);
    }
}
