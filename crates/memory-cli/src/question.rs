//! A question of a data set, with the records that answer it.

use std::{collections::BTreeSet, fs::File, io::BufReader, path::Path};

use anyhow::{Context, Result, bail, ensure};
use jiff::tz::TimeZone;
use memory_engine::{RecallQuery, Timestamp};
use memory_engine_import::Lines;
use serde::Deserialize;

/// A question with the records that answer it (its gold).
#[derive(Debug, Deserialize)]
pub(crate) struct EvalQuestion {
    pub(crate) id: String,
    pub(crate) scope: String,
    pub(crate) question: String,
    #[serde(default)]
    pub(crate) category: String,
    pub(crate) time: Option<String>,
    #[serde(default)]
    pub(crate) gold: Vec<String>,
    #[serde(default)]
    pub(crate) gold_groups: Vec<BTreeSet<String>>,
}

impl EvalQuestion {
    /// Returns the query, at the time of the question if it has one.
    pub(crate) fn query(&self) -> Result<RecallQuery> {
        let query = RecallQuery::new(&self.question);
        Ok(match &self.time {
            Some(time) => query.asked_at(Timestamp::parse_in(time, &TimeZone::UTC)?, TimeZone::UTC),
            None => query,
        })
    }

    /// Returns the pieces of evidence, each with the ids of the records that state it.
    pub(crate) fn groups(&self) -> Vec<BTreeSet<String>> {
        let one_each = || self.gold.iter().collect::<BTreeSet<_>>().into_iter().map(|id| BTreeSet::from([id.clone()]));
        let groups = if self.gold_groups.is_empty() { one_each().collect() } else { self.gold_groups.clone() };
        groups.into_iter().filter(|group| !group.is_empty()).collect()
    }
}

/// Reads a file of questions.
pub(crate) fn read(path: &Path) -> Result<Vec<EvalQuestion>> {
    let file = File::open(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let mut questions: Vec<EvalQuestion> = Vec::new();
    let mut ids = BTreeSet::new();
    for line in Lines::new(BufReader::new(file)) {
        let line = line?;
        let location = || format!("{}: line {}", path.display(), line.number);
        let text = line.text.as_ref().map_err(|e| anyhow::anyhow!("{}: {e}", location()))?;
        let question: EvalQuestion = serde_json::from_str(text).with_context(location)?;
        if !ids.insert(question.id.clone()) {
            bail!("{}: the question id {} occurs twice", location(), question.id);
        }
        questions.push(question);
    }
    questions.retain(|question| !question.groups().is_empty());
    ensure!(!questions.is_empty(), "{} contains no question with gold", path.display());
    Ok(questions)
}
