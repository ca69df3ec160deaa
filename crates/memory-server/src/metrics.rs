//! Metrics in the format of Prometheus.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use axum::{
    Router,
    extract::{MatchedPath, Request},
    middleware::{Next, from_fn},
    response::{IntoResponse, Response},
};
use memory_engine::{Error, ErrorKind, Job, MemoryEngine, Result};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use tokio::runtime::Handle;

use crate::{
    access::Access,
    fault::Fault,
    openapi::{Operation, Routes},
    part::Part,
};

/// From how many seconds on a request counts as slower: a gateway's own work takes milliseconds, an answer may take
/// minutes.
const BUCKETS: [f64; 13] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0, 120.0];

/// Interval at which measured values are aggregated.
const AGGREGATION_INTERVAL: Duration = Duration::from_secs(5);

/// The metrics of this process, to be read by Prometheus.
///
/// | metric | labels | what |
/// |---|---|---|
/// | `http_requests_total` | `method`, `route`, `status` | requests answered |
/// | `http_request_duration_seconds` | `method`, `route` | until the head of the answer is sent |
/// | `memory_records` | `kind` | records stored, within reach of the key that asks |
/// | `memory_queue_waiting`, `memory_queue_given_up` | `job` | what the background has still to do, or has given up, there |
///
/// The parts of the server add their own, all of which begin with `memory_`. The engine adds those of
/// [`METRICS`](memory_engine::admin::METRICS), all of which begin with `memory_engine_`; `docs/reference/metrics.md`
/// lists them.
#[derive(Debug, Clone)]
pub struct Metrics(PrometheusHandle);

impl Metrics {
    /// Counts from now on, in the whole process.
    ///
    /// # Errors
    /// `Conflict` when something else counts already.
    pub fn install() -> Result<Self> {
        let failed = |e| Error::new(ErrorKind::Conflict, "metrics", "the process counts already").with_source(e);
        let builder = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &BUCKETS)
            .map_err(failed)?;
        let metrics = builder.install_recorder().map(Self).map_err(failed)?;
        memory_engine::admin::describe_metrics();
        if let Ok(runtime) = Handle::try_current() {
            // Without aggregation, unread values would grow without limit.
            let handle = metrics.0.clone();
            runtime.spawn(async move {
                loop {
                    tokio::time::sleep(AGGREGATION_INTERVAL).await;
                    handle.run_upkeep();
                }
            });
        }
        Ok(metrics)
    }

    /// Returns counts of visible records and queues in the format of Prometheus, and the metrics of the process for
    /// keys of all users.
    async fn text(&self, engine: &MemoryEngine, access: &Access) -> String {
        let stored = look(engine, access).await.unwrap_or_else(|e| {
            tracing::warn!(part = "metrics", "{e}");
            String::new()
        });
        if !access.is_for_all_users() {
            return stored;
        }
        self.0.run_upkeep();
        self.0.render() + &stored
    }

    /// `GET /metrics`.
    pub(crate) fn part(self, engine: MemoryEngine) -> Part {
        let read = move |access: Access| {
            let (metrics, engine) = (self.clone(), engine.clone());
            async move { ([("content-type", "text/plain; version=0.0.4")], metrics.text(&engine, &access).await) }
        };
        let operation =
            Operation::new("metrics", "Returns counters, durations and gauges in the text format of Prometheus.")
                .response::<String>("200", "The metrics.", "text/plain");
        let (router, section) =
            Routes::new("metrics", "Metrics for Prometheus.").get("/metrics", read, operation).finish();
        Part { name: "metrics", router, sections: vec![section], errors: Fault::into_response, background: None }
    }
}

/// Returns counts of records and queues. They depend on the caller, so nothing is cached.
async fn look(engine: &MemoryEngine, access: &Access) -> Result<String> {
    let none = || Job::ALL.map(|job| (job.to_string(), 0)).into_iter().collect::<BTreeMap<String, u64>>();
    let (mut records, mut waiting, mut given_up) = (BTreeMap::new(), none(), none());
    for scope in access.scopes()? {
        let stats = engine.stats(&scope).await?;
        stats.kinds.into_iter().for_each(|(kind, count)| *records.entry(kind).or_insert(0) += count);
        stats.backlog.into_iter().for_each(|(job, count)| *waiting.entry(job.to_string()).or_insert(0) += count);
        stats.given_up.into_iter().for_each(|(job, count)| *given_up.entry(job.to_string()).or_insert(0) += count);
    }
    let mut text = String::new();
    let gauges = [
        ("memory_records", "kind", records),
        ("memory_queue_waiting", "job", waiting),
        ("memory_queue_given_up", "job", given_up),
    ];
    for (gauge, label, counts) in gauges {
        text.push_str(&format!("# TYPE {gauge} gauge\n"));
        for (name, count) in counts {
            let name = name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            text.push_str(&format!("{gauge}{{{label}=\"{name}\"}} {count}\n"));
        }
    }
    Ok(text)
}

/// Counts the requests to all routes of a router, by the pattern of the route and not by its path: there are few
/// patterns, and they contain no names.
pub(crate) fn count(router: Router) -> Router {
    router.layer(from_fn(counted))
}

async fn counted(request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let method = match request.method().as_str() {
        known @ ("GET" | "POST" | "PUT" | "DELETE" | "HEAD" | "OPTIONS" | "PATCH") => known.to_owned(),
        _ => "other".to_owned(),
    };
    let begun = Instant::now();
    let response = next.run(request).await;
    let took = begun.elapsed();
    let status = response.status().as_str().to_owned();
    metrics::counter!("http_requests_total", "method" => method.clone(), "route" => route.clone(), "status" => status)
        .increment(1);
    metrics::histogram!("http_request_duration_seconds", "method" => method, "route" => route)
        .record(took.as_secs_f64());
    response
}
