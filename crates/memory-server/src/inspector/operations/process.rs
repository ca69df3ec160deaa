//! The figures of the process, from its metrics.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{histogram::Histogram, samples::Samples};
use crate::config::GatewayConfig;

/// Configured prices are per one million tokens.
const TOKENS_PER_PRICE: f64 = 1_000_000.0;

/// Figures of the process since its start.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ProcessFigures {
    /// The time since which they are counted.
    pub(super) since: String,
    /// Routes with at least one request, those with most requests first.
    routes: Vec<RouteFigures>,
    recall: RecallFigures,
    /// Calls of models, such as `embed` and `chat`.
    models: Vec<ModelFigures>,
    /// Prompts of the chat gateway, by the injection rule that applied and by outcome: `injected`, `empty`, or
    /// `degraded` if nothing was injected and a stage failed.
    prompts: Vec<PromptFigures>,
    /// Upstreams of the chat gateway with at least one reply.
    upstreams: Vec<UpstreamFigures>,
}

/// A duration, estimated from the buckets of a histogram.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct Latency {
    count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p50_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p90_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_ms: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct RouteFigures {
    method: String,
    /// The pattern of the route, or `none` for requests to other paths.
    route: String,
    requests: u64,
    /// Number of responses by status, from 400 on.
    errors: BTreeMap<String, u64>,
    latency: Latency,
}

