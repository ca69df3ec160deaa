//! The stages of a relationship.

use memory_engine_core::{Error, Record, Result};
use serde::{Deserialize, Serialize};

/// Maximum affection, in points. The minimum is 0.
pub const MAX_AFFECTION: i32 = 9999;

/// A stage of the relationship. It begins at some affection, and determines how the companion behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// The name.
    pub name: String,
    /// Minimum affection of the stage.
    pub from: i32,
    /// A few words that characterise the stage.
    pub keywords: Vec<String>,
    /// The description of the companion in this stage, for the model.
    pub text: String,
}

/// The name and the beginning of a stage, as the record of a state contains them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StageThreshold {
    /// The name.
    pub name: String,
    /// Minimum affection of the stage.
    pub from: i32,
}

impl StageThreshold {
    /// The metadata key of the thresholds.
    pub(crate) const KEY: &str = "stages";

    /// Returns the stages in the record of a state, in order. Empty for a record without them: records of earlier
    /// versions contain only the number of the current stage.
    pub fn all_of(record: &Record) -> Vec<Self> {
        let stages = record.metadata.get(Self::KEY).cloned().unwrap_or_default();
        serde_json::from_value(stages).unwrap_or_default()
    }
}

/// The stages of a relationship, of which exactly one is current. Their numbers, from 1, are the chapters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stages(Vec<Stage>);

impl Stages {
    /// Creates the stages, in ascending order.
    ///
    /// # Errors
    /// `InvalidInput` if there is no stage, if the first does not begin at 0, if they are not ascending, or if one
    /// begins above [`MAX_AFFECTION`].
    pub fn new(stages: Vec<Stage>) -> Result<Self> {
        let invalid = |message: String| Err(Error::invalid("stages", message));
        let Some(first) = stages.first() else {
            return invalid("there is no stage; add at least one".into());
        };
        if first.from != 0 {
            return invalid(format!("the first stage begins at {}; it must begin at 0", first.from));
        }
        for (before, after) in stages.iter().zip(&stages[1..]) {
            if before.from >= after.from {
                return invalid(format!(
                    "'{}' begins at {} and the next stage '{}' at {}; put the stages in ascending order",
                    before.name, before.from, after.name, after.from
                ));
            }
        }
        match stages.iter().find(|stage| stage.from > MAX_AFFECTION) {
            Some(stage) => {
                invalid(format!("'{}' begins at {}; the maximum is {MAX_AFFECTION}", stage.name, stage.from))
            }
            None => Ok(Self(stages)),
        }
    }

    /// Returns the chapter, from 1, and the stage at this affection.
    pub fn at(&self, affection: i32) -> (u32, &Stage) {
        let after = self.0.partition_point(|stage| stage.from <= affection).max(1);
        (u32::try_from(after).unwrap_or(u32::MAX), &self.0[after - 1])
    }

    /// Returns the minimum affection of the chapter at this affection.
    pub fn floor(&self, affection: i32) -> i32 {
        self.at(affection).1.from
    }

    /// Returns the names and beginnings of all stages in order.
    pub fn thresholds(&self) -> Vec<StageThreshold> {
        self.0.iter().map(|stage| StageThreshold { name: stage.name.clone(), from: stage.from }).collect()
    }

    /// Returns all stages in order.
    pub fn all(&self) -> &[Stage] {
        &self.0
    }
}
