//! The pending memories that a command is about.

use anyhow::{Result, bail};
use clap::Args;
use memory_engine::{
    Kind, MemoryEngine, RecordId, Scope, Timestamp,
    review::{ReviewQuery, ReviewSource},
};

use crate::{args::ZoneArgs, records};

/// Number of memories that are read at a time.
const PAGE_RECORDS: usize = 1000;

/// A restriction of the pending memories.
#[derive(Debug, Clone, Args)]
pub(super) struct SelectionArgs {
    /// Only memories from this source
    ///
    /// rule_facts, model_facts, summaries, profiles, imports or tools.
    #[arg(long, value_name = "NAME")]
    source: Option<ReviewSource>,
    /// Only memories of this kind, such as turn, summary, fact or note
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Only memories from this time or later
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only memories before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    #[command(flatten)]
    pub(super) timezone: ZoneArgs,
}

impl SelectionArgs {
    /// Returns the query for these memories.
    ///
    /// # Errors
    /// If a time is not valid.
    pub(super) fn query(&self) -> Result<ReviewQuery> {
        let zone = self.timezone.zone();
        let mut query = ReviewQuery::default();
        query.source = self.source;
        query.kind = self.kind.clone().map(Kind::new);
        query.since = self.since.as_ref().map(|time| Timestamp::parse_in(time, &zone)).transpose()?;
        query.until = self.until.as_ref().map(|time| Timestamp::parse_in(time, &zone)).transpose()?;
        Ok(query)
    }

    fn is_empty(&self) -> bool {
        self.source.is_none() && self.kind.is_none() && self.since.is_none() && self.until.is_none()
    }
}

/// The pending memories to accept or reject: by their ids, or all that match.
#[derive(Debug, Clone, Args)]
pub(super) struct PendingSelection {
    /// Ids of the memories, as printed by `memory review list`
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    ids: Vec<String>,
    /// All memories that wait within the scope, or those of the filters
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    selection: SelectionArgs,
}

impl PendingSelection {
    /// Returns the ids of the selected memories.
    ///
    /// # Errors
    /// If an id is unknown, with `outcome` at the end of the message; if options restrict named ids.
    pub(super) async fn ids(&self, engine: &MemoryEngine, scope: &Scope, outcome: &str) -> Result<Vec<RecordId>> {
        if !self.all {
            if !self.selection.is_empty() {
                bail!("--source, --kind, --since and --until need --all; without it, the ids alone decide");
            }
            return records::resolve(engine, scope, &self.ids, outcome).await;
        }
        let mut query = self.selection.query()?.with_limit(PAGE_RECORDS);
        let mut ids = Vec::new();
        loop {
            let page = engine.review().pending(scope, &query).await?;
            ids.extend(page.pending.iter().map(|pending| pending.record.id));
            match page.next {
                Some(next) => query = query.with_after(Some(next)),
                None => return Ok(ids),
            }
        }
    }
}
