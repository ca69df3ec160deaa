//! The owners of the responses that an upstream stores. The key of the upstream reaches the responses of all users, so
//! that the gateway has to know whose they are.

use std::time::Duration;

use memory_engine::{Kind, MemoryEngine, PutMode, Record, RecordId, Result, Scope, Trust};

use super::{continuation::find_continuation, sessions::SessionCache};
use crate::{access::Access, fault::Fault};

/// The ledger of the stored responses of a user.
const LEDGER: &str = "stored_response";
/// Time for which a response is known. OpenAI stores responses for 30 days.
const KNOWN_FOR: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// Records the owner of the response to one request.
#[derive(Debug)]
pub(super) struct ResponseOwner {
    engine: MemoryEngine,
    user: Scope,
}

impl ResponseOwner {
    /// Returns the owner for a request within `scope`. `None` for a server without keys, which has one user.
    pub(super) fn of(engine: &MemoryEngine, access: &Access, scope: &Scope) -> Option<Self> {
        (!access.is_open()).then(|| Self { engine: engine.clone(), user: scope.namespace() })
    }

    /// Records that this user may read, continue and delete a response. A failure does not fail the chat.
    pub(super) async fn record(&self, response_id: &str) {
        if let Err(error) = self.try_record(response_id).await {
            tracing::warn!(%error, "the owner of a stored response is not recorded, so that it cannot be continued");
        }
    }

    async fn try_record(&self, response_id: &str) -> Result<()> {
        let clock = self.engine.clock();
        let kind = Kind::ledger(LEDGER);
        let mut entry = Record::new(self.user.clone(), kind, "a response that an upstream stores", clock.as_ref());
        entry.id = record_id(&self.user, response_id)?;
        entry.trust = Trust::Tool;
        entry.expires_at = Some(clock.now().after(KNOWN_FOR));
        self.engine.store(&self.user, vec![entry], PutMode::Upsert).await.map(drop)
    }
}

/// Checks that the gateway has passed on a response with this id to a user of this key.
///
/// # Errors
/// 404, whether another user has the response or not; the store's error.
pub(super) async fn check_owner(
    engine: &MemoryEngine,
    sessions: &SessionCache,
    access: &Access,
    id: &str,
) -> Result<(), Fault> {
    if access.is_open() || is_owned(engine, sessions, access, id).await? {
        return Ok(());
    }
    Err(Fault::not_found("there is no response or conversation with this id that this key has received"))
}

async fn is_owned(engine: &MemoryEngine, sessions: &SessionCache, access: &Access, id: &str) -> Result<bool> {
    for scope in access.scopes()? {
        // The second is for responses to turns that were stored before there was a ledger.
        if engine.get(&scope, record_id(&scope, id)?).await?.is_some()
            || find_continuation(engine, sessions, &scope, id).await?.is_some()
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the id of the entry of a response. It depends on the tenant only, so that a key of a tenant finds the
/// entries of all its users.
fn record_id(scope: &Scope, response_id: &str) -> Result<RecordId> {
    Ok(RecordId::named(&Scope::tenant_wide(scope.tenant())?, &format!("{LEDGER}/{response_id}")))
}
