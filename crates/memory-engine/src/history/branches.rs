//! Creates branches of a conversation.

use memory_engine_core::{Error, ErrorKind, Kind, Outcome, PutMode, Record, Result, Scope, Trust};
use memory_engine_recall::{Fork, ancestors, fork_id, on_branch};

use crate::engine::MemoryEngine;

impl MemoryEngine {
    pub(super) async fn create_branch(&self, scope: &Scope, fork: Fork) -> Result<()> {
        let branch = self.check_fork(scope, &fork).await?;
        let conflict = |message: String| Error::new(ErrorKind::Conflict, "fork", message);
        match self.store_records(scope, vec![fork_record(self, scope, &fork)], PutMode::Create).await {
            Err(error) if error.kind() == ErrorKind::Conflict => {
                Err(conflict(format!("there is a branch {branch:?} already")))
            }
            Ok(written) if written.iter().any(|written| matches!(written.outcome, Outcome::Blocked(_))) => Err(
                conflict(format!("a branch {branch:?} was forgotten and stays away; give the new one another name")),
            ),
            outcome => outcome.map(drop),
        }
    }

    /// Returns the name of the new branch if the fork is valid.
    async fn check_fork<'s>(&self, scope: &'s Scope, fork: &Fork) -> Result<&'s str> {
        let invalid = |message: &str| Error::invalid("fork", message.to_owned());
        let (Some(_), Some(_), Some(branch)) = (scope.user_name(), scope.session(), scope.branch()) else {
            return Err(invalid("a fork needs a scope with a user, a session and the name of the new branch"));
        };
        let ancestors = ancestors(self.indexed_store(), &on_branch(scope, fork.parent.as_deref())?).await?;
        let is_ancestor = ancestors.iter().any(|ancestor| ancestor.name.as_deref() == Some(branch));
        if fork.parent.as_deref() == Some(branch) || is_ancestor {
            return Err(invalid("a branch cannot be forked from itself or from one of its own branches"));
        }
        Ok(branch)
    }
}

/// Returns the record that stores a fork.
fn fork_record(engine: &MemoryEngine, scope: &Scope, fork: &Fork) -> Record {
    let mut record = Record::new(scope.clone(), Kind::ledger("fork"), "a branch begins", engine.settings().clock());
    record.id = fork_id(scope);
    record.trust = Trust::Tool;
    if let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(fork) {
        record.metadata = fields;
    }
    record
}
