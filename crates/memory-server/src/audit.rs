//! The audit log: reading and verifying it.

use axum::{Json, extract::State, http::StatusCode};
use memory_engine::{
    MemoryEngine, RecordId, Result, Scope, Timestamp,
    audit::{AuditAction, AuditEntry, AuditHead, AuditQuery},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    access::{Access, Owner},
    config::{Config, Variables},
    fault::Fault,
    openapi::{Routes, table},
    part::ServerPart,
    request::{OwnerName, UrlQuery, check_limit},
    server::Server,
};

/// Maximum number of entries in an answer.
const MAX_ENTRIES: usize = 1000;
/// Maximum number of entries before a page, for a key for some users. They are read again for each page.
const MAX_SKIPPED_ENTRIES: u64 = 100_000;

/// The parameters of a list of entries.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct EntriesQuery {
    /// The user. Default: the only user of the key, or all users.
    user_id: String,
    /// The agent of the memories.
    agent_id: String,
    /// The conversation.
    session_id: String,
    /// Only entries of this key.
    key: Option<String>,
    /// Only entries of this program or agent.
    program: Option<String>,
    /// Only entries with one of these actions, separated by commas, such as `delete,export`.
    action: String,
    /// Only entries that name this record.
    record: Option<String>,
    /// Only entries written at this time or later, such as `2026-02-18T20:00:00Z`.
    since: Option<String>,
    /// Only entries written before this time.
    until: Option<String>,
    /// Continues after this position, from `next`.
    after: Option<u64>,
    /// The oldest entry first. Default: the newest first.
    oldest_first: bool,
    /// Maximum number of entries, at most 1000. Default: 100.
    #[schemars(range(min = 1, max = MAX_ENTRIES))]
    limit: Option<usize>,
}

/// The parameters of a verification.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct VerifyQuery {
    /// An entry that was noted earlier, as SEQUENCE:HASH. The log must contain it.
    expect: Option<String>,
}

/// A page of entries.
#[derive(Debug, Serialize, JsonSchema)]
struct EntriesAnswer {
    /// The entries; for a key for all users with their numbers and hashes.
    entries: Vec<Value>,
    /// The value of `after` for the next page. Missing on the last page. For a key for some users it is the number of
    /// entries on the pages up to here.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
}

/// The result of a verification.
#[derive(Debug, Serialize, JsonSchema)]
struct VerifyAnswer {
    /// True if no entry was changed or removed.
    intact: bool,
    /// The latest entry, as SEQUENCE:HASH.
    head: String,
    /// The number of entries.
    entries: u64,
    /// Descriptions of the problems.
    problems: Vec<String>,
}

/// The audit log over HTTP: lists its entries, and verifies it.
#[derive(Debug, Clone)]
#[must_use]
pub struct Auditing {
    engine: MemoryEngine,
}

impl Auditing {
    /// Creates the API over a memory.
    pub fn new(engine: MemoryEngine) -> Self {
        Self { engine }
    }

    fn part(self) -> ServerPart {
        ServerPart::new("audit", routes(), self.engine)
    }
}

impl Server {
    /// Adds the audit log under `/api/audit`.
    pub fn auditing(self, auditing: Auditing) -> Self {
        self.with_part(auditing.part())
    }
}

/// Builds the part.
pub(crate) fn build(_: &Config, engine: &MemoryEngine, _: Variables<'_>) -> Result<Option<ServerPart>> {
    Ok(Some(Auditing::new(engine.clone()).part()))
}

fn routes() -> Routes<MemoryEngine> {
    table! {
        Routes::new("audit", "Who changed, deleted or exported which records, and when.");
        get "/api/audit" => entries, "auditEntries",
            "Lists entries of the audit log within a scope.", query EntriesQuery => EntriesAnswer;
        get "/api/audit/verify" => verification, "auditVerify",
            "Verifies the audit log of the tenant. Needs a key for all users.", query VerifyQuery => VerifyAnswer;
    }
}

