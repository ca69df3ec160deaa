//! `memory reindex`.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use memory_engine::{Job, MemoryEngine, Scope, admin::EmbeddingVersions};
use serde_json::json;

use crate::{
    args::{ScopeArgs, StoreArgs},
    dead_letters, output,
    report::ReportArgs,
};

/// The jobs that this command can do.
const INDEXING_JOBS: [Job; 3] = [Job::Keywords, Job::Embedding, Job::Reembedding];

/// Rebuild all indexes, or change to another embedder.
///
/// With the embedder of the store, its terms and vectors are rebuilt. With another embedder, new vectors are computed
/// for all tenants while the old ones stay in use. The store stays readable and writable, and switches over when the
/// new vectors are complete. If the command is interrupted, run it again to continue.
#[derive(Debug, Args)]
pub(crate) struct ReindexCommand {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Only process jobs that are still queued
    ///
    /// For example after the embedder failed.
    #[arg(long, conflicts_with_all = ["keep_old", "max_missing", "drop"])]
    waiting: bool,
    /// With --waiting: also retry the jobs that failed for good
    #[arg(long, requires = "waiting")]
    failed: bool,
    /// Keep the old vectors after a change of embedder
    ///
    /// Vectors of both embedders are computed for new records, so that changing back is immediate.
    #[arg(long, conflicts_with = "drop")]
    keep_old: bool,
    /// Switch over even if up to N records could not be embedded
    ///
    /// They are found by keywords only.
    #[arg(long, alias = "lacking", default_value_t = 0, value_name = "N", conflicts_with = "drop")]
    max_missing: u64,
    /// Remove the vectors that are not in use
    ///
    /// Old vectors that were kept, or incomplete new ones.
    #[arg(long)]
    drop: bool,
    #[command(flatten)]
    report: ReportArgs,
}

impl ReindexCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        if self.drop {
            return self.drop_second().await;
        }
        let scope = self.scope.scope()?;
        if self.waiting {
            let engine = self.store.open().await?;
            let retried = match self.failed {
                true => engine.admin().retry_dead_letters(&scope, &INDEXING_JOBS).await?,
                false => 0,
            };
            let count = self.drain(&engine, &scope).await?;
            let space = engine.settings().embedder().space();
            let dead_letters = dead_letters::report(&engine, &scope).await?;
            let report = json!({ "waited": count, "space": space.to_string(), "retried": retried,
                "dead_letters": dead_letters });
            return self.report.print_line(&report, || {
                format!("{} indexed with {space}", output::counted(count, "queued job", "queued jobs"))
            });
        }
        let whole_tenant = Scope::tenant_wide(Scope::DEFAULT_TENANT)?;
        // A change of embedder affects all users, so a command for one scope must not start one.
        let engine =
            if scope == whole_tenant { self.store.open_to_reindex().await? } else { self.store.open().await? };
        let space = engine.settings().embedder().space().to_string();
        if let Some(versions) = engine.admin().embedding_versions().await?.filter(|now| now.serving.space != space) {
            return self.cut_over(&engine, &scope, &versions).await;
        }
        let count = engine.admin().reindex(&scope).await?;
        self.drain(&engine, &scope).await?;
        let second = engine.admin().embedding_versions().await?.and_then(|now| now.second).map(|second| second.space);
        let hint = second.as_ref().map_or(String::new(), |second| {
            format!("; the database also has vectors of {second}, which `memory reindex --drop` removes")
        });
        let report = json!({ "records": count, "space": space, "beside": second });
        self.report.print_line(&report, || {
            format!("{} reindexed with {space}{hint}", output::counted(count, "record", "records"))
        })
    }

    /// Computes the vectors of this command's embedder, and switches the store over to them.
    async fn cut_over(&self, engine: &MemoryEngine, scope: &Scope, before: &EmbeddingVersions) -> Result<ExitCode> {
        let old = &before.serving.space;
        let new = engine.settings().embedder().space().to_string();
        let is_complete =
            output::cut_over(engine, self.max_missing, |progress| self.report.print_progress(progress)).await?;
        if !is_complete {
            let failed = engine
                .admin()
                .embedding_versions()
                .await?
                .and_then(|now| now.second)
                .map_or(0, |second| second.dead_letters);
            bail!(
                "{} could not be embedded (`memory stats` shows the reason), so the store still uses '{old}'; run the \
                 command again to retry, or add `--max-missing {failed}` to switch over without them",
                output::counted(failed, "record", "records")
            );
        }
        let kept = self.keep_old || engine.admin().drop_second_embedding_version().await?.is_none();
        // Indexes records that were still queued or arrived since.
        output::drain(engine, scope).await?;
        let count = engine.admin().embedding_versions().await?.map_or(0, |now| now.serving.vectors);
        let old_vectors = if kept { "are kept; `memory reindex --drop` removes them" } else { "were removed" };
        let report = json!({ "records": count, "space": new, "replaced": old, "kept": kept });
        self.report.print_line(&report, || {
            format!(
                "{} reindexed with {new}; the vectors of {old} {old_vectors}",
                output::counted(count, "record", "records")
            )
        })
    }

    async fn drop_second(&self) -> Result<ExitCode> {
        let dropped = self.store.database.open_without_indexes().await?.admin().drop_second_embedding_version().await?;
        self.report.print_line(&json!({ "dropped": dropped }), || match &dropped {
            Some(space) => format!("the vectors of {space} were removed"),
            None => "there are no vectors except those in use".to_owned(),
        })
    }

    async fn drain(&self, engine: &MemoryEngine, scope: &Scope) -> Result<u64> {
        Ok(output::run_jobs(engine, scope, "indexing", |progress| self.report.print_progress(progress)).await?)
    }
}
