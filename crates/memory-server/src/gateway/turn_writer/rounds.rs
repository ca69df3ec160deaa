//! Rounds of turns that several servers store at the same time.

use memory_engine::{ErrorKind, PutMode, Record, Result, ScanQuery, Scope};

use super::worker::TurnWorker;
use crate::gateway::{
    sessions::{active_turns, metadata_text},
    turn::TURN_KEY,
};

/// Number of the latest records of a session among which turns with the same round are searched.
const LATEST_RECORDS: usize = 16;
/// Maximum number of attempts to move turns of a session to other rounds.
const MAX_ATTEMPTS: usize = 16;

impl TurnWorker {
    /// Moves turns to the next rounds if another server has stored a turn with the same round meanwhile. Each server
    /// does this after its turn is stored, so that at least the later one sees both. Of two turns, each server moves
    /// the one with the higher key, so that it does not matter which of them sees both.
    pub(super) async fn separate_round(&self, address: &Scope, mut round: u32) -> Result<()> {
        for _ in 0..MAX_ATTEMPTS {
            let query = ScanQuery::newest(LATEST_RECORDS).with_filter(active_turns());
            let turns = self.engine.scan(address, &query).await?.records;
            let Some(key) = turn_to_move(&turns, round) else { return Ok(()) };
            let mut is_moved = true;
            for mut record in turns.iter().filter(|turn| metadata_text(turn, TURN_KEY) == Some(key)).cloned() {
                let mode = PutMode::Update { revision: record.revision };
                record.source.round = Some(round + 1);
                record.source.sequence = record.source.sequence.map(|sequence| sequence + 2);
                match self.engine.store(address, vec![record], mode).await {
                    // The other server has moved the turn, or a background job has labelled it: only the first is done.
                    Err(error) if matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound) => is_moved = false,
                    stored => _ = stored?,
                }
            }
            // A moved turn can meet another one in its new round.
            round += u32::from(is_moved);
        }
        Ok(())
    }
}

/// Returns the highest key of the turns with this round; `None` if there is only one.
fn turn_to_move(turns: &[Record], round: u32) -> Option<&str> {
    let of_round = turns.iter().filter(|turn| turn.source.round == Some(round));
    let keys: Vec<&str> = of_round.filter_map(|turn| metadata_text(turn, TURN_KEY)).collect();
    let highest = keys.iter().max().copied()?;
    keys.iter().any(|key| *key != highest).then_some(highest)
}
