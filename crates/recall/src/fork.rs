//! Branches of a conversation that share what came before they parted.

use memory_engine_core::{
    Error, ErrorKind, Field, Filter, Kind, Op, Outcome, Page, PutMode, Record, RecordId, Result, ScanQuery, Scope,
    Trust,
};
use serde::{Deserialize, Serialize};

use crate::MemoryEngine;

/// More branches of branches than anybody makes.
const DEEPEST: usize = 1000;

/// Where a branch leaves another one, and what it sees of it.
///
/// ```
/// use memory_engine::{Field, Filter, Fork, Inherits, Kind, MemoryEngine, ScanQuery, Scope, Turn};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let memory = MemoryEngine::builder().in_memory().build().await?;
/// let story = Scope::user("lin")?.with_session("story")?;
/// let (main, mercy) = (story.clone().with_branch("main")?, story.with_branch("mercy")?);
/// memory.remember(&main, Turn::assistant("The ship sails").with_sequence(1)).await?;
/// memory.remember(&main, Turn::assistant("The ship sinks").with_sequence(2)).await?;
///
/// memory.fork(&mercy, Fork::at(1).from_branch("main")).await?;
/// memory.remember(&mercy, Turn::assistant("The ship lands").with_sequence(2)).await?;
/// let turns = ScanQuery::oldest(9).with_filter(Filter::eq(Field::Kind, Kind::TURN.as_str()));
/// let told = memory.timeline(&mercy, &turns).await?.records;
/// let told: Vec<&str> = told.iter().map(|record| record.text.as_str()).collect();
/// assert_eq!(told, ["The ship sails", "The ship lands"]);
/// assert_eq!(memory.fork_of(&mercy).await?.unwrap().inherits, Inherits::UpToTheFork);
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fork {
    /// The branch that it leaves; `None` is the one without a name. A scope that names no branch sees that one *and* all
    /// branches, as scopes do: give the main line a name of its own where it has to be read alone.
    pub parent: Option<String>,
    /// The last [sequence number](memory_engine_core::Source::sequence) that both have in common.
    pub at: i64,
    /// What is seen of the parent.
    pub inherits: Inherits,
}

/// What a branch sees of the one that it has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inherits {
    /// Nothing: it begins anew.
    Nothing,
    /// What the parent sees, up to the sequence number where they part. It is shared and not copied: when a message before
    /// that is edited or deleted, it is so in both; what happens after it in one is never seen in the other. What has no
    /// sequence number is not inherited.
    UpToTheFork,
}

impl Fork {
    /// A branch that leaves the nameless one there and sees what came before.
    pub fn at(sequence: i64) -> Self {
        Self { parent: None, at: sequence, inherits: Inherits::UpToTheFork }
    }

    /// A branch that leaves this one.
    #[must_use]
    pub fn from_branch(mut self, parent: impl Into<String>) -> Self {
        self.parent = Some(parent.into());
        self
    }

    /// A branch that sees nothing of its parent.
    #[must_use]
    pub fn alone(mut self) -> Self {
        self.inherits = Inherits::Nothing;
        self
    }
}

/// What a scope sees: all of a scope, or of a conversation what one of its branches sees.
#[derive(Debug, Clone)]
pub(crate) struct View {
    pub(crate) scope: Scope,
    pub(crate) filter: Option<Filter>,
}

