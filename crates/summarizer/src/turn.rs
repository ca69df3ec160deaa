//! A turn of a rolling window, with the fields that its triggers read.

use memory_engine_core::{Record, RecordId};

use crate::{role, terms::terms};

/// A turn that waits for its summary.
#[derive(Debug, Clone)]
pub(crate) struct WindowTurn {
    pub(crate) id: RecordId,
    pub(crate) speaker: String,
    pub(crate) is_assistant: bool,
    /// The number of its round, if the record has one.
    pub(crate) round: Option<u32>,
    pub(crate) scene: Option<String>,
    pub(crate) embedding: Option<Vec<f32>>,
    pub(crate) terms: Vec<String>,
    /// True if the turn differs from the topic of the window.
    pub(crate) is_drifting: bool,
}

impl WindowTurn {
    pub(crate) fn new(turn: &Record, embedding: Option<&[f32]>) -> Self {
        Self {
            id: turn.id,
            speaker: role::speaker(turn).to_owned(),
            is_assistant: role::is_assistant(turn),
            round: turn.source.round,
            scene: turn.scene.clone(),
            embedding: embedding.map(<[f32]>::to_vec),
            terms: terms(&turn.text),
            is_drifting: false,
        }
    }
}
