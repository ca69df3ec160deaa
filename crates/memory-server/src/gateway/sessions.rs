//! Where a session has got to. It is read from the store with each request and kept nowhere else, so that any number of
//! servers over one store answer alike.

use memory_engine::{
    Field, Filter, Kind, MemoryEngine, Record, Result, ScanQuery, Scope, Timestamp, scene::SessionLimits,
};

use super::turn::{SESSION_SCENE, TURN_KEY};

/// The latest active turn of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LatestTurn {
    /// Its round. 0 if no turn is stored.
    pub(super) round: u32,
    /// Its key. `None` if it was not stored by a gateway.
    pub(super) key: Option<String>,
    /// The scene of the session after it; `None` if it is too long ago.
    pub(super) scene: Option<String>,
}

/// Reads the latest turn of a session.
///
/// # Errors
/// The store's.
pub(super) async fn read_latest_turn(engine: &MemoryEngine, address: &Scope, now: Timestamp) -> Result<LatestTurn> {
    let page = engine.scan(address, &ScanQuery::newest(1).with_filter(active_turns())).await?;
    let Some(turn) = page.records.first() else { return Ok(LatestTurn::default()) };
    Ok(LatestTurn {
        round: turn.source.round.unwrap_or(0),
        key: metadata_text(turn, TURN_KEY).map(str::to_owned),
        scene: scene_after(turn, now),
    })
}

/// Returns the scene of a session after a turn; `None` if that is too long ago.
pub(super) fn scene_after(turn: &Record, now: Timestamp) -> Option<String> {
    let is_recent = now < turn.occurred_at.after(SessionLimits::default().time_to_live);
    // A label is not the scene of a session.
    let scene = metadata_text(turn, SESSION_SCENE).or(turn.scene.as_deref());
    scene.filter(|_| is_recent).map(str::to_owned)
}

/// Returns the filter of turns that are neither retracted nor superseded.
pub(super) fn active_turns() -> Filter {
    Filter::eq(Field::Kind, Kind::TURN.as_str()).and(Filter::eq(Field::State, "active"))
}

/// Returns the text in the metadata of a record.
pub(super) fn metadata_text<'r>(record: &'r Record, key: &str) -> Option<&'r str> {
    record.metadata.get(key).and_then(|value| value.as_str())
}
