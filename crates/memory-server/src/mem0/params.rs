//! Typed request parameters: the fields of a JSON body, or of a query string.

mod deserializer;

use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Query, Request},
    http::{Uri, request::Parts},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _},
};
use serde_json::{Map, Value};

use super::error::{FieldFault, Mem0Error};
use crate::fault::Fault;
use deserializer::{FieldsDeserializer, InvalidField};

/// A request that consists of one or more groups of parameters.
pub(super) trait FromParams: Sized {
    fn read(params: &mut Params) -> Self;
}

/// A group of parameters: a struct whose fields all have defaults.
pub(super) trait ParamGroup: DeserializeOwned + Default {
    /// The names of the required fields.
    const REQUIRED: &'static [&'static str] = &[];
}

impl<T: ParamGroup> FromParams for T {
    fn read(params: &mut Params) -> Self {
        params.group()
    }
}

/// Defines a request that consists of several groups of parameters.
macro_rules! request {
    ($(#[$doc:meta])* $name:ident { $($access:vis $field:ident: $group:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, schemars::JsonSchema)]
        pub(super) struct $name {
            $(#[schemars(flatten)] $access $field: $group,)*
        }

        impl crate::mem0::params::FromParams for $name {
            fn read(params: &mut crate::mem0::params::Params) -> Self {
                Self { $($field: crate::mem0::params::FromParams::read(params),)* }
            }
        }
    };
}
pub(super) use request;

/// The parameters in the JSON body of a request. Unknown ones are ignored.
#[derive(Debug)]
pub(super) struct Body<T>(pub(super) T);

/// The parameters in the query string of a request. Unknown ones are ignored.
#[derive(Debug)]
pub(super) struct QueryParams<T>(pub(super) T);

/// The parameters in the query string of a request. Unknown ones are refused, because a misspelt owner would widen the
/// result to all owners.
#[derive(Debug)]
pub(super) struct StrictQuery<T>(pub(super) T);

/// The values of a request, and the faults found in them.
#[derive(Debug)]
pub(super) struct Params {
    values: Map<String, Value>,
    /// `body` or `query`.
    location: &'static str,
    api: Mem0Api,
    /// The names of all parameters that the groups read so far define.
    known: Vec<&'static str>,
    faults: Vec<FieldFault>,
}

/// One of mem0's two APIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mem0Api {
    /// The open-source server: invalid fields are listed, with 422.
    OpenSource,
    /// The platform: invalid fields are refused with 400. Old clients send numbers as ids.
    Platform,
}

impl Mem0Api {
    /// Returns the API of a path: the platform's paths start with a version.
    fn of(uri: &Uri) -> Self {
        let versions = ["/v1/", "/v2/", "/v3/"];
        if versions.iter().any(|version| uri.path().starts_with(version)) { Self::Platform } else { Self::OpenSource }
    }

    fn refuse(self, faults: &[FieldFault]) -> Mem0Error {
        let error = Mem0Error::fields(faults);
        match self {
            Self::OpenSource => error,
            Self::Platform => error.without_fields(),
        }
    }
}

impl<S: Send + Sync, T: FromParams> FromRequest<S> for Body<T> {
    type Rejection = Mem0Error;

    async fn from_request(request: Request, state: &S) -> Result<Self, Mem0Error> {
        let api = Mem0Api::of(request.uri());
        let bytes = Bytes::from_request(request, state).await;
        let bytes = bytes.map_err(|e| Fault::new(e.status(), e.body_text()))?;
        let values = read_object(&bytes).map_err(|fault| api.refuse(&[fault]))?;
        Params::new(values, "body", api).finish().map(Self)
    }
}

/// Reads the object in a body.
fn read_object(bytes: &[u8]) -> Result<Map<String, Value>, FieldFault> {
    if bytes.is_empty() {
        return Err(FieldFault::missing(&["body"], None));
    }
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(values)) => Ok(values),
        Ok(_) => Err(FieldFault::new("model_attributes_type", &["body"], "Input should be a valid dictionary")),
        Err(e) => {
            let message = format!("JSON decode error at line {}, column {}", e.line(), e.column());
            let mut fault = FieldFault::new("json_invalid", &["body"], message);
            fault.loc.push(e.column().into());
            Err(fault)
        }
    }
}

