#![allow(clippy::unwrap_used, reason = "a test may panic")]

use serde_json::json;

use super::*;

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Example {
    name: Option<String>,
    flag: Option<bool>,
    limit: Option<Int<1, 10>>,
    share: Option<f64>,
    names: Option<Vec<String>>,
    object: Option<Map<String, Value>>,
    any: Option<Value>,
}

impl ParamGroup for Example {
    const REQUIRED: &'static [&'static str] = &["name"];
}

fn read(values: Value, api: Mem0Api) -> (Example, Vec<String>) {
    let mut params = Params::new(values.as_object().cloned().unwrap(), "body", api);
    let example = params.group();
    (example, params.faults.iter().map(|fault| format!("{} {}", json!(fault.loc), fault.kind)).collect())
}

#[test]
fn lenient_values() {
    let values = json!({
        "name": "lin", "flag": "TRUE", "limit": "10", "share": "0.5", "names": "a, b", "object": {"k": [1, null]},
        "any": 7.5, "unknown": {},
    });
    let (example, faults) = read(values, Mem0Api::OpenSource);
    assert!(faults.is_empty(), "{faults:?}");
    assert_eq!(example.limit.map(Int::get), Some(10));
    assert_eq!((example.flag, example.share, example.any), (Some(true), Some(0.5), Some(json!(7.5))));
    assert_eq!(example.names, Some(vec!["a".into(), "b".into()]));
    assert_eq!(json!(example.object), json!({"k": [1, null]}));
    let (example, faults) = read(json!({"name": 12, "limit": 3.0, "flag": null}), Mem0Api::Platform);
    assert!(faults.is_empty(), "{faults:?}");
    assert_eq!((example.name.as_deref(), example.limit.map(Int::get), example.flag), (Some("12"), Some(3), None));
}

#[test]
fn lists_all_invalid_fields() {
    let values = json!({"flag": "maybe", "limit": 11, "share": {}, "names": [1], "object": []});
    let (example, faults) = read(values, Mem0Api::OpenSource);
    assert_eq!(example, Example::default());
    assert_eq!(
        faults,
        [
            r#"["body","name"] missing"#,
            r#"["body","flag"] bool_type"#,
            r#"["body","limit"] less_than_equal"#,
            r#"["body","share"] float_type"#,
            r#"["body","names"] list_type"#,
            r#"["body","object"] dict_type"#,
        ]
    );
    let (_, faults) = read(json!({"name": 12}), Mem0Api::OpenSource);
    assert_eq!(faults, [r#"["body","name"] string_type"#]);
}