impl MemoryEngine {
    /// Makes a branch of a conversation: `scope` names the session and the new branch.
    ///
    /// From then on [`recall`](Self::recall), [`timeline`](Self::timeline) and the injection on that branch see what
    /// [`Fork::inherits`] says. `get`, `scan` and `forget` go by the address alone.
    ///
    /// # Errors
    /// `InvalidInput` when `scope` names no user, session and branch, or the branch would be its own ancestor; `Conflict`
    /// when the branch was forked before, or forgotten.
    pub async fn fork(&self, scope: &Scope, fork: Fork) -> Result<()> {
        let wrong = |message: &str| Err(Error::invalid("fork", message.to_owned()));
        let (Some(_), Some(_), Some(branch)) = (scope.user_name(), scope.session(), scope.branch()) else {
            return wrong("a fork needs a scope with a user, a session and the name of the new branch");
        };
        let ancestors = self.ancestry(&on_branch(scope, fork.parent.as_deref())?).await?;
        if fork.parent.as_deref() == Some(branch) || ancestors.iter().any(|(name, _)| name.as_deref() == Some(branch)) {
            return wrong("a branch cannot be forked from itself or from one of its own branches");
        }
        let mut record = Record::new(scope.clone(), Kind::ledger("fork"), "a branch begins", self.clock());
        record.id = id_of_fork(scope);
        record.trust = Trust::Tool;
        if let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(&fork) {
            record.metadata = fields;
        }
        let conflict = |message: String| Err(Error::new(ErrorKind::Conflict, "fork", message));
        match self.store(scope, vec![record], PutMode::Create).await {
            Err(error) if error.kind() == ErrorKind::Conflict => {
                conflict(format!("there is a branch {branch:?} already"))
            }
            Ok(written) if written.iter().any(|written| matches!(written.outcome, Outcome::Barred(_))) => {
                conflict(format!("a branch {branch:?} was forgotten and stays away; give the new one another name"))
            }
            Ok(written) if matches!(written.first().map(|written| written.outcome), Some(Outcome::Barred(_))) => {
                let message = format!("a branch {branch:?} was forgotten, and stays away; choose another name");
                Err(Error::new(ErrorKind::Conflict, "fork", message))
            }
            outcome => outcome.map(drop),
        }
    }

    /// Where a branch has left its parent, if it was forked.
    ///
    /// # Errors
    /// The store's; `Corrupt` when what was noted cannot be read.
    pub async fn fork_of(&self, scope: &Scope) -> Result<Option<Fork>> {
        let Some(record) = self.get(scope, id_of_fork(scope)).await? else { return Ok(None) };
        let fork = serde_json::from_value(serde_json::Value::Object(record.metadata));
        fork.map(Some)
            .map_err(|_| Error::new(ErrorKind::Corrupt, "fork", "what was noted about a branch cannot be read"))
    }

    /// A page of records as a branch sees them; of any other scope what [`scan`](Self::scan) gives.
    ///
    /// # Errors
    /// As [`scan`](Self::scan).
    pub async fn timeline(&self, scope: &Scope, query: &ScanQuery) -> Result<Page> {
        let view = self.view(scope).await?;
        let mut query = query.clone();
        query.filter = [query.filter, view.filter].into_iter().flatten().reduce(Filter::and);
        self.scan(&view.scope, &query).await
    }

    /// What is seen from a scope.
    pub(crate) async fn view(&self, scope: &Scope) -> Result<View> {
        let plain = || View { scope: scope.clone(), filter: None };
        if scope.user_name().is_none() || scope.session().is_none() || scope.branch().is_none() {
            return Ok(plain());
        }
        let branches = self.ancestry(scope).await?;
        if branches.len() == 1 {
            return Ok(plain());
        }
        let seen = |(branch, until): (Option<String>, Option<i64>)| {
            let own = match branch {
                Some(name) => Filter::eq(Field::Branch, name.as_str()),
                None => Filter::Not(Box::new(Filter::Exists(Field::Branch))),
            };
            until.map_or(own.clone(), |at| own.and(Filter::compare(Field::Sequence, Op::Le, at as f64)))
        };
        let filter = Filter::Or(branches.into_iter().map(seen).collect());
        Ok(View { scope: on_branch(scope, None)?, filter: Some(filter) })
    }

    /// The branches that one sees, itself first, each with the last sequence number that is seen of it.
    async fn ancestry(&self, scope: &Scope) -> Result<Vec<(Option<String>, Option<i64>)>> {
        let mut seen = vec![(scope.branch().map(str::to_owned), None)];
        let (mut at, mut until) = (scope.clone(), i64::MAX);
        while at.branch().is_some() && seen.len() < DEEPEST {
            let Some(fork) = self.fork_of(&at).await?.filter(|fork| fork.inherits == Inherits::UpToTheFork) else {
                break;
            };
            until = until.min(fork.at);
            at = on_branch(scope, fork.parent.as_deref())?;
            seen.push((fork.parent, Some(until)));
        }
        Ok(seen)
    }
}

fn id_of_fork(scope: &Scope) -> RecordId {
    RecordId::named(scope, "fork")
}

/// The same conversation on another branch.
fn on_branch(scope: &Scope, branch: Option<&str>) -> Result<Scope> {
    let mut other = scope.namespace();
    if let Some(agent) = scope.agent() {
        other = other.with_agent(agent)?;
    }
    if let Some(session) = scope.session() {
        other = other.with_session(session)?;
    }
    branch.map_or(Ok(other.clone()), |branch| other.with_branch(branch))
}
