//! Storing nodes.

use anyhow::Result;
use async_trait::async_trait;
use memory_engine::ErrorKind;
use swiftide_core::{
    Persist,
    indexing::{IndexingStream, TextNode},
};

use crate::{
    document::{to_note, with_path},
    storage::EngineStorage,
};

#[async_trait]
impl Persist for EngineStorage {
    type Input = String;
    type Output = String;

    /// Does nothing: the engine creates its tables when it is opened.
    async fn setup(&self) -> Result<()> {
        Ok(())
    }

    /// Stores a node, in place of an earlier one with the same path and chunk. A node that was forgotten is passed on
    /// and not stored.
    async fn store(&self, node: TextNode) -> Result<TextNode> {
        let written = self.engine.remember_all(&self.scope, [to_note(&self.scope, &node)]).await;
        with_path(written, &node)?;
        Ok(node)
    }

    /// Stores nodes in one transaction. If one of them is invalid, each is stored by itself, so that only the invalid
    /// ones fail.
    async fn batch_store(&self, nodes: Vec<TextNode>) -> IndexingStream<String> {
        let notes: Vec<_> = nodes.iter().map(|node| to_note(&self.scope, node)).collect();
        let error = match self.engine.remember_all(&self.scope, notes).await {
            Ok(_) => return IndexingStream::iter(nodes.into_iter().map(Ok)),
            Err(error) => error,
        };
        if error.kind() != ErrorKind::InvalidInput {
            return IndexingStream::iter([Err(error.into())]);
        }
        let mut results = Vec::new();
        for node in nodes {
            results.push(self.store(node).await);
        }
        IndexingStream::iter(results)
    }

    fn batch_size(&self) -> Option<usize> {
        Some(self.batch_size.get())
    }
}
