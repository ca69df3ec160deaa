//! A client for the REST API of the open-source mem0 server.

use memory_engine_core::{Error, ErrorKind, Result};
use memory_engine_llm::Message;
use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    client::{Call, HttpClient, RetryPolicy},
    endpoint::Endpoint,
    secret::Secret,
};

const OPERATION: &str = "mem0";

/// The owner of memories, in the terms of mem0. At least one field is needed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Mem0Owner {
    /// The user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
}

impl Mem0Owner {
    /// Memories of a user.
    pub fn user(id: impl Into<String>) -> Self {
        Self { user_id: Some(id.into()), ..Self::default() }
    }

    memory_engine_core::setters! {
        #![must_use]
        /// Adds the agent.
        with_agent(id: impl Into<String>) => agent_id = Some(id.into());
        /// Adds the session.
        with_run(id: impl Into<String>) => run_id = Some(id.into());
    }

    /// Returns the ids as JSON. At least one is required: without an id, a search would cover all users.
    fn fields(&self) -> Result<Map<String, Value>> {
        let ids = [("user_id", &self.user_id), ("agent_id", &self.agent_id), ("run_id", &self.run_id)];
        let present = ids.into_iter().filter_map(|(name, id)| Some((name.to_owned(), id.clone()?.into())));
        let fields: Map<String, Value> = present.collect();
        let is_blank = |id: &Value| id.as_str().is_none_or(|id| id.trim().is_empty());
        if fields.is_empty() || fields.values().any(is_blank) {
            return Err(Error::invalid(
                OPERATION,
                "the owner needs a user, agent or session id, and no id may be empty",
            ));
        }
        Ok(fields)
    }
}

/// A search on a mem0 server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Mem0Search {
    /// The query.
    pub query: String,
    /// Maximum number of memories. Default: 20.
    pub limit: u32,
    /// Minimum score, 0 to 1. Default: `None`, the default of the server.
    pub threshold: Option<f64>,
    /// Further conditions, in the filter syntax of mem0. Default: none.
    pub filters: Map<String, Value>,
}

impl Mem0Search {
    /// A search with default values.
    pub fn new(query: impl Into<String>) -> Self {
        Self { query: query.into(), limit: 20, threshold: None, filters: Map::new() }
    }

    memory_engine_core::setters! {
        #![must_use]
        /// Sets the maximum number of memories.
        with_limit(limit: u32);
        /// Sets the minimum score.
        with_threshold(threshold: f64) => threshold = Some(threshold);
    }

    /// Adds a condition.
    #[must_use]
    pub fn with_filter(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.filters.insert(name.into(), value.into());
        self
    }
}

/// The server's action for a message.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Mem0Event {
    /// The id of the memory.
    pub id: String,
    /// The current text of the memory.
    #[serde(default)]
    pub memory: String,
    /// `ADD`, `UPDATE`, `DELETE` or `NONE`.
    #[serde(default)]
    pub event: String,
}

/// A memory on the server.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Mem0Memory {
    /// The id.
    pub id: String,
    /// The text.
    pub memory: String,
    /// The relevance, 0 to 1; only in search results.
    pub score: Option<f64>,
    /// The metadata stored with it.
    pub metadata: Option<Map<String, Value>>,
    /// The time of creation, RFC 3339.
    pub created_at: Option<String>,
    /// The time of the last change, RFC 3339.
    pub updated_at: Option<String>,
    /// The user that it belongs to.
    pub user_id: Option<String>,
    /// The agent that it belongs to.
    pub agent_id: Option<String>,
    /// The session that it belongs to.
    pub run_id: Option<String>,
    /// The role of the speaker, as in chat APIs.
    pub role: Option<String>,
}

#[derive(Deserialize)]
struct Mem0Results<T> {
    results: Vec<T>,
}

/// A mem0 server.
#[derive(Debug, Clone)]
pub struct Mem0Client {
    client: HttpClient,
    endpoint: Endpoint,
}