impl<S: Send + Sync, T: FromParams> FromRequestParts<S> for QueryParams<T> {
    type Rejection = Mem0Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Mem0Error> {
        Params::of_query(&parts.uri)?.finish().map(Self)
    }
}

impl<S: Send + Sync, T: FromParams> FromRequestParts<S> for StrictQuery<T> {
    type Rejection = Mem0Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Mem0Error> {
        let mut params = Params::of_query(&parts.uri)?;
        let value = T::read(&mut params);
        if let Some(name) = params.values.keys().find(|name| !params.known.contains(&name.as_str())) {
            return Err(Mem0Error::bad_request(format!("unknown parameter {name:?}")));
        }
        params.check()?;
        Ok(Self(value))
    }
}

impl Params {
    pub(super) fn new(values: Map<String, Value>, location: &'static str, api: Mem0Api) -> Self {
        Self { values, location, api, known: Vec::new(), faults: Vec::new() }
    }

    fn of_query(uri: &Uri) -> Result<Self, Mem0Error> {
        let Query(pairs) =
            Query::<Vec<(String, String)>>::try_from_uri(uri).map_err(|e| Mem0Error::bad_request(e.body_text()))?;
        let mut values = Map::new();
        for (name, value) in pairs {
            // Neither of two users may be chosen silently.
            if values.insert(name.clone(), value.into()).is_some() {
                return Err(Mem0Error::bad_request(format!("the parameter {name} occurs twice")));
            }
        }
        Ok(Self::new(values, "query", Mem0Api::of(uri)))
    }

    /// Reads a request.
    ///
    /// # Errors
    /// 422 (on the platform 400) if a field is missing or has a wrong type.
    pub(super) fn finish<T: FromParams>(mut self) -> Result<T, Mem0Error> {
        let value = T::read(&mut self);
        self.check()?;
        Ok(value)
    }

    /// Returns the API that the request is for.
    pub(super) fn api(&self) -> Mem0Api {
        self.api
    }

    /// Records an invalid field.
    pub(super) fn add_fault(&mut self, name: &str, kind: &str, message: &str) {
        self.faults.push(FieldFault::new(kind, &[self.location, name], message));
    }

    fn check(&self) -> Result<(), Mem0Error> {
        if self.faults.is_empty() { Ok(()) } else { Err(self.api.refuse(&self.faults)) }
    }

    /// Reads a group of parameters, and records all of its fields that are missing or have a wrong type.
    fn group<T: ParamGroup>(&mut self) -> T {
        for &name in T::REQUIRED {
            if self.values.get(name).is_none_or(Value::is_null) {
                let sent = (self.location == "body").then(|| self.values.keys().cloned().collect());
                self.faults.push(FieldFault::missing(&[self.location, name], sent));
            }
        }
        // serde stops at the first wrong field. The group is read again without that field, until the rest is right.
        loop {
            let mut fields = FieldsDeserializer::new(&self.values, self.api == Mem0Api::Platform);
            let read = T::deserialize(&mut fields);
            self.known.extend(fields.known);
            let InvalidField { kind, message } = match read {
                Ok(group) => return group,
                Err(invalid) => invalid,
            };
            // Only a field can be invalid: all fields have defaults, and unknown ones are not read.
            let Some(name) = fields.current else { return T::default() };
            self.faults.push(FieldFault::new(kind, &[self.location, name], message));
            self.values.shift_remove(name);
        }
    }
}

/// A whole number from `MIN` to `MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Int<const MIN: i64, const MAX: i64>(usize);

impl<const MIN: i64, const MAX: i64> Int<MIN, MAX> {
    pub(super) fn get(self) -> usize {
        self.0
    }
}

impl<'de, const MIN: i64, const MAX: i64> Deserialize<'de> for Int<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = i64::deserialize(deserializer)?;
        let invalid = |kind: &str, bound: &str, limit| {
            D::Error::custom(format!("{kind}: Input should be {bound} than or equal to {limit}"))
        };
        if number < MIN {
            return Err(invalid("greater_than_equal", "greater", MIN));
        }
        if number > MAX {
            return Err(invalid("less_than_equal", "less", MAX));
        }
        usize::try_from(number).map(Self).map_err(|_| invalid("greater_than_equal", "greater", 0))
    }
}

impl<const MIN: i64, const MAX: i64> JsonSchema for Int<MIN, MAX> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("IntFrom{MIN}To{MAX}").into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}

#[cfg(test)]
mod tests;
