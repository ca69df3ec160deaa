//! The outcome of a case, as JSON and as text.

use std::fmt::Write as _;

use memory_engine::{Record, RecordId, recall::Verdict};
use serde::Serialize;

use crate::{
    output,
    regression::{
        case::{Target, TestCase},
        observation::Observation,
    },
};

/// Maximum number of characters of a record's text in an outcome.
const MAX_TEXT_CHARS: usize = 100;

/// The outcome of a case.
#[derive(Debug, Serialize)]
pub(crate) struct CaseOutcome {
    pub(crate) name: String,
    /// The line of the case in its file.
    pub(crate) line: usize,
    pub(crate) passed: bool,
    pub(crate) target: Target,
    pub(crate) query: String,
    /// The scope in words.
    pub(crate) scope: String,
    pub(crate) failures: Vec<CaseFailure>,
    /// The hits of the search, or the records in the block.
    pub(crate) hits: Vec<ObservedHit>,
    /// The text of the block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) block: Option<String>,
    /// The rule of injection that applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rule: Option<&'static str>,
}

/// The kind of an expectation that was not met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FailureKind {
    /// An expected record is missing.
    Expected,
    /// A forbidden record is there.
    Forbidden,
    /// A record is relevant although none may be.
    Abstain,
    /// A stage of the recall failed, so that the result is not reliable.
    Degraded,
}

impl FailureKind {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Expected => "expected",
            Self::Forbidden => "forbidden",
            Self::Abstain => "abstain",
            Self::Degraded => "degraded",
        }
    }
}

/// An expectation that was not met.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct CaseFailure {
    pub(crate) kind: FailureKind,
    /// The expectation and the reason, as a sentence.
    pub(crate) message: String,
    /// Index of the expected record in `expect`, from 0.
    #[serde(skip)]
    pub(crate) expectation: Option<usize>,
    /// The reasons why the records that match were not found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) explanations: Vec<RecordExplanation>,
}

/// The reason why an expected record was not found, or not in its place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct RecordExplanation {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<RecordId>,
    /// The beginning of its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// The name of the verdict; `None` if no record matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) verdict: Option<&'static str>,
    /// The reason as a sentence.
    pub(crate) reason: String,
    /// The parts of its score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) score: Option<String>,
}

/// A hit, or a record of the block.
#[derive(Debug, Serialize)]
pub(crate) struct ObservedHit {
    pub(crate) place: usize,
    pub(crate) id: RecordId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) relevant: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) relevance: Option<f64>,
    pub(crate) text: String,
}

/// The number of cases that passed and failed.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct TestSummary {
    pub(crate) cases: usize,
    pub(crate) passed: usize,
    pub(crate) failed: usize,
}

impl CaseFailure {
    pub(crate) fn new(kind: FailureKind, message: String) -> Self {
        Self { kind, message, expectation: None, explanations: Vec::new() }
    }
}

impl CaseOutcome {
    pub(crate) fn new(case: &TestCase, observation: Observation, failures: Vec<CaseFailure>) -> Self {
        let (hits, block, rule) = match observation {
            Observation::Hits(recall) => {
                let hits = recall.hits.iter().zip(1..).map(|(hit, place)| ObservedHit {
                    relevant: Some(hit.relevant),
                    relevance: Some(hit.relevance),
                    ..observed(&hit.record, place)
                });
                (hits.collect(), None, None)
            }
            Observation::Block(block) => {
                let records = block.records.iter().zip(1..).map(|(record, place)| observed(record, place));
                (records.collect(), Some(block.text), block.rule)
            }
        };
        Self {
            name: case.name.clone(),
            line: case.line,
            passed: failures.is_empty(),
            target: case.target,
            query: case.query.clone(),
            scope: case.scope.to_string(),
            failures,
            hits,
            block,
            rule,
        }
    }

    /// Describes the outcome: a line, and for a failed case the reasons and what was found.
    pub(crate) fn describe(&self) -> String {
        if self.passed {
            return format!("ok      {}", output::shorten(&self.name, MAX_TEXT_CHARS));
        }
        let mut text = format!("FAILED  {} (line {})\n", output::shorten(&self.name, MAX_TEXT_CHARS), self.line);
        let query = output::shorten(&self.query, MAX_TEXT_CHARS);
        _ = writeln!(text, "  {} \"{query}\" within {}", self.target.as_str(), self.scope);
        text += &self.failure_lines();
        text += &self.observed_lines();
        text.trim_end().to_owned()
    }

    /// Describes the failures with their explanations.
    pub(crate) fn failure_lines(&self) -> String {
        let mut text = String::new();
        for failure in &self.failures {
            _ = writeln!(text, "  {}: {}", failure.kind.as_str(), failure.message);
            for explanation in &failure.explanations {
                let record = explanation.id.map(|id| {
                    let quoted = explanation.text.as_ref().map(|text| format!(" \"{text}\"")).unwrap_or_default();
                    format!("{id}{quoted}: ")
                });
                _ = writeln!(text, "    {}{}", record.unwrap_or_default(), explanation.reason);
                if let Some(score) = &explanation.score {
                    _ = writeln!(text, "      {score}");
                }
            }
        }
        text
    }

    /// Lists the hits, or shows the block.
    fn observed_lines(&self) -> String {
        let mut text = String::new();
        if let Some(rule) = self.rule {
            _ = writeln!(text, "  rule of injection: {rule}");
        }
        match &self.block {
            Some(block) if block.trim().is_empty() => text += "  the block is empty\n",
            Some(block) => {
                text += "  block:\n";
                for line in block.lines() {
                    _ = writeln!(text, "    {line}");
                }
            }
            None if self.hits.is_empty() => text += "  no hits\n",
            None => {
                text += "  hits:\n";
                for hit in &self.hits {
                    let relevant = if hit.relevant == Some(true) { "relevant    " } else { "not relevant" };
                    let relevance = hit.relevance.unwrap_or_default();
                    _ = writeln!(
                        text,
                        "   {:>3}  {relevant} {relevance:.2}  {}  {}",
                        hit.place,
                        hit.id,
                        output::shorten(&hit.text, MAX_TEXT_CHARS)
                    );
                }
            }
        }
        text
    }
}

fn observed(record: &Record, place: usize) -> ObservedHit {
    ObservedHit { place, id: record.id, relevant: None, relevance: None, text: record.text.clone() }
}

/// Returns the beginning of a record's text on one line.
pub(crate) fn excerpt(record: &Record) -> String {
    output::shorten(&record.text, MAX_TEXT_CHARS)
}

impl RecordExplanation {
    /// Explains a record by the verdict of the engine.
    pub(crate) fn of(record: &Record, verdict: &Verdict, score: Option<String>) -> Self {
        Self {
            id: Some(record.id),
            text: Some(excerpt(record)),
            verdict: Some(verdict.as_str()),
            reason: verdict.to_string(),
            score,
        }
    }

    /// States that no record matches.
    pub(crate) fn without_record(reason: String) -> Self {
        Self { id: None, text: None, verdict: None, reason, score: None }
    }
}

impl TestSummary {
    pub(crate) fn add(&mut self, outcome: &CaseOutcome) {
        self.cases += 1;
        if outcome.passed {
            self.passed += 1;
        } else {
            self.failed += 1;
        }
    }

    pub(crate) fn describe(&self) -> String {
        format!("{} passed, {} failed", output::counted(self.passed as u64, "case", "cases"), self.failed)
    }
}
