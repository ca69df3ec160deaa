//! The options of a search.

use anyhow::Result;
use clap::Args;
use memory_engine::{Field, Filter, RecallQuery, Timestamp};

use crate::args::ZoneArgs;

/// The limit, times and scenes of a search.
#[derive(Debug, Clone, Args)]
pub(crate) struct QueryArgs {
    /// Maximum number of hits
    #[arg(long, short = 'n', default_value_t = 10)]
    pub(crate) limit: usize,
    /// Only records from this time or later
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only records before this time
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Only records from the time that the query names
    ///
    /// Such as "last week", 去年夏天 or "in May 2023".
    #[arg(long)]
    pub(crate) only_then: bool,
    /// Time of the query; default: now
    ///
    /// It decides what "last week" in it means.
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
    #[command(flatten)]
    pub(crate) timezone: ZoneArgs,
    /// Only records of this kind, such as turn, summary, fact or note
    #[arg(long)]
    pub(crate) kind: Option<String>,
    /// Only records of this scene
    #[arg(long)]
    pub(crate) scene: Option<String>,
    /// Scene to search from: only records that are visible from it
    #[arg(long, value_name = "SCENE")]
    pub(crate) from_scene: Option<String>,
}

impl QueryArgs {
    /// Returns the query with this text.
    ///
    /// # Errors
    /// If a time is not valid.
    pub(crate) fn query(&self, text: &str) -> Result<RecallQuery> {
        let zone = self.timezone.zone();
        let mut query = RecallQuery::new(text).with_limit(self.limit);
        if let Some(since) = &self.since {
            query = query.since(Timestamp::parse_in(since, &zone)?);
        }
        if let Some(until) = &self.until {
            query = query.until(Timestamp::parse_in(until, &zone)?);
        }
        if let Some(kind) = &self.kind {
            query = query.with_filter(Filter::eq(Field::Kind, kind.as_str()));
        }
        if let Some(scene) = &self.from_scene {
            query = query.in_scene(scene);
        }
        if self.only_then {
            query = query.only_then();
        }
        query.asked_at = self.now.as_ref().map(|now| Timestamp::parse_in(now, &zone)).transpose()?;
        // Without a zone and a time, days are those of the user's latest message.
        let zone_of_now = || self.now.as_deref().map(|now| Timestamp::zone_of(now).unwrap_or(zone));
        query.zone = self.timezone.named().or_else(zone_of_now);
        if let Some(scene) = &self.scene {
            query = query.with_filter(Filter::eq(Field::Scene, scene.as_str()));
        }
        Ok(query)
    }
}
