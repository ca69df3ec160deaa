//! The description of one operation: a method on a path.

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use crate::fault::ErrorBody;

const JSON: &str = "application/json";

/// Returns the schema of a type, with references to the schemas of the document.
type SchemaOf = fn(&mut SchemaGenerator) -> Schema;
/// The location of parameters (`query` or `header`), and an object schema with a property for each.
type Parameters = (&'static str, fn() -> Schema);

/// The description of one operation: a method on a path. Schemas are derived from the types that the handler reads and
/// writes.
#[derive(Debug, Clone)]
pub(crate) struct ApiOperation {
    id: &'static str,
    summary: &'static str,
    needs_key: bool,
    parameters: Vec<Parameters>,
    request: Option<(&'static str, SchemaOf)>,
    responses: Vec<Response>,
    response_headers: Option<fn() -> Schema>,
    errors: (SchemaOf, &'static [&'static str]),
}

#[derive(Debug, Clone)]
struct Response {
    status: &'static str,
    description: &'static str,
    content: Option<(&'static str, SchemaOf)>,
}

impl ApiOperation {
    /// Describes an operation that needs a key and fails with [`ErrorBody`].
    pub(crate) fn new(id: &'static str, summary: &'static str) -> Self {
        Self {
            id,
            summary,
            needs_key: true,
            parameters: Vec::new(),
            request: None,
            responses: Vec::new(),
            response_headers: None,
            errors: (SchemaGenerator::subschema_for::<ErrorBody>, &["4XX", "5XX"]),
        }
    }

    /// Declares that the operation needs no key, and no errors.
    pub(crate) fn without_key(mut self) -> Self {
        self.needs_key = false;
        self.errors.1 = &[];
        self
    }

    /// Declares the query parameters: the fields of `T`.
    pub(crate) fn query<T: JsonSchema>(mut self) -> Self {
        self.parameters.push(("query", schema_of::<T>));
        self
    }

    /// Declares the JSON body of the request.
    pub(crate) fn body<T: JsonSchema>(mut self) -> Self {
        self.request = Some((JSON, SchemaGenerator::subschema_for::<T>));
        self
    }

    /// Declares the form in the body of the request.
    #[cfg(feature = "oauth")]
    pub(crate) fn form<T: JsonSchema>(mut self) -> Self {
        self.request = Some(("application/x-www-form-urlencoded", SchemaGenerator::subschema_for::<T>));
        self
    }

    /// Declares the request headers: the fields of `T`.
    pub(crate) fn headers<T: JsonSchema>(mut self) -> Self {
        self.parameters.push(("header", schema_of::<T>));
        self
    }

    /// Declares the headers of a successful response: the fields of `T`.
    pub(crate) fn response_headers<T: JsonSchema>(mut self) -> Self {
        self.response_headers = Some(schema_of::<T>);
        self
    }

    /// Declares the JSON body of the response with status 200.
    pub(crate) fn answer<T: JsonSchema>(self) -> Self {
        self.response::<T>("200", "Success.", JSON)
    }

    /// Declares a response with a body of some media type.
    pub(crate) fn response<T: JsonSchema>(
        mut self,
        status: &'static str,
        description: &'static str,
        media_type: &'static str,
    ) -> Self {
        let content = Some((media_type, SchemaGenerator::subschema_for::<T> as SchemaOf));
        self.responses.push(Response { status, description, content });
        self
    }

    /// Declares a response whose body is not described.
    pub(crate) fn status(mut self, status: &'static str, description: &'static str) -> Self {
        self.responses.push(Response { status, description, content: None });
        self
    }

    /// Declares the body of failures, and their statuses.
    pub(crate) fn errors<T: JsonSchema>(mut self, statuses: &'static [&'static str]) -> Self {
        self.errors = (SchemaGenerator::subschema_for::<T>, statuses);
        self
    }

    /// Returns the operation object of the document.
    pub(super) fn to_json(&self, tag: &str, schemas: &mut SchemaGenerator) -> Value {
        let mut operation = json!({ "tags": [tag], "operationId": self.id, "summary": self.summary });
        if !self.needs_key {
            operation["security"] = json!([{}]);
        }
        let parameters: Vec<Value> =
            self.parameters.iter().flat_map(|(location, schema)| parameters(location, schema())).collect();
        if !parameters.is_empty() {
            operation["parameters"] = parameters.into();
        }
        if let Some((media_type, request)) = self.request {
            let content = json!({ media_type: { "schema": request(schemas) } });
            operation["requestBody"] = json!({ "required": true, "content": content });
        }
        operation["responses"] = self.responses(schemas).into();
        operation
    }

    fn responses(&self, schemas: &mut SchemaGenerator) -> Map<String, Value> {
        let mut responses = Map::new();
        for Response { status, description, content } in &self.responses {
            let response = responses.entry(*status).or_insert_with(|| json!({ "description": description }));
            if let Some((media_type, schema)) = content {
                response["content"][*media_type] = json!({ "schema": schema(schemas) });
            }
            if let (Some(headers), true) = (self.response_headers, status.starts_with('2')) {
                let headers = properties(headers()).map(|(name, header)| (name, separate_description(header)));
                response["headers"] = headers.collect::<Map<_, _>>().into();
            }
        }
        let (schema, statuses) = self.errors;
        for status in statuses {
            let body = json!({ JSON: { "schema": schema(schemas) } });
            let description = "The request was refused or failed; the message states the reason.";
            responses.insert((*status).to_owned(), json!({ "description": description, "content": body }));
        }
        responses
    }
}

/// Returns the schema of a type, without references to other schemas.
fn schema_of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>()
}

/// Converts the properties of an object schema to parameters.
fn parameters(location: &'static str, schema: Schema) -> impl Iterator<Item = Value> {
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    properties(schema).map(move |(name, mut property)| {
        // The guard refuses a blank user on all routes.
        if ["user_id", "X-User-Id"].contains(&name.as_str()) {
            property["pattern"] = r"\S".into();
        }
        let mut parameter = separate_description(property);
        parameter["required"] = required.iter().any(|required| *required == name).into();
        parameter["name"] = name.into();
        parameter["in"] = location.into();
        parameter
    })
}

fn properties(mut schema: Schema) -> impl Iterator<Item = (String, Value)> {
    let properties = schema.remove("properties");
    let properties = match properties {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    };
    properties.into_iter()
}

/// Moves the description of a schema next to it, where OpenAPI expects it.
fn separate_description(mut schema: Value) -> Value {
    let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
    match description {
        Some(description) => json!({ "description": description, "schema": schema }),
        None => json!({ "schema": schema }),
    }
}
