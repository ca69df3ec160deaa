//! `memory graph`.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use jiff::tz::TimeZone;
use memory_engine::{
    Timestamp,
    graph::{Citation, GraphFacts, GraphFactsQuery, KeyRelation},
};

use crate::{args::ZoneArgs, output, target_args::TargetArgs};

/// Show entities, their relations, and the messages that mention them.
///
/// The graph is extracted during the import with `--graph`, or later by `memory digest --graph rules`.
#[derive(Debug, Args)]
pub(crate) struct GraphCommand {
    /// Names of entities, or texts that contain them, such as a question or a message
    about: Vec<String>,
    /// Start from the entities that are mentioned most
    #[arg(long, conflicts_with = "about")]
    key_entities: bool,
    /// Maximum distance in relations: 0 to 3
    #[arg(long, default_value_t = 1)]
    hops: u32,
    /// Maximum number of entities, and of relations
    #[arg(long, short = 'n', default_value_t = 20)]
    limit: usize,
    /// Only relations that hold at this time
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    #[command(flatten)]
    timezone: ZoneArgs,
    #[command(flatten)]
    target: TargetArgs,
}

impl GraphCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.target.scope.address()?;
        let zone = self.timezone.zone();
        if !self.key_entities && self.about.iter().all(|text| text.trim().is_empty()) {
            bail!("no entity given: name a person or thing, or use --key-entities");
        }
        let query =
            if self.key_entities { GraphFactsQuery::most_mentioned() } else { GraphFactsQuery::about(&self.about) };
        let mut query = query.with_hops(self.hops).with_limits(self.limit, self.limit);
        if let Some(time) = &self.at {
            query = query.at(Timestamp::parse_in(time, &zone)?);
        }
        let engine = self.target.open().await?;
        let facts = engine.graph().facts(&scope, &query).await?;
        let has_graph = !facts.entities.is_empty() || engine.graph().store().stats(&scope).await?.records > 0;
        self.target.report.print(&facts, || {
            if !has_graph {
                return format!("no graph within {scope}; `memory digest --graph rules` extracts one");
            }
            if facts.entities.is_empty() {
                return format!("no entity of this name within {scope}; --key-entities shows the existing ones");
            }
            draw(&facts, &zone)
        })
    }
}

/// Draws the entities as a table, then the relations.
fn draw(facts: &GraphFacts, zone: &TimeZone) -> String {
    let mut entities = output::table(["entity", "kind", "aliases", "message", "date"]);
    for entity in &facts.entities {
        let [message, day] = cite(&entity.citation, zone);
        let name = output::shorten(&entity.name, 60);
        entities.add_row([
            name,
            entity.kind.to_string(),
            output::shorten(&entity.aliases.join(", "), 60),
            message,
            day,
        ]);
    }
    if facts.relations.is_empty() {
        return entities.to_string();
    }
    let mut relations = output::table(["source", "relation", "target", "valid", "message", "date", "rule"]);
    for relation in &facts.relations {
        let [message, day] = cite(&relation.citation, zone);
        let names = [&relation.source, &relation.relation, &relation.target].map(|name| output::shorten(name, 60));
        let [source, name, target] = names;
        let rules = relation.rules.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        relations.add_row([source, name, target, validity(relation, zone), message, day, rules]);
    }
    format!("{entities}\n\n{relations}")
}

/// Returns the cited message with its sequence number, or the record if it has no message id, and the day.
fn cite(citation: &Citation, zone: &TimeZone) -> [String; 2] {
    let message =
        citation.message_id.as_ref().map_or_else(|| citation.record.to_string(), |id| output::shorten(id, 60));
    let sequence = citation.sequence.map(|sequence| format!(" #{sequence}")).unwrap_or_default();
    [format!("{message}{sequence}"), day(citation.occurred_at, zone)]
}

fn validity(relation: &KeyRelation, zone: &TimeZone) -> String {
    let from = relation.valid_from.map(|time| format!("from {}", day(time, zone)));
    let until = relation.valid_until.map(|time| format!("until {}", day(time, zone)));
    from.into_iter().chain(until).collect::<Vec<_>>().join(" ")
}

fn day(time: Timestamp, zone: &TimeZone) -> String {
    time.in_zone(zone).strftime("%Y-%m-%d").to_string()
}
