#![allow(clippy::unwrap_used, reason = "a test may panic")]

use serde_json::{Value, json};

use super::*;

fn figures(text: &str, gateway: &str) -> Value {
    let gateway: GatewayConfig = toml::from_str(gateway).unwrap();
    serde_json::to_value(ProcessFigures::new(&Samples::parse(text), String::new(), &gateway)).unwrap()
}

#[test]
fn routes_have_their_errors_and_percentiles() {
    let text = r#"
http_requests_total{method="GET",route="/a",status="200"} 8
http_requests_total{method="GET",route="/a",status="404"} 1
http_requests_total{method="GET",route="/a",status="503"} 1
http_requests_total{method="POST",route="/b",status="200"} 20
http_request_duration_seconds_bucket{method="GET",route="/a",le="0.01"} 5
http_request_duration_seconds_bucket{method="GET",route="/a",le="0.02"} 10
http_request_duration_seconds_bucket{method="GET",route="/a",le="+Inf"} 10
http_request_duration_seconds_sum{method="GET",route="/a"} 0.1
"#;
    let routes = figures(text, "")["routes"].clone();
    assert_eq!((&routes[0]["route"], &routes[0]["latency"]), (&json!("/b"), &json!({"count": 0})));
    assert_eq!((&routes[1]["requests"], &routes[1]["errors"]), (&json!(10), &json!({"404": 1, "503": 1})));
    let latency = json!({"count": 10, "mean_ms": 10.0, "p50_ms": 10.0, "p90_ms": 18.0, "p99_ms": 19.8});
    assert_eq!(routes[1]["latency"], latency);
}

#[test]
fn recalls_have_a_hit_rate_and_missing_stages() {
    let text = r#"
memory_engine_recall_hits_bucket{le="0"} 3
memory_engine_recall_hits_bucket{le="1"} 4
memory_engine_recall_hits_bucket{le="+Inf"} 12
memory_engine_operations_total{operation="recall",outcome="error",error_type="timeout"} 2
memory_engine_operations_total{operation="recall_enhanced",outcome="error",error_type="timeout"} 1
memory_engine_operations_total{operation="recall",outcome="error",error_type="invalid_input"} 7
memory_engine_operations_total{operation="recall",outcome="ok",error_type="none"} 12
memory_engine_recall_degraded_total{stage="rerank"} 5
memory_engine_recall_stage_duration_seconds_bucket{stage="vector",outcome="ok",le="+Inf"} 9
"#;
    let recall = figures(text, "")["recall"].clone();
    assert_eq!((&recall["recalls"], &recall["with_hits"], &recall["failed"]), (&json!(12), &json!(9), &json!(3)));
    let stages: Vec<_> = recall["stages"].as_array().unwrap().iter().map(|s| (&s["stage"], &s["degraded"])).collect();
    assert_eq!(stages, [(&json!("rerank"), &json!(5)), (&json!("vector"), &json!(0))]);
}

#[test]
fn a_cost_needs_a_price() {
    let text = r#"
memory_gateway_replies_total{upstream="deepseek",usage="reported"} 3
memory_gateway_replies_total{upstream="deepseek",usage="missing"} 1
memory_gateway_replies_total{upstream="other",usage="reported"} 1
memory_gateway_tokens_total{upstream="deepseek",part="prompt"} 3000000
memory_gateway_tokens_total{upstream="deepseek",part="cached"} 1000000
memory_gateway_tokens_total{upstream="deepseek",part="completion"} 500000
memory_gateway_tokens_total{upstream="other",part="prompt"} 10
memory_gateway_events_total{event="upstream_errors",of="down"} 2
memory_gateway_events_total{event="answers",of="200"} 4
"#;
    let prices = "[prices.deepseek]\nprompt = 2.0\ncached = 0.5\ncompletion = 8.0\ncurrency = \"CNY\"";
    let upstreams = figures(text, prices)["upstreams"].clone();
    let names: Vec<_> = upstreams.as_array().unwrap().iter().map(|figures| figures["upstream"].clone()).collect();
    assert_eq!(names, ["deepseek", "down", "other"]);
    assert_eq!((&upstreams[0]["replies"], &upstreams[0]["replies_without_usage"]), (&json!(4), &json!(1)));
    assert_eq!((&upstreams[0]["cost"], &upstreams[0]["currency"]), (&json!(8.5), &json!("CNY")));
    assert_eq!((&upstreams[1]["failed"], upstreams[2].get("cost")), (&json!(2), None));
}
