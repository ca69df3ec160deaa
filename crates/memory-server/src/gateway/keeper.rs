//! Storing turns, behind the chat.

mod branch;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::future::join_all;
use memory_engine::{Error, ErrorKind, MemoryEngine, PutMode, Record, Result, Scope};
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
    time::{sleep, timeout},
};

use super::{
    GatewayOptions,
    prompt::last_turn,
    sessions::{Last, Sessions},
    thread::is_derived,
    turn::{Stored, Turn, ids},
};

/// How many turns are stored in one transaction.
const BATCH: usize = 64;
/// How often a turn is tried to be stored, and how long the store may take.
const TRIES: u32 = 5;
const FIRST_WAIT: Duration = Duration::from_millis(200);
const PATIENCE: Duration = Duration::from_secs(30);

/// Takes turns and stores them one after another in a task of its own, so that neither a slow store nor a client that is gone
/// matters to a chat. Many that wait are stored in one transaction.
#[derive(Debug, Clone)]
pub(super) struct Keeper {
    queue: mpsc::Sender<Entry>,
    patience: Duration,
}

#[derive(Debug)]
enum Entry {
    Turn(Box<Turn>, oneshot::Sender<bool>),
    /// Answered when all before it are done.
    Mark(oneshot::Sender<()>),
}

#[derive(Debug)]
struct Keeping {
    engine: MemoryEngine,
    sessions: Arc<Sessions>,
}

/// A turn that is about to be written.
struct Planned {
    turn: Box<Turn>,
    kept: oneshot::Sender<bool>,
    records: Vec<Record>,
    round: u32,
}

impl Keeper {
    /// Starts the task, on this runtime. It ends with the last handle on the keeper.
    pub(super) fn start(engine: MemoryEngine, sessions: Arc<Sessions>, options: &GatewayOptions, on: &Handle) -> Self {
        let (queue, entries) = mpsc::channel(options.queue.max(1));
        on.spawn(Keeping { engine, sessions }.run(entries));
        Self { queue, patience: options.keep_deadline }
    }

    /// Hands over a turn, and waits until it is stored, but not for long. Whether it is: of one that is not, it may still become
    /// so; what cannot be handed over, or cannot be stored, is counted and told of.
    ///
    /// # Cancel safety
    /// What has been handed over is stored, whether anybody waits or not.
    pub(super) async fn keep(&self, turn: Turn) -> bool {
        let (kept, waiting) = oneshot::channel();
        if self.queue.try_send(Entry::Turn(Box::new(turn), kept)).is_err() {
            lost(1, "the queue is full");
            return false;
        }
        matches!(timeout(self.patience, waiting).await, Ok(Ok(true)))
    }

    /// Waits until everything that was handed over is stored, or given up.
    pub(super) async fn drain(&self) {
        let (done, waiting) = oneshot::channel();
        if self.queue.send(Entry::Mark(done)).await.is_ok() {
            let _ = waiting.await;
        }
    }
}

fn lost(turns: u64, why: &str) {
    metrics::counter!("memory_gateway_turns_total", "outcome" => "lost").increment(turns);
    tracing::warn!(turns, why, "turns of the chat gateway are not stored");
}

impl Keeping {
    async fn run(self, mut entries: mpsc::Receiver<Entry>) {
        let mut batch = Vec::with_capacity(BATCH);
        while entries.recv_many(&mut batch, BATCH).await > 0 {
            let mut wave: Vec<(Box<Turn>, oneshot::Sender<bool>)> = Vec::new();
            for entry in batch.drain(..) {
                match entry {
                    Entry::Turn(turn, kept) => {
                        // A turn is stored by what is there of its session: the one before it has to be.
                        if wave.iter().any(|(other, _)| other.address == turn.address) {
                            self.keep(std::mem::take(&mut wave)).await;
                        }
                        wave.push((turn, kept));
                    }
                    Entry::Mark(done) => {
                        self.keep(std::mem::take(&mut wave)).await;
                        let _ = done.send(());
                    }
                }
            }
            self.keep(wave).await;
        }
    }

