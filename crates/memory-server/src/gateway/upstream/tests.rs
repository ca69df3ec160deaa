#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

fn upstream(name: &str) -> Upstream {
    Upstream::new(name, Endpoint::new("http://127.0.0.1:9/v1").unwrap())
}

fn routed(upstreams: &Upstreams, model: &str) -> Option<(String, String)> {
    upstreams.route(Some(model)).map(|route| (route.service.name.clone(), route.model.unwrap()))
}

#[test]
fn models_are_routed_by_list_prefix_or_catch_all() {
    let all = Upstreams::new(vec![
        upstream("openrouter").with_models(["deepseek/deepseek-r1"]),
        upstream("deepseek").with_models(["deepseek-*"]),
        upstream("reasoners").with_models(["deepseek-reason*"]),
        upstream("local"),
    ])
    .unwrap();
    let expected = [
        ("deepseek/deepseek-r1", "openrouter", "deepseek/deepseek-r1"),
        ("deepseek/deepseek-chat", "deepseek", "deepseek-chat"),
        ("deepseek-chat", "deepseek", "deepseek-chat"),
        ("deepseek-reasoner", "reasoners", "deepseek-reasoner"),
        ("openrouter/anything/else", "openrouter", "anything/else"),
        ("qwen/qwen3", "local", "qwen/qwen3"),
        ("我的模型", "local", "我的模型"),
    ];
    for (requested, service, model) in expected {
        assert_eq!(routed(&all, requested), Some((service.into(), model.into())), "{requested}");
    }
    assert_eq!(all.route(None).unwrap().service.name, "local");
}

#[test]
fn a_model_without_an_upstream_has_no_route() {
    let all = Upstreams::new(vec![upstream("a").with_models(["gpt-*"])]).unwrap();
    assert_eq!(routed(&all, "claude"), None);
    assert_eq!(all.route(None).unwrap().service.name, "a");
    assert_eq!(all.client_model_name(&all.all()[0].clone(), "claude"), "a/claude");
    assert_eq!(all.client_model_name(&all.all()[0].clone(), "gpt-5"), "gpt-5");
}

#[test]
fn invalid_upstream_names_are_refused() {
    for invalid in
        [vec![], vec![upstream("a"), upstream("a")], vec![upstream("a/b")], vec![upstream("a").with_models([""])]]
    {
        assert!(Upstreams::new(invalid).is_err());
    }
}
