//! The verbs that are run under faults.

use memory_engine::{
    ErrorKind, MemoryEngine, RecordId, Result, ScanQuery, Scope, State, Turn,
    history::{Fork, Rewind},
};

const TURNS: i64 = 6;
const MAX_ROWS: usize = 100;
/// Number of turns that a rewind retracts.
const REWOUND: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Remember,
    Update,
    Forget,
    Rewind,
    Restore,
    Fork,
    Reindex,
    /// Creates the schema by all migrations.
    Open,
}

/// The records that are stored before the verb runs.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    ids: Vec<RecordId>,
    retraction: Option<RecordId>,
}

pub(crate) fn user(number: u32) -> Scope {
    Scope::user(format!("user {number}")).unwrap()
}

fn session(user: &Scope) -> Scope {
    user.clone().with_session("s").unwrap()
}

/// Returns a line for each stored record.
pub(crate) async fn stored(engine: &MemoryEngine, user: &Scope) -> Vec<String> {
    let records = engine.scan(user, &ScanQuery::oldest(MAX_ROWS)).await.unwrap().records;
    records.iter().map(|record| format!("{} {} {} {}", record.id, record.kind, record.state, record.text)).collect()
}

async fn count_in_state(engine: &MemoryEngine, user: &Scope, state: State) -> usize {
    let records = engine.scan(user, &ScanQuery::oldest(MAX_ROWS)).await.unwrap().records;
    records.iter().filter(|record| record.state == state && !record.kind.is_ledger()).count()
}

impl Verb {
    pub(crate) const ALL: [Self; 8] = [
        Self::Remember,
        Self::Update,
        Self::Forget,
        Self::Rewind,
        Self::Restore,
        Self::Fork,
        Self::Reindex,
        Self::Open,
    ];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Remember => "remember",
            Self::Update => "update",
            Self::Forget => "forget",
            Self::Rewind => "rewind",
            Self::Restore => "restore",
            Self::Fork => "fork",
            Self::Reindex => "reindex",
            Self::Open => "open",
        }
    }

    /// Stores what the verb needs.
    pub(crate) async fn prepare(self, engine: &MemoryEngine, user: &Scope) -> Prepared {
        let mut prepared = Prepared::default();
        if self == Self::Open {
            return prepared;
        }
        for number in 0..TURNS {
            let turn = Turn::user(format!("words of turn {number}")).with_sequence(number);
            prepared.ids.push(engine.remember(&session(user), turn).await.unwrap());
        }
        engine.drain(user, |_| ()).await.unwrap();
        if self == Self::Restore {
            let retraction = engine.history().rewind(&session(user), Rewind::Last(REWOUND)).await.unwrap();
            prepared.retraction = Some(retraction.id);
        }
        prepared
    }

    pub(crate) async fn run(self, engine: &MemoryEngine, user: &Scope, prepared: &Prepared) -> Result<()> {
        match self {
            Self::Remember => {
                let turn = Turn::user("a new turn").with_message_id("new").with_sequence(TURNS);
                engine.remember(&session(user), turn).await.map(drop)
            }
            Self::Update => engine.update(user, prepared.ids[0], "another text").await.map(drop),
            Self::Forget => engine.forget(user, prepared.ids[1..4].to_vec()).await.map(drop),
            Self::Rewind => {
                engine.history().rewind(&session(user), Rewind::To(TURNS - 1 - REWOUND as i64)).await.map(drop)
            }
            Self::Restore => match engine.history().restore(user, prepared.retraction.unwrap()).await {
                // The ledger entry is gone: the whole retraction is restored.
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
                result => result.map(drop),
            },
            Self::Fork => {
                let branch = session(user).with_branch("other").unwrap();
                match engine.history().fork(&branch, Fork::at(2)).await {
                    Err(error) if error.kind() == ErrorKind::Conflict => Ok(()),
                    result => result,
                }
            }
            Self::Reindex => {
                engine.admin().reindex(user).await?;
                engine.drain(user, |_| ()).await.map(drop)
            }
            Self::Open => Ok(()),
        }
    }

    /// Returns true if the whole effect of the verb is stored.
    pub(crate) async fn is_done(self, engine: &MemoryEngine, user: &Scope, prepared: &Prepared) -> bool {
        let get = async |id: RecordId| engine.get(user, id).await.unwrap();
        match self {
            Self::Remember => stored(engine, user).await.iter().any(|line| line.ends_with("a new turn")),
            Self::Update => get(prepared.ids[0]).await.unwrap().text == "another text",
            Self::Forget => {
                let all = engine.get_all(user, &prepared.ids).await.unwrap();
                all.iter().filter(|record| record.is_none()).count() == 3
            }
            Self::Rewind => {
                count_in_state(engine, user, State::Revoked).await == REWOUND
                    && engine.history().retractions(user, MAX_ROWS).await.unwrap().len() == 1
            }
            Self::Restore => count_in_state(engine, user, State::Revoked).await == 0,
            Self::Fork => {
                let branch = session(user).with_branch("other").unwrap();
                engine.history().fork_of(&branch).await.unwrap().is_some()
            }
            // It changes no record; the jobs that are left are checked by the caller.
            Self::Reindex | Self::Open => true,
        }
    }
}
