//! A question of a data set, with the records that answer it.

use std::{collections::BTreeSet, fs::File, io::BufReader, path::Path};

use anyhow::{Context, Result, bail, ensure};
use jiff::tz::TimeZone;
use memory_engine::{RecallQuery, Timestamp};
use memory_engine_import::Lines;
use serde::Deserialize;

/// A question with its gold.
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
    /// The question as it is asked: at its own time, if it has one.
    pub(crate) fn query(&self) -> Result<RecallQuery> {
        let query = RecallQuery::new(&self.question);
        Ok(match &self.time {
            Some(time) => query.asked_at(Timestamp::parse_in(time, &TimeZone::UTC)?, TimeZone::UTC),
            None => query,
        })
    }

    /// The pieces of evidence, each with the records that state it.
    pub(crate) fn groups(&self) -> Vec<BTreeSet<String>> {
        let each = || self.gold.iter().collect::<BTreeSet<_>>().into_iter().map(|id| BTreeSet::from([id.clone()]));
        let groups = if self.gold_groups.is_empty() { each().collect() } else { self.gold_groups.clone() };
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
        let place = || format!("{}: line {}", path.display(), line.number);
        let text = line.text.as_ref().map_err(|e| anyhow::anyhow!("{}: {e}", place()))?;
        let question: EvalQuestion = serde_json::from_str(text).with_context(place)?;
        if !ids.insert(question.id.clone()) {
            bail!("{}: the question id {} is there twice", place(), question.id);
        }
        questions.push(question);
    }
    questions.retain(|question| !question.groups().is_empty());
    ensure!(!questions.is_empty(), "{} holds no question with gold", path.display());
    Ok(questions)
}
