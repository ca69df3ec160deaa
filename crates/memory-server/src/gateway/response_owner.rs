//! The owners of the responses that an upstream stores. The key of the upstream reaches the responses of all users, so
//! that the gateway has to know whose they are.

use std::time::Duration;

use memory_engine::{Kind, MemoryEngine, PutMode, Record, RecordId, Result, Scope, Trust};

use super::{continuation::find_continuation, sessions::SessionCache, state::GatewayState};
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

    /// Records that this user may read, continue and delete the responses and items with these ids. A failure does not
    /// fail the chat.
    pub(super) async fn record(&self, ids: &[String]) {
        if let Err(error) = self.try_record(ids).await {
            tracing::warn!(%error, "the owner of a stored response is not recorded, so that it cannot be continued");
        }
    }

    async fn try_record(&self, ids: &[String]) -> Result<()> {
        let entries = ids.iter().map(|id| self.entry(id)).collect::<Result<_>>()?;
        self.engine.store(&self.user, entries, PutMode::Upsert).await.map(drop)
    }

    fn entry(&self, id: &str) -> Result<Record> {
        let clock = self.engine.settings().clock();
        let kind = Kind::ledger(LEDGER);
        let mut entry = Record::new(self.user.clone(), kind, "a response that an upstream stores", clock.as_ref());
        entry.id = record_id(&self.user, id)?;
        entry.trust = Trust::Tool;
        entry.expires_at = Some(clock.now().after(KNOWN_FOR));
        Ok(entry)
    }
}

impl GatewayState {
    /// Checks that the gateway has passed on responses or items with these ids to a user of this key.
    ///
    /// # Errors
    /// 404, whether another user has them or not; the store's error.
    pub(super) async fn check_owner<'i>(
        &self,
        access: &Access,
        ids: impl IntoIterator<Item = &'i str>,
    ) -> Result<(), Fault> {
        for id in ids {
            if !access.is_open() && !is_owned(&self.engine, &self.sessions, access, id).await? {
                let message = "there is no response, item or conversation with this id that this key has received";
                return Err(Fault::not_found(message));
            }
        }
        Ok(())
    }
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
