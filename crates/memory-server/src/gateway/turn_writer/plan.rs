//! Plans and writes the records of turns.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join_all;
use memory_engine::{Outcome, PutMode, Record, RecordId, Result, Scope};

use super::{
    pending::{PendingWrite, count, within},
    worker::TurnWorker,
};
use crate::gateway::{
    sessions::{LastTurn, last_turn},
    thread::is_derived,
    turn::{StoredTurn, Turn, ids},
};

/// The records to write for a turn.
#[derive(Debug)]
struct WritePlan {
    records: Vec<Record>,
    round: u32,
}

/// The outcome of writing a turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct WriteOutcome {
    round: u32,
    /// True if the store refused records because they have been deleted.
    blocked: bool,
}

impl TurnWorker {
    /// Stores turns of different sessions, one transaction per tenant. Returns the turns for which that fails.
    pub(super) async fn store_together(&self, wave: Vec<PendingWrite>) -> Vec<PendingWrite> {
        let planned = join_all(wave.into_iter().map(|waiting| async {
            let plan = within(self.plan(&waiting.turn)).await;
            (waiting, plan)
        }));
        let (mut tenants, mut refused) = (BTreeMap::<Scope, Vec<(PendingWrite, WritePlan)>>::new(), Vec::new());
        for (waiting, plan) in planned.await {
            match plan.and_then(|plan| Ok((Scope::tenant_wide(waiting.turn.address.tenant())?, plan))) {
                Ok((tenant, plan)) => tenants.entry(tenant).or_default().push((waiting, plan)),
                Err(_) => refused.push(waiting),
            }
        }
        let stored = tenants.into_iter().map(|(tenant, planned)| async move {
            let records = planned.iter().flat_map(|(_, plan)| plan.records.iter().cloned()).collect();
            match self.store(&tenant, records).await {
                Ok(blocked) => {
                    let finished =
                        planned.into_iter().map(|(waiting, plan)| self.finish(waiting, plan.outcome(&blocked)));
                    join_all(finished).await;
                    Vec::new()
                }
                Err(_) => planned.into_iter().map(|(waiting, _)| waiting).collect(),
            }
        });
        refused.extend(join_all(stored).await.into_iter().flatten());
        refused
    }

    pub(super) async fn store_one(&self, turn: &Turn) -> Result<WriteOutcome> {
        let plan = within(self.plan(turn)).await?;
        let blocked = self.store(&turn.address, plan.records.clone()).await?;
        Ok(plan.outcome(&blocked))
    }

    /// Writes records, and returns the ids of those that are blocked by a deletion.
    async fn store(&self, scope: &Scope, records: Vec<Record>) -> Result<BTreeSet<RecordId>> {
        if records.is_empty() {
            return Ok(BTreeSet::new());
        }
        let written = within(self.engine.store(scope, records, PutMode::Upsert)).await?;
        let blocked = written.into_iter().filter(|written| matches!(written.outcome, Outcome::Blocked(_)));
        Ok(blocked.map(|written| written.id).collect())
    }

    /// Plans the records of a turn.
    async fn plan(&self, turn: &Turn) -> Result<WritePlan> {
        let mut wanted = ids(&turn.address, &turn.key.key).to_vec();
        wanted.extend(turn.key.parent.iter().flat_map(|parent| ids(&turn.address, parent)));
        let mut found = self.engine.get_all(&turn.address, &wanted).await?.into_iter();
        let mut next = || found.next().flatten();
        let stored = StoredTurn { user: next(), reply: next(), parent_user: next(), parent_reply: next() };
        let round = match stored.round() {
            Some(round) => round,
            None => self.last(&turn.address).await?.round + 1,
        };
        let stays_away = self.taken_back_by_others(turn, &stored).await?;
        let mut records = turn.records(stored, round);
        records.retain(|record| !stays_away.contains(&record.id));
        Ok(WritePlan { records, round })
    }

    async fn last(&self, address: &Scope) -> Result<LastTurn> {
        if let Some(last) = self.sessions.last(address) {
            return Ok(last);
        }
        let (last, _) = last_turn(&self.engine, address).await?;
        self.sessions.set_last(address, last.clone());
        Ok(last)
    }

    /// Reports that a turn is stored, and retracts the turns that it replaces.
    pub(super) async fn finish(&self, waiting: PendingWrite, outcome: WriteOutcome) {
        count(if outcome.blocked { "barred" } else { "stored" });
        let PendingWrite { turn, stored, _permit, _tracked } = waiting;
        // A blocked record is never stored, however long the client waits.
        let _ = stored.send(true);
        let before = self.sessions.last(&turn.address);
        self.sessions.set_last(&turn.address, LastTurn { round: outcome.round, key: Some(turn.key.key.clone()) });
        // A turn after the latest one, or the latest one again, replaces none.
        let latest = before.and_then(|last| last.key);
        if latest.is_some() && (latest == turn.key.parent || latest.as_ref() == Some(&turn.key.key)) {
            return;
        }
        // A derived session contains all conversations that begin with the same words.
        if turn.address.session().is_some_and(is_derived) {
            return;
        }
        if let Err(error) = within(self.take_back_left_behind(&turn)).await {
            tracing::warn!(id = turn.request(), %error, "what a client has edited away could not be taken back");
        }
    }
}

impl WritePlan {
    fn outcome(&self, blocked: &BTreeSet<RecordId>) -> WriteOutcome {
        WriteOutcome { round: self.round, blocked: self.records.iter().any(|record| blocked.contains(&record.id)) }
    }
}
