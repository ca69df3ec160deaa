//! A client for PostgREST, the API of Supabase.

use memory_engine_core::{Error, Result};
use reqwest::{Method, header::HeaderValue};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    client::{Call, HttpClient, RetryPolicy},
    endpoint::Endpoint,
    secret::Secret,
};

const OPERATION: &str = "postgrest";

/// A database behind PostgREST: calls its functions and reads its tables.
#[derive(Debug, Clone)]
pub struct PostgrestClient {
    client: HttpClient,
    endpoint: Endpoint,
    schema: HeaderValue,
}

impl PostgrestClient {
    /// Creates a client for a Supabase project: `https://PROJECT.supabase.co` with one of its keys.
    ///
    /// The key goes into the header `apikey`. Only the older keys, which are tokens (JWT), go into `Authorization` as
    /// well: the newer `sb_secret_…` are rejected there.
    ///
    /// # Errors
    /// `InvalidInput` if the URL or the key is invalid.
    pub fn supabase(client: HttpClient, project_url: &str, key: &Secret) -> Result<Self> {
        let base = format!("{}/rest/v1", project_url.trim().trim_end_matches('/'));
        let mut endpoint = Endpoint::new(&base)?.with_header("apikey", key)?;
        if is_jwt(key) {
            endpoint = endpoint.with_key(key)?;
        }
        Ok(Self::new(client, endpoint))
    }

    /// Creates a client from the environment: `SUPABASE_URL` and `SUPABASE_SERVICE_KEY`. Returns `None` unless both are
    /// set.
    ///
    /// # Errors
    /// The errors of [`supabase`](Self::supabase).
    pub fn from_env(client: HttpClient) -> Result<Option<Self>> {
        let url = std::env::var("SUPABASE_URL").ok().filter(|url| !url.trim().is_empty());
        match (url, Secret::from_env("SUPABASE_SERVICE_KEY")) {
            (Some(url), Some(key)) => Self::supabase(client, &url, &key).map(Some),
            _ => Ok(None),
        }
    }

    /// Creates a client for a self-hosted PostgREST server. The endpoint contains all required headers.
    pub fn new(client: HttpClient, endpoint: Endpoint) -> Self {
        Self { client, endpoint, schema: HeaderValue::from_static("public") }
    }

    /// Sets the schema of functions and tables. Default: `public`.
    ///
    /// # Errors
    /// `InvalidInput` if the name is not a plain SQL name.
    pub fn with_schema(mut self, schema: &str) -> Result<Self> {
        self.schema = HeaderValue::try_from(name(schema)?)
            .map_err(|_| Error::invalid(OPERATION, "the name of the schema is invalid"))?;
        Ok(self)
    }

    /// Calls a function with named arguments. Retries only if the database did not run it.
    ///
    /// # Errors
    /// `NotFound` if no function has this name and these arguments; `Timeout` if the database cancelled it; otherwise
    /// the error of the database.
    pub async fn rpc<T: DeserializeOwned>(&self, function: &str, arguments: &impl Serialize) -> Result<T> {
        let call = Call::new(OPERATION, Method::POST, &self.endpoint, &["rpc", name(function)?])
            .with_header("content-profile", self.schema.clone())
            .with_header("accept-profile", self.schema.clone())
            .with_json(arguments)?
            .with_retry_policy(RetryPolicy::NotProcessed);
        self.client.json(call).await
    }

    /// Reads rows of a table or view.
    ///
    /// # Errors
    /// `InvalidInput` if a name is not a plain SQL name; otherwise as [`rpc`](Self::rpc).
    pub async fn select<T: DeserializeOwned>(&self, table: &str, select: &Select) -> Result<Vec<T>> {
        let call = Call::new(OPERATION, Method::GET, &self.endpoint, &[name(table)?])
            .with_header("accept-profile", self.schema.clone())
            .with_query(&select.query()?);
        self.client.json(call).await
    }
}

/// Returns true if the key is a JWT: three base64 parts, the first of which is a JSON object.
fn is_jwt(key: &Secret) -> bool {
    key.reveal().starts_with("eyJ") && key.reveal().matches('.').count() == 2
}

/// Returns the name if it is a plain SQL name, which PostgREST cannot parse as syntax.
fn name(name: &str) -> Result<&str> {
    let is_plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_plain {
        Ok(name)
    } else {
        Err(Error::invalid(
            OPERATION,
            "a name of a table, column or function has invalid characters; only letters, digits and '_' are allowed",
        ))
    }
}

