//! What is written for a turn, and what becomes of it.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join_all;
use memory_engine::{Outcome, PutMode, Record, RecordId, Result, Scope};

use super::{Keeping, Waiting, count, within};
use crate::gateway::{
    prompt::last_turn,
    sessions::Last,
    thread::is_derived,
    turn::{Stored, Turn, ids},
};

/// What is to be written for a turn.
#[derive(Debug)]
struct Plan {
    records: Vec<Record>,
    round: u32,
}

/// What has become of a turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kept {
    round: u32,
    /// Whether the store has turned some of it away for good: somebody has deleted it.
    barred: bool,
}

impl Keeping {
    /// Stores turns of different sessions, all of one tenant in one transaction; gives back those for which that fails.
    pub(super) async fn keep_together(&self, wave: Vec<Waiting>) -> Vec<Waiting> {
        let planned = join_all(wave.into_iter().map(|waiting| async {
            let plan = within(self.plan(&waiting.turn)).await;
            (waiting, plan)
        }));
        let (mut tenants, mut refused) = (BTreeMap::<Scope, Vec<(Waiting, Plan)>>::new(), Vec::new());
        for (waiting, plan) in planned.await {
            match plan.and_then(|plan| Ok((Scope::tenant_wide(waiting.turn.address.tenant())?, plan))) {
                Ok((tenant, plan)) => tenants.entry(tenant).or_default().push((waiting, plan)),
                Err(_) => refused.push(waiting),
            }
        }
        let stored = tenants.into_iter().map(|(tenant, planned)| async move {
            let records = planned.iter().flat_map(|(_, plan)| plan.records.iter().cloned()).collect();
            match self.store(&tenant, records).await {
                Ok(barred) => {
                    let kept = planned.into_iter().map(|(waiting, plan)| self.kept(waiting, plan.kept(&barred)));
                    join_all(kept).await;
                    Vec::new()
                }
                Err(_) => planned.into_iter().map(|(waiting, _)| waiting).collect(),
            }
        });
        refused.extend(join_all(stored).await.into_iter().flatten());
        refused
    }

    pub(super) async fn try_one(&self, turn: &Turn) -> Result<Kept> {
        let plan = within(self.plan(turn)).await?;
        let barred = self.store(&turn.address, plan.records.clone()).await?;
        Ok(plan.kept(&barred))
    }

    /// Writes records, and gives the ids of those that the store has turned away.
    async fn store(&self, scope: &Scope, records: Vec<Record>) -> Result<BTreeSet<RecordId>> {
        if records.is_empty() {
            return Ok(BTreeSet::new());
        }
        let written = within(self.engine.store(scope, records, PutMode::Upsert)).await?;
        let barred = written.into_iter().filter(|written| matches!(written.outcome, Outcome::Barred(_)));
        Ok(barred.map(|written| written.id).collect())
    }

    /// What to write for a turn, and its round.
    async fn plan(&self, turn: &Turn) -> Result<Plan> {
        let mut wanted = ids(&turn.address, &turn.key.key).to_vec();
        wanted.extend(turn.key.parent.iter().flat_map(|parent| ids(&turn.address, parent)));
        let mut found = self.engine.get_all(&turn.address, &wanted).await?.into_iter();
        let mut next = || found.next().flatten();
        let stored = Stored { user: next(), reply: next(), parent_user: next(), parent_reply: next() };
        let round = match stored.round() {
            Some(round) => round,
            None => self.last(&turn.address).await?.round + 1,
        };
        let stays_away = self.taken_back_by_others(turn, &stored).await?;
        let mut records = turn.records(stored, round);
        records.retain(|record| !stays_away.contains(&record.id));
        Ok(Plan { records, round })
    }

    async fn last(&self, address: &Scope) -> Result<Last> {
        if let Some(last) = self.sessions.last(address) {
            return Ok(last);
        }
        let (last, _) = last_turn(&self.engine, address).await?;
        self.sessions.set_last(address, last.clone());
        Ok(last)
    }

    /// A turn is stored: says so, and takes back what the client has left behind with it.
    pub(super) async fn kept(&self, waiting: Waiting, kept: Kept) {
        count(if kept.barred { "barred" } else { "stored" });
        let Waiting { turn, kept: told, _place, _one_of_all } = waiting;
        // What is barred will not be there however long one waits.
        let _ = told.send(true);
        let before = self.sessions.last(&turn.address);
        self.sessions.set_last(&turn.address, Last { round: kept.round, key: Some(turn.key.key.clone()) });
        // Who goes on from the latest turn, or says it again, leaves nothing behind.
        let latest = before.and_then(|last| last.key);
        if latest.is_some() && (latest == turn.key.parent || latest.as_ref() == Some(&turn.key.key)) {
            return;
        }
        // A session that nobody named holds all conversations that begin with the same words.
        if turn.address.session().is_some_and(is_derived) {
            return;
        }
        if let Err(error) = within(self.take_back_left_behind(&turn)).await {
            tracing::warn!(id = turn.request(), %error, "what a client has edited away could not be taken back");
        }
    }
}

impl Plan {
    fn kept(&self, barred: &BTreeSet<RecordId>) -> Kept {
        Kept { round: self.round, barred: self.records.iter().any(|record| barred.contains(&record.id)) }
    }
}
