//! Shows warnings of the engine to people, such as a model that failed and was replaced by rules.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Mutex, PoisonError},
};

use serde_json::{Value, json};
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

/// The target of such warnings.
const ENGINE: &str = "memory_engine";
/// Maximum number of different warnings that are printed.
const MAX_WARNINGS: usize = 10;

/// Prints each different warning of the engine once, on standard error.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    printed: Mutex<BTreeSet<String>>,
}

impl Warnings {
    /// Prints the warnings of the whole process from now on.
    pub(crate) fn install() {
        // If a subscriber is set already, it gets the same events.
        let _ = tracing::subscriber::set_global_default(Self::default());
    }

    fn is_new(&self, warning: &str) -> bool {
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        printed.len() < MAX_WARNINGS && printed.insert(warning.to_owned())
    }
}

impl Subscriber for Warnings {
    fn enabled(&self, about: &Metadata<'_>) -> bool {
        *about.level() <= Level::WARN && about.target().starts_with(ENGINE)
    }

    fn event(&self, event: &Event<'_>) {
        let mut warning = Warning::default();
        event.record(&mut warning);
        if let Some(damaged) = warning.damaged() {
            DAMAGED.lock().unwrap_or_else(PoisonError::into_inner).insert(damaged);
        }
        let warning = warning.to_string();
        if self.is_new(&warning) {
            report_line!("{warning}");
        }
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1) // spans are not used
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// A warning: its message and the part that reports it.
#[derive(Default)]
struct Warning {
    part: Option<String>,
    message: String,
    /// The id, table and column of a damaged record.
    location: [Option<String>; 3],
}

/// The damaged records that this command has met: id, table and column.
static DAMAGED: Mutex<BTreeSet<[String; 3]>> = Mutex::new(BTreeSet::new());

/// Returns the damaged records that this command has met, for its report.
pub(crate) fn damaged_records() -> Vec<Value> {
    let damaged = DAMAGED.lock().unwrap_or_else(PoisonError::into_inner);
    damaged.iter().map(|[id, table, column]| json!({ "id": id, "table": table, "column": column })).collect()
}

impl Warning {
    fn damaged(&self) -> Option<[String; 3]> {
        let [id, table, column] = &self.location;
        Some([id.clone()?, table.clone()?, column.clone()?])
    }

    fn record(&mut self, field: &str, value: String) {
        match field {
            "part" => self.part = Some(value),
            "message" => self.message = value,
            "id" => self.location[0] = Some(value),
            "table" => self.location[1] = Some(value),
            "column" => self.location[2] = Some(value),
            _ => {}
        }
    }
}

impl Visit for Warning {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record(field.name(), format!("{value:?}"));
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.part {
            Some(part) => write!(f, "{part}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_printed_once_and_limited() {
        let warnings = Warnings::default();
        assert!(warnings.is_new("facts: no key") && !warnings.is_new("facts: no key"));
        let count = (0..50).filter(|n| warnings.is_new(&n.to_string())).count();
        assert_eq!(count, MAX_WARNINGS - 1);
    }
}
