//! Converts between values of the engine and columns of rows.

use std::time::Duration;

use memory_engine_core::{
    Cursor, DamagedRecord, Error, ErrorKind, Job, Order, Page, Record, Result, RuleId, Scope, Stats, Timestamp,
};

/// The lease end of an item that can be claimed.
pub const LEASE_FREE: i64 = i64::MIN;
/// The lease end of a dead letter: it is never claimed again.
pub const LEASE_DEAD: i64 = i64::MAX;
/// Maximum difference between the clocks of two processes that counts as agreement.
const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_secs(2);

/// Returns the latest credible start of a lease or retry delay, in microseconds. A later one is from a clock that was
/// ahead: its end is in the future by an unknown time, and does not count.
pub fn latest_lease_start(now: Timestamp) -> i64 {
    now.after(MAX_CLOCK_DIFFERENCE).as_micros()
}

/// Returns the error for a stored value that no version of this crate can have written. `what` names the value.
pub fn corrupt(what: &str) -> Error {
    let message = format!("the database holds {what} that cannot be read; restore it from a backup");
    Error::new(ErrorKind::Corrupt, "read", message)
}

/// Returns the rule that extracted a relation, from its stored id; `None` for an id that no rule can have.
pub fn rule(id: Option<String>) -> Option<RuleId> {
    id.and_then(|id| RuleId::new(id).ok())
}

/// Returns the scope of these names: tenant, user, agent, session and branch; empty for a dimension that is not set.
///
/// # Errors
/// `Corrupt` for names that no scope can have.
pub fn scope([tenant, user, agent, session, branch]: [&str; 5]) -> Result<Scope> {
    build_scope(tenant, user, agent, session, branch).map_err(|_| corrupt("an address"))
}

fn build_scope(tenant: &str, user: &str, agent: &str, session: &str, branch: &str) -> Result<Scope> {
    let mut scope = Scope::tenant_wide(tenant)?;
    if !user.is_empty() {
        scope = scope.with_user(user)?;
    }
    if !agent.is_empty() {
        scope = scope.with_agent(agent)?;
    }
    if !session.is_empty() {
        scope = scope.with_session(session)?;
    }
    if !branch.is_empty() {
        scope = scope.with_branch(branch)?;
    }
    Ok(scope)
}

/// Returns the column name and the value of each dimension below the user that a scope sets.
pub fn dimensions_below_user(scope: &Scope) -> Vec<(&'static str, String)> {
    let dimensions = [("agent", scope.agent()), ("session", scope.session()), ("branch", scope.branch())];
    dimensions.into_iter().filter_map(|(name, value)| Some((name, value?.to_owned()))).collect()
}

/// Converts a number to the operand of `LIMIT` or `OFFSET`.
pub fn sql_limit(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns the beginning of the condition that a record comes after a cursor. The values of the cursor and a closing
/// parenthesis follow.
pub fn after_position(order: Order) -> &'static str {
    match order {
        Order::OldestFirst => " AND (r.occurred_at, r.place, r.id) > (",
        Order::NewestFirst => " AND (r.occurred_at, r.place, r.id) < (",
    }
}

/// A row of a scan that was read.
#[derive(Debug)]
pub enum ScannedRow {
    /// The record.
    Record(Box<Record>),
    /// A record that cannot be read, and its position, if at least that can be read.
    Damaged(DamagedRecord, Option<Cursor>),
}

/// Returns a page of at most `limit` records. `rows` has one row more if another page follows.
pub fn page(rows: Vec<ScannedRow>, limit: usize, total: Option<u64>) -> Page {
    let has_next = rows.len() > limit;
    let mut page = Page::default().with_total(total);
    for row in rows.into_iter().take(limit) {
        match row {
            ScannedRow::Record(record) => {
                page.next = Some(Cursor::at(&record));
                page.records.push(*record);
            }
            ScannedRow::Damaged(damaged, position) => {
                damaged.warn();
                page.next = position.or(page.next);
                page.damaged.push(damaged);
            }
        }
    }
    page.next = page.next.filter(|_| has_next);
    page
}

/// Returns the time of the next attempt of a queue item; `None` for a dead letter.
pub fn retry_at(leased_until: i64) -> Option<Timestamp> {
    (leased_until != LEASE_DEAD).then(|| Timestamp::from_micros(leased_until))
}

/// Returns the lease end of a queue item with this time of its next attempt; `None` makes it a dead letter.
pub fn leased_until(retry_at: Option<Timestamp>) -> i64 {
    retry_at.map_or(LEASE_DEAD, Timestamp::as_micros)
}

/// Adds the queued items of one job, or its dead letters, to the statistics. Unknown jobs are ignored.
pub fn add_queued(stats: &mut Stats, job: &str, are_dead: bool, records: u64, oldest: i64) {
    let Some(job) = Job::named(job) else { return };
    if are_dead {
        stats.dead_letters.insert(job, records);
    } else {
        stats.queued.insert(job, records);
        stats.waiting_since.insert(job, Timestamp::from_micros(oldest));
    }
}

#[cfg(test)]
mod tests;
