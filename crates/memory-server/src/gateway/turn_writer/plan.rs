//! Plans and writes the records of turns.

use std::{collections::BTreeMap, sync::Arc};

use futures::future::join_all;
use memory_engine::{
    Outcome, PutMode, Record, RecordId, Result, Scope,
    audit::{Actor, in_context},
};

use super::{
    pending::{PendingWrite, count_turn, with_store_timeout},
    worker::TurnWorker,
};
use crate::gateway::{
    sessions::read_latest_turn,
    thread::{Exchange, exchange_key},
    turn::{ChatTurn, StoredTurn, record_ids},
};

/// The tenant and the actor whose turns are stored in one transaction.
type TransactionKey = (Scope, Option<Arc<Actor>>);

/// The records that a write did not store, with the reason.
type UnstoredRecords = BTreeMap<RecordId, Outcome>;

/// The records to write for a turn.
#[derive(Debug)]
struct WritePlan {
    records: Vec<Record>,
    /// The round after the latest turn of the session; `None` if the round follows from the turn or the one before it.
    next_round: Option<u32>,
    /// True if the turn follows or repeats the latest one, so that it replaces no other turn.
    replaces_none: bool,
    /// The key of the stored exchange whose reply is replaced by another one.
    former_exchange: Option<String>,
}

/// The outcome of writing a turn.
#[derive(Debug, Clone)]
pub(super) struct TurnWriteOutcome {
    next_round: Option<u32>,
    replaces_none: bool,
    /// The key of the stored exchange whose reply was replaced by another one.
    former_exchange: Option<String>,
    /// The name of the outcome in the metrics.
    counted_as: &'static str,
}

impl TurnWorker {
    /// Stores turns of different sessions, one transaction per tenant and key. Returns the turns for which that fails.
    pub(super) async fn store_together(&self, group: Vec<PendingWrite>) -> Vec<PendingWrite> {
        let plans = join_all(group.into_iter().map(|pending| async {
            let plan = in_context(pending.audit.clone(), with_store_timeout(self.plan(&pending.turn))).await;
            (pending, plan)
        }));
        let mut by_tenant: BTreeMap<TransactionKey, Vec<(PendingWrite, WritePlan)>> = BTreeMap::new();
        let mut refused = Vec::new();
        let is_audited = self.engine.audit().is_on();
        for (pending, plan) in plans.await {
            match plan.and_then(|plan| Ok((Scope::tenant_wide(pending.turn.address.tenant())?, plan))) {
                Ok((tenant, plan)) => {
                    let actor = pending.audit.actor().filter(|_| is_audited).cloned();
                    by_tenant.entry((tenant, actor)).or_default().push((pending, plan));
                }
                Err(_) => refused.push(pending),
            }
        }
        let store = |((tenant, _), planned)| self.store_planned(tenant, planned);
        let refused_by_tenant = join_all(by_tenant.into_iter().map(store)).await;
        refused.extend(refused_by_tenant.into_iter().flatten());
        refused
    }

    /// Stores the planned turns of a tenant in one transaction. Returns all of them if that fails.
    async fn store_planned(&self, tenant: Scope, planned: Vec<(PendingWrite, WritePlan)>) -> Vec<PendingWrite> {
        let records = planned.iter().flat_map(|(_, plan)| plan.records.iter().cloned()).collect();
        let audit = planned.first().map(|(pending, _)| pending.audit.clone()).unwrap_or_default();
        match in_context(audit, self.store(&tenant, records)).await {
            Ok(unstored) => {
                join_all(planned.into_iter().map(|(pending, plan)| self.finish(pending, plan.outcome(&unstored))))
                    .await;
                Vec::new()
            }
            Err(_) => planned.into_iter().map(|(pending, _)| pending).collect(),
        }
    }

    /// Stores one turn in its own transaction.
    pub(super) async fn store_one(&self, turn: &ChatTurn) -> Result<TurnWriteOutcome> {
        let plan = with_store_timeout(self.plan(turn)).await?;
        let unstored = self.store(&turn.address, plan.records.clone()).await?;
        Ok(plan.outcome(&unstored))
    }

