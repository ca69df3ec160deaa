//! Chunks of long turns.

use std::sync::Arc;

use async_trait::async_trait;
use memory_engine_core::{Basis, Done, Job, Kind, Pending, PutMode, Record, RecordId, Result, State, Trust, Write};
use memory_engine_indexing::IndexedStore;
use memory_engine_summarizer::Chunker;

use crate::handler::JobHandler;

const BATCH_SIZE: usize = 32;

/// Makes a record of each chunk of the turns that have more than one, next to the turn itself.
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
    /// Returns true if the chunks of a turn are stored. They are deleted with its text, so that existing chunks
    /// always belong to the current text, at any revision.
    async fn has_chunks(&self, turn: &Record) -> Result<bool> {
        let derived = self.store.get_derived(&turn.scope, &[turn.id]).await?;
        let is_chunk = |part: &Record| part.kind == Kind::CHUNK && part.state == State::Active;
        Ok(derived.iter().any(|part| is_chunk(part) && part.derived_from == [turn.id]))
    }
}

/// A chunk of a turn: a copy of the turn with another text, and its citation.
fn chunk(turn: &Record, number: usize, text: &str) -> Record {
    let mut chunk = turn.clone();
    // By revision: the chunks of an edited turn are others.
    chunk.id = RecordId::named(&turn.scope, &format!("part {number} of {} at {}", turn.id, turn.revision));
    chunk.kind = Kind::CHUNK;
    chunk.trust = Trust::Derived;
    chunk.text = text.to_owned();
    chunk.derived_from = vec![turn.id];
    chunk
}
