//! The responses that an upstream stores: their owners, since the key of the upstream reaches the responses of all
//! users, and their turns, which later requests continue.

use memory_engine::{Kind, MemoryEngine, PutMode, Record, RecordId, Result, Scope, Trust};

use super::{
    continuation::{KNOWN_FOR, continuation_entry},
    state::GatewayState,
    turn::ChatTurn,
};
use crate::{access::Access, fault::Fault};

/// The ledger of the stored responses of a user.
const LEDGER: &str = "stored_response";

/// Records the owner and the turn of the response to one request.
#[derive(Debug)]
pub(super) struct ResponseOwner {
    engine: MemoryEngine,
    user: Scope,
    /// False for a server without keys, which has one user.
    is_checked: bool,
}

impl ResponseOwner {
    /// Returns the owner for a request within `scope`.
    pub(super) fn of(engine: &MemoryEngine, access: &Access, scope: &Scope) -> Self {
        Self { engine: engine.clone(), user: scope.namespace(), is_checked: !access.is_open() }
    }

    /// Records that this user may read, continue and delete the responses and items with these ids, and the turn of the
    /// response. A failure does not fail the chat.
    pub(super) async fn record(&self, ids: &[String], response_id: Option<&str>, turn: Option<&ChatTurn>) {
        if let Err(error) = self.try_record(ids, response_id, turn).await {
            tracing::warn!(%error, "the owner of a stored response is not recorded, so that it cannot be continued");
        }
    }

    async fn try_record(&self, ids: &[String], response_id: Option<&str>, turn: Option<&ChatTurn>) -> Result<()> {
        let owned = if self.is_checked { ids } else { &[] };
        let mut entries = owned.iter().map(|id| self.entry(id)).collect::<Result<Vec<Record>>>()?;
        let response_id = response_id.filter(|id| ids.iter().any(|new| new == id));
        if let Some((id, turn)) = response_id.zip(turn) {
            entries.push(continuation_entry(&self.engine, &turn.address, id, &turn.key.key));
        }
        if entries.is_empty() {
            return Ok(());
        }
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
            if !access.is_open() && !is_owned(&self.engine, access, id).await? {
                let message = "there is no response, item or conversation with this id that this key has received";
                return Err(Fault::not_found(message));
            }
        }
        Ok(())
    }
}

async fn is_owned(engine: &MemoryEngine, access: &Access, id: &str) -> Result<bool> {
    for scope in access.scopes()? {
        if engine.get(&scope, record_id(&scope, id)?).await?.is_some() {
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
