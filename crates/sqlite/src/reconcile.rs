//! Reconciles the indexes of a database with the analyzer and the embedding space of the process that opens it.

use memory_engine_core::{Index, Timestamp};
use memory_engine_sql::{
    index_metadata::{IndexMetadata, Reconciliation},
    options::Mismatch,
};
use rusqlite::Connection;

use crate::{
    database::{error::SqliteError, index_metadata},
    keywords::keyword_rows,
    queue::job_rows,
    vectors::{embedding_versions, vector_rows},
};

/// Applies `mismatch` to each index that was made with another analyzer or embedding space.
pub(crate) fn reconcile(
    connection: &Connection,
    metadata: &IndexMetadata,
    mismatch: Mismatch,
    now: Timestamp,
) -> Result<(), SqliteError> {
    for index in Index::ALL {
        let stored = index_metadata::maker(connection, index)?;
        match metadata.reconcile(index, stored.as_deref(), mismatch) {
            Reconciliation::Keep => continue,
            Reconciliation::Record => {}
            Reconciliation::Refill => {
                embedding_versions::begin(connection, metadata, now)?;
                continue;
            }
            Reconciliation::Refuse => {
                return Err(match index {
                    Index::Keywords => metadata.mismatch(index, stored.as_deref(), "open"),
                    Index::Embedding => index_metadata::versions(connection)?.refusal(metadata, "open"),
                }
                .into());
            }
            Reconciliation::Rebuild => {
                match index {
                    Index::Keywords => keyword_rows::clear(connection)?,
                    Index::Embedding => {
                        embedding_versions::drop_second(connection)?;
                        vector_rows::clear(connection, index_metadata::versions(connection)?.table)?;
                    }
                }
                job_rows::requeue(connection, None, None, index.job(), now)?;
            }
        }
        index_metadata::write(connection, index.job().as_str(), metadata.maker(index))?;
    }
    Ok(())
}
