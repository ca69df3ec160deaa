//! Brings a database and the process that opens it together.

use memory_engine_core::Index;
use memory_engine_sql::{
    index_metadata::{IndexMetadata, Reconciliation},
    options::{Mismatch, StoreOptions},
};
use memory_engine_vector_store::GenerationRole;
use sqlx::PgConnection;

use crate::{
    database::{error::PostgresError, index_metadata, migration, server::Server},
    keywords::keyword_store,
    options::PostgresOptions,
    queue::backlog,
    vectors::{generations, vector_index::VectorIndex, vector_store},
};

/// Brings the schema, the index metadata and the vector index to what this process works with, in one transaction. A
/// second version of the vectors is begun later.
pub(crate) async fn reconcile(
    server: &Server,
    store: &StoreOptions,
    options: &PostgresOptions,
    metadata: &IndexMetadata,
    index: &VectorIndex,
) -> Result<(), PostgresError> {
    let mut connection = migration::locked(server, options).await?;
    migration::up(&mut connection, options).await?;
    reconcile_indexes(&mut connection, metadata, store).await?;
    if store.mismatch != Mismatch::Leave
        && let Ok((GenerationRole::Serving, table)) =
            index_metadata::versions(&mut connection).await?.role(metadata, "connect")
    {
        index.settle(&mut connection, table).await?;
    }
    migration::unlock(connection).await
}

/// Treats each index that was made with something else as the options say.
async fn reconcile_indexes(
    connection: &mut PgConnection,
    metadata: &IndexMetadata,
    options: &StoreOptions,
) -> Result<(), PostgresError> {
    for index in Index::ALL {
        let part = index.job().as_str();
        let found = index_metadata::maker(connection, part).await?;
        match metadata.reconcile(index, found.as_deref(), options.mismatch) {
            Reconciliation::Keep | Reconciliation::Refill => continue,
            Reconciliation::Record => {}
            Reconciliation::Refuse => {
                return Err(match index {
                    Index::Keywords => metadata.mismatch(index, found.as_deref(), "connect"),
                    Index::Embedding => index_metadata::versions(connection).await?.refusal(metadata, "connect"),
                }
                .into());
            }
            Reconciliation::Rebuild => {
                match index {
                    Index::Keywords => keyword_store::clear(connection).await?,
                    Index::Embedding => {
                        generations::drop_second(connection).await?;
                        let table = index_metadata::versions(connection).await?.table;
                        vector_store::clear(connection, table).await?;
                    }
                }
                backlog::requeue_all(connection, index.job(), options.clock.now()).await?;
            }
        }
        index_metadata::write(connection, part, metadata.maker(index)).await?;
    }
    Ok(())
}
