//! Shows warnings of the engine to people, such as a model that failed and was replaced by rules.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Mutex, PoisonError},
};

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
}

impl Visit for Warning {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "part" {
            self.part = Some(value.to_owned());
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        }
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
