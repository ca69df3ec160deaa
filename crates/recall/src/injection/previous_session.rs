//! What the user said in the conversation before this one.

use std::collections::BTreeSet;

use memory_engine_context::{IncomingMessage, is_backchannel};
use memory_engine_core::{Kind, Record, Scope};

use super::{
    Injector, collect::kind_filter, informative::most_informative, recalled::RecalledMemories, trace::MemorySource,
};

/// Number of latest turns, and of latest summaries, in which the previous conversation is searched for.
const SCAN_ROWS: usize = 200;
/// Maximum number of summaries of the previous conversation that are injected.
const MAX_SUMMARIES: usize = 3;
/// Maximum number of statements of the previous conversation that are injected in place of its summaries.
const MAX_STATEMENTS: usize = 12;

impl Injector {
    /// Adds the statements of the user in the conversation before this one. If they are too many, adds its latest
    /// summaries, or the most informative statements. A conversation with neither of them is skipped.
    ///
    /// The session of this conversation is that of the latest turn in `conversation`, else that of the scope. If there
    /// is neither, the latest session counts as the previous one.
    pub(super) async fn previous_session(
        &self,
        scope: &Scope,
        message: &IncomingMessage<'_>,
        recalled: &mut RecalledMemories,
    ) {
        let turns = self.newest_records(scope, message, kind_filter(Kind::TURN), SCAN_ROWS).await;
        let turns = recalled.records_or_failure(turns);
        let session = |record: &Record| record.scope.session().map(str::to_owned);
        // The latest turn decides, because the text of an earlier one may occur in another session, too. A turn without
        // content ("OK") occurs in many.
        let is_own = |turn: &&Record| recalled.is_in_conversation(turn) && !is_backchannel(&turn.text);
        let session_of_latest = turns.iter().find(is_own).map(session);
        let current = session_of_latest.unwrap_or_else(|| scope.session().map(str::to_owned));
        let summaries = self.newest_records(scope, message, kind_filter(Kind::SUMMARY), SCAN_ROWS).await;
        let summaries = recalled.records_or_failure(summaries);
        let mut seen = BTreeSet::new();
        let mut earlier_sessions: Vec<Option<String>> = turns.iter().map(session).collect();
        earlier_sessions.retain(|other| (current.is_none() || *other != current) && seen.insert(other.clone()));
        for previous in earlier_sessions {
            let of_session = |records: &[Record]| -> Vec<Record> {
                records.iter().filter(|record| session(record) == previous).cloned().collect()
            };
            let turns = of_session(&turns);
            recalled.consider(MemorySource::PreviousSession, &turns);
            let statements = self.select(scope, turns, SCAN_ROWS, recalled).await;
            let mut statements = most_informative(statements, usize::MAX);
            // The newest come first if there is no room for all.
            statements.reverse();
            if (1..=MAX_STATEMENTS).contains(&statements.len()) {
                recalled.others.extend(statements);
                return;
            }
            let summaries = of_session(&summaries);
            recalled.consider(MemorySource::PreviousSession, &summaries);
            recalled.summaries = self.select(scope, summaries, MAX_SUMMARIES, recalled).await;
            if !recalled.summaries.is_empty() {
                return;
            }
            if !statements.is_empty() {
                recalled.others.extend(most_informative(statements, self.limit).into_iter().rev());
                return;
            }
        }
    }
}
