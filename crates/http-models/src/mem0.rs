//! A mem0 server as a store of memories: its open-source REST API.

use memory_engine_core::{Error, ErrorKind, Result};
use memory_engine_llm::Message;
use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    client::{Call, HttpClient, Repeat},
    endpoint::Endpoint,
    secret::Secret,
};

const OPERATION: &str = "mem0";

/// The owner of memories, in the terms of mem0. At least one field is needed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Mem0Owner {
    /// The person.
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
    /// A person.
    pub fn user(id: impl Into<String>) -> Self {
        Self { user_id: Some(id.into()), ..Self::default() }
    }

    /// Adds the agent.
    #[must_use]
    pub fn with_agent(mut self, id: impl Into<String>) -> Self {
        self.agent_id = Some(id.into());
        self
    }

    /// Adds the session.
    #[must_use]
    pub fn with_run(mut self, id: impl Into<String>) -> Self {
        self.run_id = Some(id.into());
        self
    }

    /// The names as JSON; without one a search would go through everybody's memories.
    fn fields(&self) -> Result<Map<String, Value>> {
        let ids = [("user_id", &self.user_id), ("agent_id", &self.agent_id), ("run_id", &self.run_id)];
        let set = ids.into_iter().filter_map(|(name, id)| Some((name.to_owned(), id.clone()?.into())));
        let fields: Map<String, Value> = set.collect();
        let blank = |id: &Value| id.as_str().is_none_or(|id| id.trim().is_empty());
        if fields.is_empty() || fields.values().any(blank) {
            return Err(Error::invalid(OPERATION, "name the user, the agent or the session, and no empty one"));
        }
        Ok(fields)
    }
}

/// A search on a mem0 server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Mem0Search {
    /// The question.
    pub query: String,
    /// The most memories. 20.
    pub limit: u32,
    /// The least score, 0 to 1; the server's own when there is none.
    pub threshold: Option<f64>,
    /// Further conditions, in mem0's language.
    pub filters: Map<String, Value>,
}

impl Mem0Search {
    /// A question with nothing else said.
    pub fn new(query: impl Into<String>) -> Self {
        Self { query: query.into(), limit: 20, threshold: None, filters: Map::new() }
    }

    /// Sets the most memories.
    #[must_use]
    pub fn with_limit(mut self, limit: u32) -> Self {
        self.limit = limit;
        self
    }

    /// Sets the least score.
    #[must_use]
    pub fn with_threshold(mut self, threshold: f64) -> Self {
        self.threshold = Some(threshold);
        self
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
    /// The text of the memory now.
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
    /// Of which session.
    pub run_id: Option<String>,
    /// The role of the speaker, as in chat APIs.
    pub role: Option<String>,
}

#[derive(Deserialize)]
struct Results<T> {
    results: Vec<T>,
}

/// A mem0 server.
#[derive(Debug, Clone)]
pub struct Mem0Client {
    client: HttpClient,
    endpoint: Endpoint,
}

impl Mem0Client {
    /// The server at this address, with its key where it wants one.
    ///
    /// # Errors
    /// `InvalidInput` when the address or the key cannot be one.
    pub fn new(client: HttpClient, base_url: &str, key: Option<&Secret>) -> Result<Self> {
        let endpoint = Endpoint::new(base_url)?;
        let endpoint =
            key.map_or_else(|| Ok(endpoint.clone()), |key| endpoint.clone().with_header("x-api-key", key))?;
        Ok(Self { client, endpoint })
    }

    /// Gives messages to the server, which keeps them as they are or, with `infer`, has its model find what is worth
    /// keeping. It is asked again only when it has surely not taken them.
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
            .with_repeat(Repeat::WhenRefused);
        let answer: Results<Mem0Event> = self.client.json(call).await?;
        Ok(answer.results)
    }

    /// The owner's memories that fit a question, best first.
    ///
    /// # Errors
    /// `InvalidInput` if no owner is named or a filter names another one; the error of the server.
    pub async fn search(&self, owner: &Mem0Owner, search: &Mem0Search) -> Result<Vec<Mem0Memory>> {
        let mut filters = owner.fields()?;
        for (name, value) in &search.filters {
            // The owner is authority: a condition may narrow the search, never widen it.
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
        let answer: Results<Mem0Memory> = self.client.json(call).await?;
        Ok(answer.results)
    }

    /// The memory with this id, if there is one.
    ///
    /// # Errors
    /// The error of the server.
    pub async fn get(&self, id: &str) -> Result<Option<Mem0Memory>> {
        let call = Call::new(OPERATION, Method::GET, &self.endpoint, &["memories", checked(id)?]);
        // The server answers `null` for an id that it does not know; servers like it answer 404.
        found(self.client.json(call).await).map(Option::flatten)
    }

    /// Deletes a memory; `false` when there was none.
    ///
    /// # Errors
    /// The error of the server.
    pub async fn delete(&self, id: &str) -> Result<bool> {
        let call = Call::new(OPERATION, Method::DELETE, &self.endpoint, &["memories", checked(id)?]);
        found(self.client.bytes(&call).await).map(|deleted| deleted.is_some())
    }
}

/// An id that cannot change the path that it is put into.
fn checked(id: &str) -> Result<&str> {
    let plain = !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    if plain { Ok(id) } else { Err(Error::invalid(OPERATION, "an id holds letters, digits, - and _ only")) }
}

fn found<T>(answer: Result<T>) -> Result<Option<T>> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}
