//! An engine on stores of one's own.

use std::sync::Arc;

use downstream::{audited_records::AuditedRecords, map_vectors::MapVectors};
use memory_engine::{
    embed::{Embedder, HashEmbedder},
    prelude::*,
    store::{MemoryRecordStore, Stores},
};

#[tokio::test]
async fn an_engine_works_on_own_stores_and_the_log_names_each_change() -> Result<()> {
    let embedder = HashEmbedder::default();
    let records = Arc::new(AuditedRecords::new(MemoryRecordStore::new()));
    let stores = Stores {
        records: records.clone(),
        jobs: records.clone(),
        vectors: Arc::new(MapVectors::new(embedder.space().clone())),
        ..Stores::in_memory(embedder.space().clone())
    };
    let memory = MemoryEngine::builder().stores(stores).embedder(embedder).background(false).build().await?;

    let kim = Scope::user("kim")?;
    let id = memory.remember(&kim, "The spare key is with Mo.").await?;
    memory.drain(&kim, |_| ()).await?;
    let found = memory.recall(&kim, "Where is the spare key?").await?;
    assert_eq!(found.best().map(|hit| hit.id()), Some(id));
    let by: Vec<&str> = found.hits[0].found_by.iter().map(|hit| hit.retriever.as_str()).collect();
    assert!(by.contains(&"vector"), "the own vector store is searched: {by:?}");

    memory.forget(&kim, id).await?;
    assert!(memory.recall(&kim, "Where is the spare key?").await?.hits.is_empty());
    let log = records.log();
    assert!(log[0].starts_with("put 1 at "), "{log:?}");
    assert!(log.last().is_some_and(|line| line.starts_with("delete 1 at ")), "{log:?}");
    Ok(())
}

#[tokio::test]
async fn vectors_of_another_space_are_refused() -> Result<()> {
    let embedder = HashEmbedder::default();
    let smaller = HashEmbedder::with_dimensions(64)?;
    let stores = Stores::in_memory(smaller.space().clone());
    let error = MemoryEngine::builder().stores(stores).embedder(embedder).build().await.expect_err("two spaces");
    assert_eq!(error.kind(), ErrorKind::DimensionMismatch);
    Ok(())
}
