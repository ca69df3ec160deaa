//! Creates branches of a conversation.

use memory_engine_core::{Clock, Error, ErrorKind, Kind, Outcome, PutMode, Record, Result, Scope, Trust, Write};
use memory_engine_indexing::IndexedStore;

use crate::fork::{Fork, ancestors, fork_id, on_branch};

/// Creates a branch of a conversation. `scope` names the session and the new branch.
///
/// # Errors
/// `InvalidInput` if `scope` names no user, session or branch, or the branch would be its own ancestor; `Conflict` if
/// the branch has a fork already, or was deleted.
pub async fn create_fork(store: &IndexedStore, scope: &Scope, fork: Fork) -> Result<()> {
    let branch = check_fork(store, scope, &fork).await?;
    let record = fork_record(scope, &fork, store.clock().as_ref());
    store.check_fields(&record)?;
    let conflict = |message: String| Error::new(ErrorKind::Conflict, "fork", message);
    match store.write(scope, vec![Write::new(record, PutMode::Create)]).await {
        Err(error) if error.kind() == ErrorKind::Conflict => {
            Err(conflict(format!("there is a branch {branch:?} already")))
        }
        Ok(written) if written.iter().any(|written| matches!(written.outcome, Outcome::Blocked(_))) => {
            Err(conflict(format!("a branch {branch:?} was forgotten and stays away; give the new one another name")))
        }
        outcome => outcome.map(drop),
    }
}

/// Returns the name of the new branch if the fork is valid.
async fn check_fork<'s>(store: &IndexedStore, scope: &'s Scope, fork: &Fork) -> Result<&'s str> {
    let invalid = |message: &str| Error::invalid("fork", message.to_owned());
    let (Some(_), Some(_), Some(branch)) = (scope.user_name(), scope.session(), scope.branch()) else {
        return Err(invalid("a fork needs a scope with a user, a session and the name of the new branch"));
    };
    let ancestors = ancestors(store, &on_branch(scope, fork.parent.as_deref())?).await?;
    let is_ancestor = ancestors.iter().any(|ancestor| ancestor.name.as_deref() == Some(branch));
    if fork.parent.as_deref() == Some(branch) || is_ancestor {
        return Err(invalid("a branch cannot be forked from itself or from one of its own branches"));
    }
    Ok(branch)
}

/// Returns the record that stores a fork.
fn fork_record(scope: &Scope, fork: &Fork, clock: &dyn Clock) -> Record {
    let mut record = Record::new(scope.clone(), Kind::ledger("fork"), "a branch begins", clock);
    record.id = fork_id(scope);
    record.trust = Trust::Tool;
    if let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(fork) {
        record.metadata = fields;
    }
    record
}
