//! The stages of a relationship.

use memory_engine_core::{Error, Result};

/// The most affection there is; the least is 0.
pub const MAX_AFFECTION: i32 = 9999;

/// A stage: how the companion is from some affection on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// What it is called.
    pub name: String,
    /// The affection that it begins with.
    pub from: i32,
    /// What marks it, in a few words.
    pub keywords: Vec<String>,
    /// How the companion is in it: what the model is told.
    pub text: String,
}

/// The stages of a relationship, of which exactly one holds at a time. They are the chapters, from 1 on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stages(Vec<Stage>);

impl Stages {
    /// Stages in their order.
    ///
    /// # Errors
    /// `InvalidInput` when there is none, the first does not begin with 0, one does not begin after the one before, or
    /// one begins beyond [`MAX_AFFECTION`].
    pub fn new(stages: Vec<Stage>) -> Result<Self> {
        let wrong = |message: String| Err(Error::invalid("stages", message));
        let Some(first) = stages.first() else {
            return wrong("there is no stage; a companion has at least one".into());
        };
        if first.from != 0 {
            return wrong(format!("the first stage begins with {}; it has to begin with 0", first.from));
        }
        for (before, after) in stages.iter().zip(&stages[1..]) {
            if before.from >= after.from {
                return wrong(format!(
                    "'{}' begins with {} and '{}' after it with {}; each begins with more",
                    before.name, before.from, after.name, after.from
                ));
            }
        }
        match stages.iter().find(|stage| stage.from > MAX_AFFECTION) {
            Some(stage) => wrong(format!("'{}' begins with {}; {MAX_AFFECTION} is the most", stage.name, stage.from)),
            None => Ok(Self(stages)),
        }
    }

    /// The stage that holds, with its chapter from 1 on.
    pub fn at(&self, affection: i32) -> (u32, &Stage) {
        let after = self.0.partition_point(|stage| stage.from <= affection).max(1);
        (u32::try_from(after).unwrap_or(u32::MAX), &self.0[after - 1])
    }

    /// The least affection of the chapter that holds.
    pub fn floor(&self, affection: i32) -> i32 {
        self.at(affection).1.from
    }

    /// All of them, in their order.
    pub fn all(&self) -> &[Stage] {
        &self.0
    }
}