impl Mem0Client {
    /// Creates a client for the server at this URL. `key` is sent as `x-api-key`.
    ///
    /// # Errors
    /// `InvalidInput` if the URL or the key is invalid.
    pub fn new(client: HttpClient, base_url: &str, key: Option<&Secret>) -> Result<Self> {
        let endpoint = Endpoint::new(base_url)?;
        let endpoint =
            key.map_or_else(|| Ok(endpoint.clone()), |key| endpoint.clone().with_header("x-api-key", key))?;
        Ok(Self { client, endpoint })
    }

    /// Adds messages. The server stores them unchanged or, with `infer`, extracts memories from them with its model.
    /// Retries only if the server did not process the request.
    ///
    /// # Errors
    /// `InvalidInput` if no owner is named; the error of the server.
    pub async fn add(
        &self,
        owner: &Mem0Owner,
        messages: &[Message],
        metadata: &Map<String, Value>,
        infer: bool,
    ) -> Result<Vec<Mem0Event>> {
        let message = |m: &Message| json!({"role": m.role.as_str(), "content": m.content});
        let mut body =
            Map::from_iter([("messages".to_owned(), Value::from(messages.iter().map(message).collect::<Vec<_>>()))]);
        body.extend(owner.fields()?);
        if !metadata.is_empty() {
            body.insert("metadata".into(), metadata.clone().into());
        }
        body.insert("infer".into(), infer.into());
        let call = Call::new(OPERATION, Method::POST, &self.endpoint, &["memories"])
            .with_json(&body)?
            .with_retry_policy(RetryPolicy::NotProcessed);
        let response: Mem0Results<Mem0Event> = self.client.json(call).await?;
        Ok(response.results)
    }

    /// Returns the memories of the owner that match a query, best first.
    ///
    /// # Errors
    /// `InvalidInput` if no owner is named or a filter names another one; the error of the server.
    pub async fn search(&self, owner: &Mem0Owner, search: &Mem0Search) -> Result<Vec<Mem0Memory>> {
        let mut filters = owner.fields()?;
        for (name, value) in &search.filters {
            // A filter may narrow the search and must not widen it to other owners.
            if matches!(name.as_str(), "user_id" | "agent_id" | "run_id" | "OR" | "NOT" | "AND") {
                return Err(Error::invalid(
                    OPERATION,
                    format!("the filter {name} is not allowed in addition to the owner; name the owner once"),
                ));
            }
            filters.insert(name.clone(), value.clone());
        }
        let mut body = json!({"query": search.query, "filters": filters, "top_k": search.limit});
        if let Some(threshold) = search.threshold {
            body["threshold"] = threshold.into();
        }
        let call = Call::new(OPERATION, Method::POST, &self.endpoint, &["search"]).with_json(&body)?;
        let response: Mem0Results<Mem0Memory> = self.client.json(call).await?;
        Ok(response.results)
    }

    /// Returns the memory with this id, or `None` if it does not exist.
    ///
    /// # Errors
    /// The error of the server.
    pub async fn get(&self, id: &str) -> Result<Option<Mem0Memory>> {
        let call = Call::new(OPERATION, Method::GET, &self.endpoint, &["memories", path_safe(id)?]);
        // For an unknown id, mem0 responds with `null` and compatible servers with 404.
        none_if_not_found(self.client.json(call).await).map(Option::flatten)
    }

    /// Deletes a memory. Returns false if it does not exist.
    ///
    /// # Errors
    /// The error of the server.
    pub async fn delete(&self, id: &str) -> Result<bool> {
        let call = Call::new(OPERATION, Method::DELETE, &self.endpoint, &["memories", path_safe(id)?]);
        none_if_not_found(self.client.bytes(&call).await).map(|deleted| deleted.is_some())
    }
}

/// Returns the id if it is safe as a path segment.
fn path_safe(id: &str) -> Result<&str> {
    let is_safe = !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    if is_safe {
        Ok(id)
    } else {
        Err(Error::invalid(OPERATION, "the id has invalid characters; only letters, digits, '-' and '_' are allowed"))
    }
}

fn none_if_not_found<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}