#[derive(Debug, Serialize, JsonSchema)]
struct RecallFigures {
    /// Number of recalls that were answered.
    recalls: u64,
    /// Number of recalls with at least one hit.
    with_hits: u64,
    /// Number of recalls that failed as a whole, without those whose query was not valid.
    failed: u64,
    latency: Latency,
    stages: Vec<StageFigures>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct StageFigures {
    stage: String,
    /// Number of recalls without this stage, since it failed or was late.
    degraded: u64,
    latency: Latency,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ModelFigures {
    operation: String,
    calls: u64,
    failed: u64,
    retries: u64,
    latency: Latency,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PromptFigures {
    rule: String,
    outcome: String,
    count: u64,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
struct UpstreamFigures {
    upstream: String,
    replies: u64,
    /// Replies whose tokens the upstream did not report, such as streams without `stream_options.include_usage`.
    replies_without_usage: u64,
    /// Requests that failed: no answer, or one that is not JSON.
    failed: u64,
    prompt_tokens: u64,
    /// The cached tokens among those of prompts.
    cached_tokens: u64,
    completion_tokens: u64,
    /// The cost in `currency` of the tokens that the upstream reported. Missing without a configured price.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    currency: Option<String>,
}

impl ProcessFigures {
    /// Computes the figures. `since` is the time since which the metrics are counted.
    pub(super) fn new(samples: &Samples, since: String, gateway: &GatewayConfig) -> Self {
        Self {
            since,
            routes: route_figures(samples),
            recall: recall_figures(samples),
            models: model_figures(samples),
            prompts: prompt_figures(samples),
            upstreams: upstream_figures(samples, gateway),
        }
    }
}

impl Latency {
    fn of(histogram: Option<&Histogram>) -> Self {
        let Some(histogram) = histogram else { return Self::default() };
        let quantile = |quantile| histogram.quantile(quantile).map(milliseconds);
        Self {
            count: histogram.count(),
            mean_ms: histogram.mean().map(milliseconds),
            p50_ms: quantile(0.5),
            p90_ms: quantile(0.9),
            p99_ms: quantile(0.99),
        }
    }
}

/// Converts seconds, rounded to microseconds.
fn milliseconds(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e3
}

fn route_figures(samples: &Samples) -> Vec<RouteFigures> {
    let latencies = samples.histograms("http_request_duration_seconds", ["method", "route"]);
    let mut routes: BTreeMap<[String; 2], RouteFigures> = BTreeMap::new();
    for ([method, route, status], count) in samples.sums("http_requests_total", ["method", "route", "status"]) {
        let key = [method.clone(), route.clone()];
        let latency = Latency::of(latencies.get(&key));
        let empty = RouteFigures { method, route, requests: 0, errors: BTreeMap::new(), latency };
        let figures = routes.entry(key).or_insert(empty);
        figures.requests += count;
        if status.as_str() >= "400" {
            *figures.errors.entry(status).or_default() += count;
        }
    }
    let mut routes: Vec<_> = routes.into_values().collect();
    routes.sort_by_key(|figures| std::cmp::Reverse(figures.requests));
    routes
}

fn recall_figures(samples: &Samples) -> RecallFigures {
    let hits = samples.histograms("memory_engine_recall_hits", []).remove(&[]).unwrap_or_default();
    let operations = samples.sums("memory_engine_operations_total", ["operation", "outcome", "error_type"]);
    // A query that is not valid is a mistake of the caller.
    let failed = operations.into_iter().filter(|([operation, outcome, error_type], _)| {
        let is_recall = matches!(operation.as_str(), "recall" | "recall_enhanced");
        is_recall && outcome == "error" && error_type != "invalid_input"
    });
    let durations = samples.histograms("memory_engine_operation_duration_seconds", ["operation"]);
    let degraded = samples.sums("memory_engine_recall_degraded_total", ["stage"]);
    let mut stages = samples.histograms("memory_engine_recall_stage_duration_seconds", ["stage"]);
    for stage in degraded.keys() {
        stages.entry(stage.clone()).or_default();
    }
    let stages = stages.into_iter().map(|(stage, histogram)| StageFigures {
        degraded: degraded.get(&stage).copied().unwrap_or(0),
        latency: Latency::of(Some(&histogram)),
        stage: stage.concat(),
    });
    RecallFigures {
        recalls: hits.count(),
        // The first bucket counts recalls without a hit.
        with_hits: hits.count().saturating_sub(hits.first_bucket()),
        failed: failed.map(|(_, count)| count).sum(),
        latency: Latency::of(durations.get(&["recall".to_owned()])),
        stages: stages.collect(),
    }
}

fn model_figures(samples: &Samples) -> Vec<ModelFigures> {
    let latencies = samples.histograms("memory_engine_model_call_duration_seconds", ["operation"]);
    let retries = samples.sums("memory_engine_model_retries_total", ["operation"]);
    let mut models: BTreeMap<String, ModelFigures> = BTreeMap::new();
    for ([operation, outcome], count) in samples.sums("memory_engine_model_calls_total", ["operation", "outcome"]) {
        let key = [operation.clone()];
        let figures = models.entry(operation.clone()).or_insert_with(|| ModelFigures {
            operation,
            calls: 0,
            failed: 0,
            retries: retries.get(&key).copied().unwrap_or(0),
            latency: Latency::of(latencies.get(&key)),
        });
        figures.calls += count;
        figures.failed += if outcome == "error" { count } else { 0 };
    }
    models.into_values().collect()
}

fn prompt_figures(samples: &Samples) -> Vec<PromptFigures> {
    let counts = samples.sums("memory_gateway_prompts_total", ["rule", "outcome"]);
    counts.into_iter().map(|([rule, outcome], count)| PromptFigures { rule, outcome, count }).collect()
}

fn upstream_figures(samples: &Samples, gateway: &GatewayConfig) -> Vec<UpstreamFigures> {
    let mut upstreams: BTreeMap<String, UpstreamFigures> = BTreeMap::new();
    let mut of = |upstream: String, add: &dyn Fn(&mut UpstreamFigures)| {
        let empty = UpstreamFigures { upstream: upstream.clone(), ..UpstreamFigures::default() };
        add(upstreams.entry(upstream).or_insert(empty));
    };
    for ([upstream, usage], count) in samples.sums("memory_gateway_replies_total", ["upstream", "usage"]) {
        of(upstream, &|figures| {
            figures.replies += count;
            figures.replies_without_usage += if usage == "missing" { count } else { 0 };
        });
    }
    for ([upstream, part], count) in samples.sums("memory_gateway_tokens_total", ["upstream", "part"]) {
        of(upstream, &|figures| match part.as_str() {
            "prompt" => figures.prompt_tokens += count,
            "cached" => figures.cached_tokens += count,
            "completion" => figures.completion_tokens += count,
            _ => {}
        });
    }
    for ([event, upstream], count) in samples.sums("memory_gateway_events_total", ["event", "of"]) {
        if event == "upstream_errors" {
            of(upstream, &|figures| figures.failed += count);
        }
    }
    let mut upstreams: Vec<_> = upstreams.into_values().collect();
    upstreams.iter_mut().for_each(|figures| figures.add_cost(gateway));
    upstreams
}

impl UpstreamFigures {
    fn add_cost(&mut self, gateway: &GatewayConfig) {
        let Some(price) = gateway.prices.get(&self.upstream) else { return };
        let cached = self.cached_tokens.min(self.prompt_tokens);
        let prompt = (self.prompt_tokens - cached) as f64 * price.prompt;
        let cached = cached as f64 * price.cached.unwrap_or(price.prompt);
        let completion = self.completion_tokens as f64 * price.completion;
        self.cost = Some((prompt + cached + completion) / TOKENS_PER_PRICE);
        self.currency = Some(price.currency.clone());
    }
}

#[cfg(test)]
mod tests;
