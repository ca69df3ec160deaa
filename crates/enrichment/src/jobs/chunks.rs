//! Chunks of long turns.

use std::sync::Arc;

use async_trait::async_trait;
use memory_engine_core::{Basis, Done, Job, Kind, Pending, PutMode, Record, RecordId, Result, State, Trust, Write};
use memory_engine_indexing::{IndexedStore, inherit_expiry};
use memory_engine_summarizer::Chunker;

use crate::handler::JobHandler;

const BATCH_SIZE: usize = 32;

/// Writes a record for each chunk of the turns that have more than one. The turn itself stays.
#[derive(Debug)]
pub(crate) struct ChunkJob {
    pub(crate) store: Arc<IndexedStore>,
    pub(crate) chunker: Chunker,
}

#[async_trait]
impl JobHandler for ChunkJob {
    fn job(&self) -> Job {
        Job::Chunks
    }

    async fn batch_size(&self) -> Result<Option<usize>> {
        Ok(Some(BATCH_SIZE))
    }

    async fn run(&self, pending: &[Pending]) -> Result<Vec<Done>> {
        for Pending { record: turn, .. } in pending {
            let chunks = self.chunker.chunks(&turn.text)?;
            if chunks.len() < 2 || self.has_chunks(turn).await? {
                continue;
            }
            let write = |(number, range): (usize, std::ops::Range<usize>)| {
                let record = chunk(turn, number, &turn.text[range]);
                Write { based_on: vec![Basis::of(turn)], ..Write::new(record, PutMode::IfAbsent) }
            };
            self.store.write(&turn.scope, chunks.into_iter().enumerate().map(write).collect()).await?;
        }
        Ok(Vec::new())
    }
}

impl ChunkJob {
    /// Returns true if the chunks of a turn are stored. They are deleted when its text changes, so that stored chunks
    /// always belong to the current text.
    async fn has_chunks(&self, turn: &Record) -> Result<bool> {
        let derived = self.store.get_derived(&turn.scope, &[turn.id]).await?;
        let is_chunk = |record: &Record| record.kind == Kind::CHUNK && record.state == State::Active;
        Ok(derived.iter().any(|record| is_chunk(record) && record.derived_from == [turn.id]))
    }
}

/// Returns a chunk of a turn: a copy of the turn with the text of the chunk, derived from the turn.
fn chunk(turn: &Record, number: usize, text: &str) -> Record {
    let mut chunk = turn.clone();
    // The id contains the revision, so that the chunks of an edited turn have other ids.
    chunk.id = RecordId::named(&turn.scope, &format!("part {number} of {} at {}", turn.id, turn.revision));
    chunk.kind = Kind::CHUNK;
    chunk.trust = Trust::Derived;
    chunk.text = text.to_owned();
    chunk.derived_from = vec![turn.id];
    chunk.pinned = false;
    inherit_expiry(&mut chunk, [turn]);
    chunk
}
