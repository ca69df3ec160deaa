//! A question of a data set, with the records that answer it.

use std::{collections::BTreeSet, path::Path};

use anyhow::{Result, bail, ensure};
use jiff::tz::TimeZone;
use memory_engine::{RecallQuery, Record, Timestamp};
use serde::Deserialize;

use crate::json_lines;

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
        query_at(&self.question, self.time.as_deref())
    }

    /// Returns the pieces of evidence, each with the ids of the records that state it.
    pub(crate) fn groups(&self) -> Vec<BTreeSet<String>> {
        let one_each = || self.gold.iter().collect::<BTreeSet<_>>().into_iter().map(|id| BTreeSet::from([id.clone()]));
        let groups = if self.gold_groups.is_empty() { one_each().collect() } else { self.gold_groups.clone() };
        groups.into_iter().filter(|group| !group.is_empty()).collect()
    }
}

/// Returns the query for a question, at this time (read as UTC) if there is one.
pub(crate) fn query_at(question: &str, time: Option<&str>) -> Result<RecallQuery> {
    let query = RecallQuery::new(question);
    Ok(match time {
        Some(time) => query.asked_at(Timestamp::parse_in(time, &TimeZone::UTC)?, TimeZone::UTC),
        None => query,
    })
}

/// Returns the id by which a data set names a record: that of its message, or its own.
pub(crate) fn data_set_id(record: &Record) -> String {
    record.source.message_id.clone().unwrap_or_else(|| record.id.to_string())
}

/// Reads a file of questions. Those without gold are left out.
pub(crate) fn read(path: &Path) -> Result<Vec<EvalQuestion>> {
    let mut questions = read_with_unique_ids(path)?;
    questions.retain(|question| !question.groups().is_empty());
    ensure!(!questions.is_empty(), "{} contains no question with gold", path.display());
    Ok(questions)
}

/// Reads a file of questions that nothing in their scope answers.
pub(crate) fn read_unanswerable(path: &Path) -> Result<Vec<EvalQuestion>> {
    let questions = read_with_unique_ids(path)?;
    ensure!(!questions.is_empty(), "{} contains no question", path.display());
    if let Some(question) = questions.iter().find(|question| !question.groups().is_empty()) {
        bail!("{}: the question {} has gold, so that it can be answered", path.display(), question.id);
    }
    Ok(questions)
}

fn read_with_unique_ids(path: &Path) -> Result<Vec<EvalQuestion>> {
    let questions: Vec<EvalQuestion> = json_lines::read(path)?;
    let mut ids = BTreeSet::new();
    if let Some(question) = questions.iter().find(|question| !ids.insert(&question.id)) {
        bail!("{}: the question id {} occurs twice", path.display(), question.id);
    }
    Ok(questions)
}
