//! `memory copy`.

mod copier;

use std::{collections::BTreeSet, path::Path, process::ExitCode};

use anyhow::{Context, Result, bail};
use clap::Args;
use copier::{Copier, CopyReport};
use memory_engine::{Database, Scope, admin};

use crate::{
    args::{self, StoreArgs},
    database::{self, DatabaseArg},
    embedder::EmbedderArgs,
    output,
};

/// Copy a whole store into another one, of any kind; can be repeated and resumed.
///
/// By default every tenant and user is copied: records in every state, tombstones, synonyms and decisions about
/// suggested ones. Existing records are left as they are. The target builds its indexes with its own embedder, and
/// the command waits for that. Revisions start at 1.
#[derive(Debug, Args)]
pub(crate) struct CopyCommand {
    /// The store to read: a SQLite file, postgres://USER:PASSWORD@HOST:PORT/DATABASE, or the word `postgres` for the
    /// address in DATABASE_URL
    #[arg(long, value_name = "FILE|URL")]
    from: DatabaseArg,
    /// The store to write, likewise; it is made when it is not there
    #[arg(long, value_name = "FILE|URL")]
    to: DatabaseArg,
    #[command(flatten)]
    embedder: EmbedderArgs,
    /// Only this tenant
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
    /// Only this user
    #[arg(long, short, value_name = "NAME")]
    user: Option<String>,
    /// Put what differs in the place of what the target has
    #[arg(long)]
    update: bool,
    /// Report as JSON, a line for every commit
    #[arg(long)]
    json: bool,
}

impl CopyCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let (from, to) = (self.from.database()?, self.to.database()?);
        if same(&from, &to) {
            bail!("{from} cannot be copied onto itself; name another store with --to");
        }
        database::must_exist(&from).await?;
        let scopes = self.scopes(&from).await?;
        let source = args::as_it_is(&from).await?;
        let target = StoreArgs::new(self.to.clone(), self.embedder.clone()).create().await?;

        let tenants: BTreeSet<&str> = scopes.iter().map(Scope::tenant).collect();
        let mut total = 0;
        for tenant in &tenants {
            let within = self.within(tenant)?;
            let stats = source.stats(&within).await?;
            total += stats.records + stats.tombstones;
        }
        let bar = output::progress(total, "copying {wide_bar} {pos}/{len} {per_sec} {eta}");
        let mut copier = Copier::new(&source, &target, self.update, |report: &CopyReport| {
            bar.set_position(report.seen());
            if self.json {
                output::tell_line(&serde_json::json!({ "committed": report.seen() }));
            }
        });
        let mut outcome = Ok(());
        for scope in &scopes {
            outcome = copier.copy(scope).await;
            if outcome.is_err() {
                break;
            }
        }
        let mut report = copier.report;
        bar.finish_and_clear();
        outcome.context("the copy stopped half-way; the same command goes on with it")?;
        for tenant in &tenants {
            report.waiting += output::settle(&target, &self.within(tenant)?).await?;
        }
        self.tell(&from, &to, &report)?;
        Ok(if report.refused == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// The tenants and users that are meant.
    async fn scopes(&self, from: &Database) -> Result<Vec<Scope>> {
        let mut scopes = admin::namespaces(from).await.with_context(|| from.to_string())?;
        let all = scopes.len();
        scopes.retain(|scope| self.tenant.as_deref().is_none_or(|tenant| scope.tenant() == tenant));
        scopes.retain(|scope| self.user.is_none() || scope.user_name() == self.user.as_deref());
        if scopes.is_empty() && all > 0 {
            bail!("{from} has no user of that name; `memory stats --db {from}` shows the counts");
        }
        Ok(scopes)
    }

    fn within(&self, tenant: &str) -> Result<Scope> {
        let scope = Scope::tenant_wide(tenant)?;
        Ok(match &self.user {
            Some(user) => scope.with_user(user)?,
            None => scope,
        })
    }

    fn tell(&self, from: &Database, to: &Database, report: &CopyReport) -> Result<()> {
        for error in &report.errors {
            eprintln!("{error}");
        }
        if self.json {
            say!("{}", serde_json::to_string(report)?);
            return Ok(());
        }
        let records = output::counted(report.added, "record", "records");
        let tombstones = output::counted(report.tombstones, "tombstone", "tombstones");
        say!("{records} and {tombstones} copied from {from} to {to}");
        let rows = [
            (report.updated, "record replaced", "records replaced"),
            (report.unchanged, "record was stored already", "records were stored already"),
            (
                report.different,
                "of these differs in the target, which was not changed (--update replaces it)",
                "of these differ in the target, which was not changed (--update replaces them)",
            ),
            (
                report.forgotten,
                "record was forgotten in the target earlier and is not copied",
                "records were forgotten in the target earlier and are not copied",
            ),
            (report.refused, "record refused, see above", "records refused, see above"),
            (
                report.tombstones_there,
                "tombstone was stored already, or is for a record that the target has in another scope",
                "tombstones were stored already, or are for records that the target has in another scope",
            ),
            (report.synonyms, "group of synonyms copied", "groups of synonyms copied"),
            (
                report.synonyms_different,
                "group of synonyms differs in the target, which was not changed (--update replaces it)",
                "groups of synonyms differ in the target, which was not changed (--update replaces them)",
            ),
            (report.verdicts, "decision about suggested synonyms copied", "decisions about suggested synonyms copied"),
        ];
        for (count, singular, plural) in rows.into_iter().filter(|(count, ..)| *count > 0) {
            say!("{}", output::counted(count, singular, plural));
        }
        Ok(())
    }
}

/// Returns true if both are the same store, as far as the addresses show.
fn same(from: &Database, to: &Database) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    match (from.path(), to.path()) {
        (Some(from), Some(to)) => from == to || (real(from).is_some() && real(from) == real(to)),
        _ => from == to,
    }
}
