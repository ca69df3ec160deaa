//! Reconciles a database with the process that opens it: schema, analyzer, embedding space and vector index.

use memory_engine_core::Index;
use memory_engine_sql::{
    index_metadata::{IndexMetadata, Reconciliation},
    options::{Mismatch, StoreOptions},
};
use memory_engine_vector_store::GenerationRole;
use sqlx::PgConnection;

use crate::{
    database::{error::PostgresError, index_metadata, migration, server::ServerConfig},
    keywords::keyword_store,
    options::PostgresOptions,
    queue::job_rows,
    vectors::{generations, vector_index::VectorIndex, vector_store},
};

/// Migrates the schema, and reconciles the index metadata and the vector index with this process, in one transaction. A
/// second embedding version is begun later.
pub(crate) async fn reconcile(
    server: &ServerConfig,
    store: &StoreOptions,
    options: &PostgresOptions,
    metadata: &IndexMetadata,
    index: &VectorIndex,
) -> Result<(), PostgresError> {
    let mut connection = migration::connect_locked(server, options).await?;
    migration::up(&mut connection, options).await?;
    reconcile_indexes(&mut connection, metadata, store).await?;
    if store.mismatch != Mismatch::Leave
        && let Ok((GenerationRole::Serving, table)) =
            index_metadata::read_versions(&mut connection).await?.role(metadata, "connect")
    {
        index.reconcile(&mut connection, table).await?;
    }
    migration::unlock(connection).await
}

/// Refuses, records or rebuilds each index that was built with another analyzer or embedding space, as the options
/// demand.
async fn reconcile_indexes(
    connection: &mut PgConnection,
    metadata: &IndexMetadata,
    options: &StoreOptions,
) -> Result<(), PostgresError> {
    for index in Index::ALL {
        let part = index.job().as_str();
        let found = index_metadata::read(connection, part).await?;
        match metadata.reconcile(index, found.as_deref(), options.mismatch) {
            Reconciliation::Keep | Reconciliation::Refill => continue,
            Reconciliation::Record => {}
            Reconciliation::Refuse => {
                return Err(match index {
                    Index::Keywords => metadata.mismatch(index, found.as_deref(), "connect"),
                    Index::Embedding => index_metadata::read_versions(connection).await?.refusal(metadata, "connect"),
                }
                .into());
            }
            Reconciliation::Rebuild => {
                match index {
                    Index::Keywords => keyword_store::clear(connection).await?,
                    Index::Embedding => {
                        generations::drop_second(connection).await?;
                        let table = index_metadata::read_versions(connection).await?.table;
                        vector_store::clear(connection, table).await?;
                    }
                }
                job_rows::requeue_all(connection, index.job(), options.clock.now()).await?;
            }
        }
        index_metadata::write(connection, part, metadata.maker(index)).await?;
    }
    Ok(())
}