/// The comparison of a column with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterOperator {
    /// Equal.
    Eq,
    /// Not equal.
    Neq,
    /// Greater.
    Gt,
    /// Greater or equal.
    Gte,
    /// Less.
    Lt,
    /// Less or equal.
    Lte,
    /// One of a list.
    In,
    /// `null`, `true` or `false`.
    Is,
}

/// The rows and columns to read. All conditions must be true.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Select {
    columns: Vec<String>,
    conditions: Vec<(String, FilterOperator, Value)>,
    order: Vec<(String, bool)>,
    limit: Option<u64>,
    offset: Option<u64>,
}

impl Select {
    /// Selects these columns. An empty list selects all.
    pub fn columns(columns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { columns: columns.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Adds a condition. A list is a JSON array.
    pub fn filter(mut self, column: impl Into<String>, comparison: FilterOperator, value: impl Into<Value>) -> Self {
        self.conditions.push((column.into(), comparison, value.into()));
        self
    }

    /// Sorts by a column, smallest first, after those that were named before.
    pub fn ascending(mut self, column: impl Into<String>) -> Self {
        self.order.push((column.into(), true));
        self
    }

    /// Sorts by a column, largest first, after those that were named before.
    pub fn descending(mut self, column: impl Into<String>) -> Self {
        self.order.push((column.into(), false));
        self
    }

    memory_engine_core::setters! {
        /// Sets the maximum number of rows.
        limit(rows: u64) => limit = Some(rows);
        /// Skips this many rows.
        offset(rows: u64) => offset = Some(rows);
    }

    fn query(&self) -> Result<Vec<(String, String)>> {
        let mut query = Vec::new();
        if !self.columns.is_empty() {
            let columns = self.columns.iter().map(|column| name(column)).collect::<Result<Vec<_>>>()?;
            query.push(("select".to_owned(), columns.join(",")));
        }
        for (column, comparison, value) in &self.conditions {
            query.push((name(column)?.to_owned(), condition(*comparison, value)));
        }
        if !self.order.is_empty() {
            let order = |(column, ascending): &(String, bool)| {
                Ok(format!("{}.{}", name(column)?, if *ascending { "asc" } else { "desc" }))
            };
            query.push(("order".to_owned(), self.order.iter().map(order).collect::<Result<Vec<_>>>()?.join(",")));
        }
        for (key, number) in [("limit", self.limit), ("offset", self.offset)] {
            query.extend(number.map(|number| (key.to_owned(), number.to_string())));
        }
        Ok(query)
    }
}

fn condition(comparison: FilterOperator, value: &Value) -> String {
    let operator = match comparison {
        FilterOperator::Eq => "eq",
        FilterOperator::Neq => "neq",
        FilterOperator::Gt => "gt",
        FilterOperator::Gte => "gte",
        FilterOperator::Lt => "lt",
        FilterOperator::Lte => "lte",
        FilterOperator::In => {
            let items = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
            return format!("in.({})", items.iter().map(quoted).collect::<Vec<_>>().join(","));
        }
        FilterOperator::Is => "is",
    };
    format!("{operator}.{}", plain(value))
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Inside a list, commas, quotes and parentheses are syntax unless the item is quoted.
fn quoted(value: &Value) -> String {
    format!("\"{}\"", plain(value).replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_selection_becomes_a_postgrest_query() {
        let select = Select::columns(["id", "content"])
            .filter("session_id", FilterOperator::Eq, "a.b,c")
            .filter("round", FilterOperator::Gte, 3)
            .filter("scene", FilterOperator::In, json!(["story", "a\",(b)"]))
            .filter("deleted_at", FilterOperator::Is, Value::Null)
            .descending("created_at")
            .ascending("id")
            .limit(10);
        let query = select.query().unwrap();
        let query: Vec<String> = query.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let expected = [
            "select=id,content",
            "session_id=eq.a.b,c",
            "round=gte.3",
            r#"scene=in.("story","a\",(b)")"#,
            "deleted_at=is.null",
            "order=created_at.desc,id.asc",
            "limit=10",
        ];
        assert_eq!(query, expected);
    }

    #[test]
    fn names_with_syntax_are_rejected() {
        for bad in ["", "a,b", "a->b", "x;drop", "名"] {
            assert!(Select::columns([bad]).query().is_err() && name(bad).is_err(), "{bad}");
            assert!(Select::default().filter(bad, FilterOperator::Eq, 1).query().is_err());
        }
    }

    #[test]
    fn only_jwts_are_recognised() {
        assert!(is_jwt(&Secret::new("eyJhbGciOi.eyJyb2xlIjo.c2ln")));
        assert!(!is_jwt(&Secret::new("sb_secret_abc.def.ghi")) && !is_jwt(&Secret::new("eyJx")));
    }
}
