//! Reconciles a database with the process that opens it: schema, analyzer, embedding space and vector index.

use memory_engine_core::Index;
use memory_engine_sql::{
    index_metadata::{IndexMetadata, Reconciliation},
    options::{Mismatch, StoreOptions},
};
use memory_engine_vector_store::EmbeddingVersionRole;
use sqlx::PgConnection;

use crate::{
    database::{error::PostgresError, index_metadata, migration, options::PostgresOptions, server::ServerConfig},
    keywords::keyword_rows,
    queue::job_rows,
    vectors::{
        embedding_versions,
        vector_index::{IndexState, SMALL_TABLE_VECTORS, VectorIndex},
        vector_rows,
    },
};

/// Migrates the schema, and reconciles the index metadata and the vector index with this process, in one transaction. A
/// second embedding version is begun later. Returns true if the vector index has to be built in the background.
pub(crate) async fn reconcile(
    server: &ServerConfig,
    store: &StoreOptions,
    options: &PostgresOptions,
    metadata: &IndexMetadata,
    index: &VectorIndex,
) -> Result<bool, PostgresError> {
    let mut connection = migration::connect_locked(server, options).await?;
    migration::up(&mut connection, options).await?;
    reconcile_indexes(&mut connection, metadata, store).await?;
    let mut needs_index = false;
    if store.mismatch != Mismatch::Leave
        && let Ok((EmbeddingVersionRole::Serving, table)) =
            index_metadata::read_versions(&mut connection).await?.role(metadata, "connect")
    {
        index.remove_outdated(&mut connection, table).await?;
        match index.state(&mut connection, table).await? {
            IndexState::Missing { vectors } if vectors > SMALL_TABLE_VECTORS => needs_index = true,
            IndexState::Missing { .. } => index.reconcile(&mut connection, table).await?,
            IndexState::Reconciled | IndexState::Outdated => {}
        }
    }
    migration::unlock(connection).await?;
    Ok(needs_index)
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
                    Index::Keywords => keyword_rows::clear(connection).await?,
                    Index::Embedding => {
                        embedding_versions::drop_second(connection).await?;
                        let table = index_metadata::read_versions(connection).await?.table;
                        vector_rows::clear(connection, table).await?;
                    }
                }
                job_rows::requeue_all(connection, index.job(), options.clock.now()).await?;
            }
        }
        index_metadata::write(connection, part, metadata.maker(index)).await?;
    }
    Ok(())
}
