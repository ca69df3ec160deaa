//! Long turns in parts.

use memory_engine_core::{Basis, Kind, Pending, PutMode, Record, RecordId, Result, State, Trust, Write};
use memory_engine_summarizer::Chunker;

use crate::MemoryEngine;

impl MemoryEngine {
    /// Makes a record of each part of the turns that have more than one, beside the turn itself.
    pub(super) async fn cut(&self, chunker: &Chunker, pending: &[Pending]) -> Result<()> {
        for Pending { record: turn, .. } in pending {
            let parts = chunker.chunks(&turn.text)?;
            if parts.len() < 2 || self.has_parts(turn).await? {
                continue;
            }
            let write = |(number, range): (usize, std::ops::Range<usize>)| {
                let record = part(turn, number, &turn.text[range]);
                Write { based_on: vec![Basis::of(turn)], ..Write::new(record, PutMode::IfAbsent) }
            };
            self.write(&turn.scope, parts.into_iter().enumerate().map(write).collect()).await?;
        }
        Ok(())
    }

    /// Whether the parts of a turn are there: they go with its text, so that those which are there are those of its text, at
    /// whatever revision it was cut.
    async fn has_parts(&self, turn: &Record) -> Result<bool> {
        let made = self.records().derived(&turn.scope, &[turn.id]).await?;
        let mut made = self.get_all(&turn.scope, &made).await?.into_iter().flatten();
        Ok(made.any(|part| part.kind == Kind::CHUNK && part.state == State::Active && part.derived_from == [turn.id]))
    }
}

/// A part of a turn: in everything but its text what the turn is, and with its citation.
fn part(turn: &Record, number: usize, text: &str) -> Record {
    let mut part = turn.clone();
    // By revision: the parts of an edited turn are others.
    part.id = RecordId::named(&turn.scope, &format!("part {number} of {} at {}", turn.id, turn.revision));
    (part.kind, part.trust, part.text) = (Kind::CHUNK, Trust::Derived, text.to_owned());
    part.derived_from = vec![turn.id];
    part
}
