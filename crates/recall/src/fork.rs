//! Branches of a conversation that share what came before the fork.
//!
//! Reasons: `docs/design/decisions/0015-a-branch-is-a-filter.md`.

use memory_engine_core::{Error, ErrorKind, RecordId, Result, Scope, enum_names};
use memory_engine_indexing::IndexedStore;
use serde::{Deserialize, Serialize};

/// Maximum number of branches that one branch inherits from: more than anyone forks.
const MAX_ANCESTORS: usize = 1000;

/// The point at which a branch leaves its parent, and what it sees of the parent.
///
/// ```
/// use memory_engine::{Field, Filter, Kind, MemoryEngine, ScanQuery, Scope, Turn, history::{Fork, Inherits}};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let memory = MemoryEngine::builder().in_memory().build().await?;
/// let story = Scope::user("lin")?.with_session("story")?;
/// let (main, mercy) = (story.clone().with_branch("main")?, story.with_branch("mercy")?);
/// memory.remember(&main, Turn::assistant("The ship sails").with_sequence(1)).await?;
/// memory.remember(&main, Turn::assistant("The ship sinks").with_sequence(2)).await?;
///
/// memory.history().fork(&mercy, Fork::at(1).from_branch("main")).await?;
/// memory.remember(&mercy, Turn::assistant("The ship lands").with_sequence(2)).await?;
/// let turns = ScanQuery::oldest(9).with_filter(Filter::eq(Field::Kind, Kind::TURN.as_str()));
/// let told = memory.history().timeline(&mercy, &turns).await?.records;
/// let told: Vec<&str> = told.iter().map(|record| record.text.as_str()).collect();
/// assert_eq!(told, ["The ship sails", "The ship lands"]);
/// assert_eq!(memory.history().fork_of(&mercy).await?.unwrap().inherits, Inherits::UpToTheFork);
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fork {
    /// The parent; `None` for the branch without a name. A scope that names no branch sees that one *and* all
    /// branches, as scopes do: name the main line where it has to be read alone.
    pub parent: Option<String>,
    /// The last [sequence number](memory_engine_core::Source::sequence) that both have in common.
    pub at: i64,
    /// The part of the parent that the branch sees.
    pub inherits: Inherits,
}

/// The part of its parent that a branch sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Inherits {
    /// Nothing.
    Nothing,
    /// The messages of the parent up to the sequence number of the fork. They are shared, not copied: editing or
    /// deleting a message before the fork affects both branches, and a message after it is never seen on the other
    /// branch. A record without a sequence number is not inherited.
    UpToTheFork,
}

enum_names! {
    Inherits, "share of the parent" {
        Nothing => "nothing",
        UpToTheFork => "up_to_the_fork",
    }
}

impl Fork {
    /// A branch that leaves the nameless one after `sequence` and sees what came before.
    pub fn at(sequence: i64) -> Self {
        Self { parent: None, at: sequence, inherits: Inherits::UpToTheFork }
    }

    /// Leaves this branch instead of the nameless one.
    #[must_use]
    pub fn from_branch(mut self, parent: impl Into<String>) -> Self {
        self.parent = Some(parent.into());
        self
    }

    /// Sees nothing of its parent.
    #[must_use]
    pub fn alone(mut self) -> Self {
        self.inherits = Inherits::Nothing;
        self
    }
}

/// A branch that another one sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VisibleBranch {
    /// Its name; `None` for the branch without a name.
    pub name: Option<String>,
    /// The last sequence number that is seen; `None` for all of it.
    pub until: Option<i64>,
}

/// Returns the fork that began the branch of `scope`, if there was one.
///
/// # Errors
/// The store's error; `Corrupt` if its record cannot be read.
pub async fn fork_of(store: &IndexedStore, scope: &Scope) -> Result<Option<Fork>> {
    let Some(record) = store.get(scope, fork_id(scope)).await? else { return Ok(None) };
    let fork = serde_json::from_value(serde_json::Value::Object(record.metadata));
    let unreadable = |_| Error::new(ErrorKind::Corrupt, "fork", "what was noted about a branch cannot be read");
    fork.map(Some).map_err(unreadable)
}

/// Returns the branches that the branch of `scope` sees, itself first.
///
/// # Errors
/// As [`fork_of`].
pub async fn ancestors(store: &IndexedStore, scope: &Scope) -> Result<Vec<VisibleBranch>> {
    let mut visible = vec![VisibleBranch { name: scope.branch().map(str::to_owned), until: None }];
    let mut address = scope.clone();
    let mut until = i64::MAX;
    while address.branch().is_some() && visible.len() < MAX_ANCESTORS {
        let fork = fork_of(store, &address).await?;
        let Some(fork) = fork.filter(|fork| fork.inherits == Inherits::UpToTheFork) else { break };
        until = until.min(fork.at);
        address = on_branch(scope, fork.parent.as_deref())?;
        visible.push(VisibleBranch { name: fork.parent, until: Some(until) });
    }
    Ok(visible)
}

/// The id of the record that notes the fork of a branch.
pub fn fork_id(scope: &Scope) -> RecordId {
    RecordId::named(scope, "fork")
}

/// Returns the address of the same conversation on another branch.
///
/// # Errors
/// `InvalidInput` for a name that no branch may have.
pub fn on_branch(scope: &Scope, branch: Option<&str>) -> Result<Scope> {
    let mut other = scope.namespace();
    if let Some(agent) = scope.agent() {
        other = other.with_agent(agent)?;
    }
    if let Some(session) = scope.session() {
        other = other.with_session(session)?;
    }
    branch.map_or(Ok(other.clone()), |branch| other.with_branch(branch))
}