    /// Stores turns of different sessions: in one transaction, and when that fails each by itself.
    async fn keep(&self, wave: Vec<(Box<Turn>, oneshot::Sender<bool>)>) {
        let planned = join_all(wave.into_iter().map(|(turn, kept)| async {
            let plan = within(self.plan(&turn)).await;
            (turn, kept, plan)
        }));
        let mut tenants: BTreeMap<String, Vec<Planned>> = BTreeMap::new();
        let mut again = Vec::new();
        for (turn, kept, plan) in planned.await {
            match plan {
                Ok((records, round)) => {
                    let tenant = tenants.entry(turn.address.tenant().to_owned()).or_default();
                    tenant.push(Planned { turn, kept, records, round });
                }
                Err(_) => again.push((turn, kept)),
            }
        }
        for (tenant, planned) in tenants {
            let records: Vec<Record> = planned.iter().flat_map(|planned| planned.records.clone()).collect();
            match self.store_all(&tenant, records).await {
                Ok(()) => {
                    for Planned { turn, kept, round, .. } in planned {
                        self.kept(&turn, round, kept).await;
                    }
                }
                Err(_) => again.extend(planned.into_iter().map(|planned| (planned.turn, planned.kept))),
            }
        }
        for (turn, kept) in again {
            match self.keep_one(&turn).await {
                Ok(round) => self.kept(&turn, round, kept).await,
                Err(e) => {
                    lost(1, &e.to_string());
                    let _ = kept.send(false);
                }
            }
        }
    }

    async fn store_all(&self, tenant: &str, records: Vec<Record>) -> Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        let tenant = Scope::tenant_wide(tenant)?;
        within(self.engine.store(&tenant, records, PutMode::Upsert)).await.map(|_| ())
    }

    /// Stores one turn, again and again while that may help.
    async fn keep_one(&self, turn: &Turn) -> Result<u32> {
        let mut wait = FIRST_WAIT;
        for _ in 1..TRIES {
            match self.try_one(turn).await {
                Err(e) if e.is_transient() || e.kind() == ErrorKind::Conflict => sleep(wait).await,
                outcome => return outcome,
            }
            wait *= 2;
        }
        self.try_one(turn).await
    }

    async fn try_one(&self, turn: &Turn) -> Result<u32> {
        let (records, round) = within(self.plan(turn)).await?;
        if !records.is_empty() {
            within(self.engine.store(&turn.address, records, PutMode::Upsert)).await?;
        }
        Ok(round)
    }

    /// What to write for a turn, and its round.
    async fn plan(&self, turn: &Turn) -> Result<(Vec<Record>, u32)> {
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
        Ok((records, round))
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
    async fn kept(&self, turn: &Turn, round: u32, kept: oneshot::Sender<bool>) {
        metrics::counter!("memory_gateway_turns_total", "outcome" => "stored").increment(1);
        let _ = kept.send(true);
        let before = self.sessions.last(&turn.address);
        self.sessions.set_last(&turn.address, Last { round, key: Some(turn.key.key.clone()) });
        // Who goes on from the latest turn, or says it again, leaves nothing behind.
        let latest = before.and_then(|last| last.key);
        if latest.is_some() && (latest == turn.key.parent || latest.as_ref() == Some(&turn.key.key)) {
            return;
        }
        // A session that nobody named holds all conversations that begin with the same words.
        if turn.address.session().is_some_and(is_derived) {
            return;
        }
        if let Err(e) = within(self.take_back_left_behind(turn)).await {
            tracing::warn!(error = %e, "what a client has edited away could not be taken back");
        }
    }
}

/// A store that hangs is one that fails.
async fn within<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let late = |_| Error::new(ErrorKind::Timeout, "gateway", format!("the store took over {} s", PATIENCE.as_secs()));
    timeout(PATIENCE, work).await.map_err(late)?
}
