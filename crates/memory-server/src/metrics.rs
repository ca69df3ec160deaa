//! Metrics in the format of Prometheus.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use axum::{
    Router,
    extract::{MatchedPath, Request},
    middleware::{Next, from_fn},
    response::Response,
};
use memory_engine::{Clock, Error, ErrorKind, Job, MemoryEngine, Result, SystemClock, Timestamp};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tokio::runtime::Handle;

use crate::{
    access::{Access, METRICS_PART},
    openapi::{ApiOperation, Routes},
    part::ServerPart,
};

/// Upper bounds of the duration buckets, in seconds. The server's own work takes milliseconds; a reply may take
/// minutes, and a stage of a recall less than a millisecond.
const DURATION_BUCKETS: [f64; 15] =
    [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0, 120.0];

/// Upper bounds of the buckets for the number of hits of a recall. The first one counts recalls without hits.
const HIT_BUCKETS: [f64; 8] = [0.0, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0];

/// Interval at which measured values are aggregated.
const AGGREGATION_INTERVAL: Duration = Duration::from_secs(5);

/// The metrics of this process, to be read by Prometheus.
///
/// | metric | labels | meaning |
/// |---|---|---|
/// | `http_requests_total` | `method`, `route`, `status` | number of responses |
/// | `http_request_duration_seconds` | `method`, `route` | time until the head of the response is sent |
/// | `memory_records` | `kind` | stored records that the caller's key may access |
/// | `memory_queue_waiting` | `job` | queued jobs of these records |
/// | `memory_queue_dead_letters` | `job` | jobs of these records that failed for good |
///
/// The parts of the server add their own, all of which begin with `memory_`. The engine adds those of
/// [`METRICS`](memory_engine::admin::METRICS), all of which begin with `memory_engine_`; `docs/reference/metrics.md`
/// lists them.
#[derive(Debug, Clone)]
pub struct Metrics {
    handle: PrometheusHandle,
    /// The time since which metrics are counted.
    #[cfg_attr(not(feature = "ui"), expect(dead_code, reason = "only the inspector shows it"))]
    since: Timestamp,
}

impl Metrics {
    /// Installs the recorder of the process. Metrics are counted from now on.
    ///
    /// # Errors
    /// `Conflict` if the process already has a recorder.
    pub fn install() -> Result<Self> {
        let conflict =
            |e| Error::new(ErrorKind::Conflict, "metrics", "the process already has a metrics recorder").with_source(e);
        let builder = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &DURATION_BUCKETS)
            .and_then(|builder| {
                builder.set_buckets_for_metric(Matcher::Full("memory_engine_recall_hits".into()), &HIT_BUCKETS)
            })
            .map_err(conflict)?;
        let handle = builder.install_recorder().map_err(conflict)?;
        let metrics = Self { handle, since: SystemClock.now() };
        memory_engine::admin::describe_metrics();
        if let Ok(runtime) = Handle::try_current() {
            // Without aggregation, the memory for values that are not fetched would grow without limit.
            let handle = metrics.handle.clone();
            runtime.spawn(async move {
                loop {
                    tokio::time::sleep(AGGREGATION_INTERVAL).await;
                    handle.run_upkeep();
                }
            });
        }
        Ok(metrics)
    }

    /// Returns the time since which metrics are counted.
    #[cfg(feature = "ui")]
    pub(crate) fn since(&self) -> Timestamp {
        self.since
    }

    /// Returns the metrics of the process in the format of Prometheus. They count the requests of all tenants.
    pub(crate) fn process_text(&self) -> String {
        self.handle.run_upkeep();
        self.handle.render()
    }

    /// Returns counts of visible records and queues in the format of Prometheus, and the metrics of the process for
    /// keys that may read them.
    async fn text(&self, engine: &MemoryEngine, access: &Access) -> String {
        let gauges = gauges(engine, access).await.unwrap_or_else(|e| {
            tracing::warn!(part = "metrics", "{e}");
            String::new()
        });
        if !access.reads_process() {
            return gauges;
        }
        self.process_text() + &gauges
    }

    /// Returns the part with the route `GET /metrics`.
    pub(crate) fn part(self, engine: MemoryEngine) -> ServerPart {
        let read = move |access: Access| {
            let (metrics, engine) = (self.clone(), engine.clone());
            async move { ([("content-type", "text/plain; version=0.0.4")], metrics.text(&engine, &access).await) }
        };
        let operation =
            ApiOperation::new("metrics", "Returns counters, durations and gauges in the text format of Prometheus.")
                .response::<String>("200", "The metrics.", "text/plain");
        let routes = Routes::new("metrics", "Metrics for Prometheus.").get("/metrics", read, operation);
        ServerPart::new(METRICS_PART, routes, ())
    }
}

/// Returns the gauges of records and queues that the caller may access. They depend on the caller, so nothing is
/// cached.
async fn gauges(engine: &MemoryEngine, access: &Access) -> Result<String> {
    let mut records: BTreeMap<String, u64> = BTreeMap::new();
    // A queue without jobs is 0 and not missing, so that alerts can compare it.
    let mut waiting: BTreeMap<String, u64> = Job::ALL.map(|job| (job.to_string(), 0)).into();
    let mut dead_letters = waiting.clone();
    for scope in access.scopes()? {
        let stats = engine.stats(&scope).await?;
        for (kind, count) in stats.kinds {
            *records.entry(kind).or_insert(0) += count;
        }
        for (job, count) in stats.queued {
            *waiting.entry(job.to_string()).or_insert(0) += count;
        }
        for (job, count) in stats.dead_letters {
            *dead_letters.entry(job.to_string()).or_insert(0) += count;
        }
    }
    let mut text = String::new();
    let gauges = [
        ("memory_records", "kind", records),
        ("memory_queue_waiting", "job", waiting),
        ("memory_queue_dead_letters", "job", dead_letters),
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

/// Counts the requests to all routes of a router. They are labelled with the pattern of the route and not with the
/// path: there are few patterns, and they contain no names of users.
pub(crate) fn count_requests(router: Router) -> Router {
    router.layer(from_fn(count_request))
}

async fn count_request(request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let method = match request.method().as_str() {
        known @ ("GET" | "POST" | "PUT" | "DELETE" | "HEAD" | "OPTIONS" | "PATCH") => known.to_owned(),
        _ => "other".to_owned(),
    };
    let started = Instant::now();
    let response = next.run(request).await;
    let duration = started.elapsed();
    let status = response.status().as_str().to_owned();
    metrics::counter!("http_requests_total", "method" => method.clone(), "route" => route.clone(), "status" => status)
        .increment(1);
    metrics::histogram!("http_request_duration_seconds", "method" => method, "route" => route)
        .record(duration.as_secs_f64());
    response
}