    /// Writes records, and returns those that are not stored: blocked by a deletion, or counted as repetitions.
    async fn store(&self, scope: &Scope, records: Vec<Record>) -> Result<UnstoredRecords> {
        if records.is_empty() {
            return Ok(UnstoredRecords::new());
        }
        let ids: Vec<RecordId> = records.iter().map(|record| record.id).collect();
        let written = with_store_timeout(self.engine.store(scope, records, PutMode::Upsert)).await?;
        let outcomes = ids.into_iter().zip(written.into_iter().map(|written| written.outcome));
        Ok(outcomes.filter(|(_, outcome)| matches!(outcome, Outcome::Blocked(_) | Outcome::Counted)).collect())
    }

    /// Plans the records of a turn.
    async fn plan(&self, turn: &ChatTurn) -> Result<WritePlan> {
        let mut ids = record_ids(&turn.address, &turn.key.key).to_vec();
        if let Some(parent) = &turn.key.parent {
            ids.extend(record_ids(&turn.address, parent));
        }
        let mut found = self.engine.get_all(&turn.address, &ids).await?.into_iter();
        let stored = StoredTurn {
            user: found.next().flatten(),
            reply: found.next().flatten(),
            parent_user: found.next().flatten(),
            parent_reply: found.next().flatten(),
        };
        let latest = read_latest_turn(&self.engine, &turn.address, turn.asked_at).await?;
        let replaces_none =
            latest.key.is_some() && (latest.key == turn.key.parent || latest.key.as_ref() == Some(&turn.key.key));
        let known_round = stored.round();
        let round = known_round.unwrap_or(latest.round + 1);
        let retracted = self.retracted_by_others(turn, &stored).await?;
        // Without a new reply, the stored one stays.
        let new_reply = &turn.exchange.assistant;
        let stored_reply = self.engine.screening().mask_within(&turn.address, new_reply.as_str()).await?;
        let has_new_text = |reply: &&Record| reply.text != stored_reply;
        let replaced_reply = stored.reply.as_ref().filter(|_| !new_reply.is_empty()).filter(has_new_text);
        let former_exchange = replaced_reply
            .map(|reply| exchange_key(&Exchange { user: turn.exchange.user.clone(), assistant: reply.text.clone() }));
        let mut records = turn.records(stored, round);
        records.retain(|record| !retracted.contains(&record.id));
        records.extend(self.changed_first_message(turn).await?);
        let next_round = known_round.is_none().then_some(round);
        Ok(WritePlan { records, next_round, replaces_none, former_exchange })
    }

    /// Retracts the turns that a stored turn replaces, and reports that it is stored. In this order, because the client
    /// may send its next message as soon as the reply has ended, and retracted turns must not be recalled for it.
    pub(super) async fn finish(&self, pending: PendingWrite, outcome: TurnWriteOutcome) {
        count_turn(outcome.counted_as);
        let PendingWrite { turn, audit: _, stored, _permit, _tracked } = pending;
        if let Some(round) = outcome.next_round {
            let separated = with_store_timeout(self.separate_round(&turn.address, round)).await;
            if let Err(error) = separated {
                tracing::warn!(id = turn.request_id(), %error, "a round that two servers gave cannot be changed");
            }
        }
        if let Err(error) = with_store_timeout(self.retract_resent_message(&turn)).await {
            tracing::warn!(id = turn.request_id(), %error, "a first message that a client changed is not retracted");
        }
        if !outcome.replaces_none {
            let retracted = with_store_timeout(self.retract_replaced_turns(&turn, outcome.former_exchange)).await;
            if let Err(error) = retracted {
                tracing::warn!(id = turn.request_id(), %error, "turns that a client replaced could not be retracted");
            }
        }
        // A turn of blocked or counted records counts as stored: waiting or retrying would not change it.
        let _ = stored.send(true);
    }
}

impl WritePlan {
    fn outcome(&self, unstored: &UnstoredRecords) -> TurnWriteOutcome {
        let unstored = self.records.iter().find_map(|record| unstored.get(&record.id));
        TurnWriteOutcome {
            next_round: self.next_round,
            // A turn that is only counted takes no other one's place.
            replaces_none: self.replaces_none || matches!(unstored, Some(Outcome::Counted)),
            former_exchange: self.former_exchange.clone(),
            counted_as: unstored.map_or("stored", |outcome| outcome.as_str()),
        }
    }
}