async fn entries(
    State(engine): State<MemoryEngine>,
    access: Access,
    UrlQuery(query): UrlQuery<EntriesQuery>,
) -> Result<Json<EntriesAnswer>, Fault> {
    let scope = query.scope(&access)?;
    let audit_query = query.audit_query()?;
    if !access.is_for_all_users() {
        return Ok(Json(entries_without_numbers(&engine, &scope, audit_query).await?));
    }
    let page = engine.audit().read(&scope, &audit_query).await?;
    Ok(Json(EntriesAnswer { entries: to_json(&page.entries)?, next: page.next }))
}

/// Reads entries for a key for some users. The numbers and hashes of the chain would tell how much others write.
async fn entries_without_numbers(
    engine: &MemoryEngine,
    scope: &Scope,
    mut query: AuditQuery,
) -> Result<EntriesAnswer, Fault> {
    let skipped = query.after.take().unwrap_or_default();
    if skipped > MAX_SKIPPED_ENTRIES {
        let message =
            format!("after is {skipped}; the maximum is {MAX_SKIPPED_ENTRIES}. Name a time with since or until");
        return Err(Fault::bad_request(message));
    }
    let start = usize::try_from(skipped).unwrap_or_default();
    query.limit += start;
    let page = engine.audit().read(scope, &query).await?;
    let mut entries = to_json(page.entries.get(start..).unwrap_or_default())?;
    for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
        entry.retain(|field, _| !matches!(field.as_str(), "sequence" | "previous" | "hash" | "entry"));
    }
    let next = page.next.map(|_| skipped + entries.len() as u64);
    Ok(EntriesAnswer { entries, next })
}

fn to_json(entries: &[AuditEntry]) -> Result<Vec<Value>, Fault> {
    let entries = entries.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>();
    entries.map_err(|e| Fault::new(StatusCode::INTERNAL_SERVER_ERROR, e.to_string()))
}

async fn verification(
    State(engine): State<MemoryEngine>,
    access: Access,
    UrlQuery(query): UrlQuery<VerifyQuery>,
) -> Result<Json<VerifyAnswer>, Fault> {
    if !access.is_for_all_users() {
        let message = "the audit log of a tenant is one chain; verify it with a key for all users";
        return Err(Fault::new(StatusCode::FORBIDDEN, message));
    }
    let expected: Option<AuditHead> = query.expect.as_deref().map(str::parse).transpose()?;
    let tenant = access.scope(&Owner::default())?;
    let verification = engine.audit().verify(&tenant, expected.as_ref()).await?;
    Ok(Json(VerifyAnswer {
        intact: verification.is_intact(),
        head: verification.chain.head.to_string(),
        entries: verification.entries,
        problems: verification.problems.iter().map(ToString::to_string).collect(),
    }))
}

impl EntriesQuery {
    fn scope(&self, access: &Access) -> Result<Scope> {
        let [user, agent, session] = [&self.user_id, &self.agent_id, &self.session_id].map(OwnerName::named);
        access.scope(&Owner { user, agent, session, branch: None })
    }

    fn audit_query(&self) -> Result<AuditQuery, Fault> {
        let limit = check_limit(self.limit.unwrap_or(AuditQuery::DEFAULT_LIMIT), MAX_ENTRIES)?;
        let mut query = AuditQuery::newest(limit).with_after(self.after);
        query.oldest_first = self.oldest_first;
        query.key.clone_from(&self.key);
        query.agent.clone_from(&self.program);
        for action in self.action.split(',').map(str::trim).filter(|action| !action.is_empty()) {
            query = query.with_action(action.parse::<AuditAction>()?);
        }
        query.record = self.record.as_deref().map(str::parse::<RecordId>).transpose()?;
        let time = |text: &Option<String>| text.as_deref().map(str::parse::<Timestamp>).transpose();
        query.since = time(&self.since)?;
        query.until = time(&self.until)?;
        Ok(query)
    }
}
