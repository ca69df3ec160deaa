//! What a request sends: a JSON object, or the parameters of its address.

use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Query, Request},
    http::{Uri, request::Parts},
};
use serde_json::{Map, Value, json};

use super::failure::Failure;
use crate::fault::Fault;

/// The object in the body of a request.
#[derive(Debug)]
pub(super) struct Sent(pub(super) Fields);

/// The parameters in the address of a request.
#[derive(Debug)]
pub(super) struct Asked(pub(super) Fields);

/// Named values, some of which have to be of a certain type. What is wrong about them is gathered, and told at the end.
#[derive(Debug)]
pub(super) struct Fields {
    values: Map<String, Value>,
    place: &'static str,
    platform: bool,
    faults: Vec<Value>,
}

/// Whether the platform's dialect is spoken there: it answers 400 where the open-source server answers 422.
fn is_platform(uri: &Uri) -> bool {
    ["/v1/", "/v2/", "/v3/"].iter().any(|version| uri.path().starts_with(version))
}

impl<S: Send + Sync> FromRequest<S> for Sent {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        let platform = is_platform(request.uri());
        let refused = |fault: Value| {
            let failure = Failure::fields(vec![fault]);
            if platform { failure.without_fields() } else { failure }
        };
        let bytes = Bytes::from_request(request, state).await;
        let bytes = bytes.map_err(|e| Fault::new(e.status(), e.body_text()))?;
        if bytes.is_empty() {
            return Err(refused(json!({"type": "missing", "loc": ["body"], "msg": "Field required", "input": null})));
        }
        match serde_json::from_slice(&bytes) {
            Ok(Value::Object(values)) => Ok(Self(Fields { values, place: "body", platform, faults: Vec::new() })),
            Ok(_) => {
                let message = "Input should be a valid dictionary";
                Err(refused(json!({"type": "model_attributes_type", "loc": ["body"], "msg": message})))
            }
            Err(e) => {
                let message = format!("JSON decode error at line {}, column {}", e.line(), e.column());
                Err(refused(json!({"type": "json_invalid", "loc": ["body", e.column()], "msg": message})))
            }
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Asked {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let platform = is_platform(&parts.uri);
        let pairs = Query::<Vec<(String, String)>>::from_request_parts(parts, state).await;
        let Query(pairs) = pairs.map_err(|e| Failure::bad_request(e.body_text()))?;
        let mut values = Map::new();
        for (name, value) in pairs {
            if values.insert(name.clone(), value.into()).is_some() {
                // Which of two users is meant nobody can know.
                return Err(Failure::bad_request(format!("the parameter {name} is given twice")));
            }
        }
        Ok(Self(Fields { values, place: "query", platform, faults: Vec::new() }))
    }
}

impl Fields {
    /// Some values by themselves.
    pub(super) fn new(values: Map<String, Value>) -> Self {
        Self { values, place: "body", platform: true, faults: Vec::new() }
    }

    pub(super) fn is_platform(&self) -> bool {
        self.platform
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// The value, whatever it is; nothing for `null`.
    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name).filter(|value| !value.is_null())
    }

    /// Whether it is there, be it as `null`.
    pub(super) fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        match self.value(name) {
            Some(Value::String(text)) => Some(text.clone()),
            // Old clients send numbers as ids.
            Some(Value::Number(number)) if self.platform => Some(number.to_string()),
            Some(_) => self.wrong(name, "string_type", "Input should be a valid string"),
            None => None,
        }
    }

    pub(super) fn flag(&mut self, name: &str) -> Option<bool> {
        match self.value(name)? {
            Value::Bool(flag) => Some(*flag),
            Value::String(text) if text.eq_ignore_ascii_case("true") || text == "1" => Some(true),
            Value::String(text) if text.eq_ignore_ascii_case("false") || text == "0" => Some(false),
            _ => self.wrong(name, "bool_type", "Input should be a valid boolean"),
        }
    }

    pub(super) fn whole(&mut self, name: &str) -> Option<i64> {
        let whole = match self.value(name)? {
            Value::Number(number) => number.as_i64().or_else(|| {
                let number = number.as_f64().filter(|n| n.fract() == 0.0 && n.abs() < 9e15)?;
                Some(number as i64)
            }),
            Value::String(text) => text.trim().parse().ok(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        whole.or_else(|| self.wrong(name, "int_type", "Input should be a valid integer"))
    }

    /// A whole number between two others.
    pub(super) fn whole_within(&mut self, name: &str, least: i64, most: i64) -> Option<usize> {
        let whole = self.whole(name)?;
        if whole < least {
            let message = format!("Input should be greater than or equal to {least}");
            return self.wrong(name, "greater_than_equal", &message);
        }
        if whole > most {
            return self.wrong(name, "less_than_equal", &format!("Input should be less than or equal to {most}"));
        }
        usize::try_from(whole).ok()
    }

    pub(super) fn number(&mut self, name: &str) -> Option<f64> {
        let number = match self.value(name)? {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok().filter(|n: &f64| n.is_finite()),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        number.or_else(|| self.wrong(name, "float_type", "Input should be a valid number"))
    }

    pub(super) fn object(&mut self, name: &str) -> Option<Map<String, Value>> {
        match self.value(name)? {
            Value::Object(object) => Some(object.clone()),
            _ => self.wrong(name, "dict_type", "Input should be a valid dictionary"),
        }
    }

    /// A list of texts; one text alone is a list of one.
    pub(super) fn texts(&mut self, name: &str) -> Option<Vec<String>> {
        let one = |value: &Value| value.as_str().map(str::to_owned);
        let texts = match self.value(name)? {
            Value::String(text) => Some(text.split(',').map(|text| text.trim().to_owned()).collect()),
            Value::Array(values) => values.iter().map(one).collect(),
            _ => None,
        };
        texts.or_else(|| self.wrong(name, "list_type", "Input should be a valid list of strings"))
    }

    /// Notes that a value has to be there.
    pub(super) fn require(&mut self, name: &str) {
        if self.value(name).is_none() {
            let input = if self.place == "body" { Value::Object(self.values.clone()) } else { Value::Null };
            // What was sent is not sent back: it may be long, and it is known.
            let input = input.as_object().map(|sent| sent.keys().cloned().collect::<Vec<_>>());
            self.faults
                .push(json!({"type": "missing", "loc": [self.place, name], "msg": "Field required", "input": input}));
        }
    }

    pub(super) fn wrong<T>(&mut self, name: &str, kind: &str, message: &str) -> Option<T> {
        self.faults.push(json!({"type": kind, "loc": [self.place, name], "msg": message}));
        None
    }

    /// Refuses the request if anything was wrong.
    pub(super) fn check(&mut self) -> Result<(), Failure> {
        if self.faults.is_empty() {
            return Ok(());
        }
        let failure = Failure::fields(std::mem::take(&mut self.faults));
        Err(if self.platform { failure.without_fields() } else { failure })
    }
}
