//! The time in which a statement holds.

use memory_engine_core::{State, Timestamp};
use serde_json::Value;

use crate::row::ImportedTurn;

/// Sets the time in which a statement holds. A statement that no longer holds becomes superseded: it stays in the
/// history, and is not recalled as current.
pub(crate) fn set_validity(turn: &mut ImportedTurn, from: Value, until: Value, now: Timestamp) {
    // An end before the beginning ends it at its beginning.
    let ends_first = matches!((moment(&from), moment(&until)), (Some(from), Some(until)) if until < from);
    let until = if ends_first { from.clone() } else { until };
    if moment(&until).is_some_and(|until| until <= now) {
        turn.set("state", State::Superseded.as_str());
    }
    turn.set("valid_from", from);
    turn.set("valid_until", until);
}

fn moment(time: &Value) -> Option<Timestamp> {
    time.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_statement_that_has_ended_is_superseded() {
        let now: Timestamp = "2026-03-01T00:00:00Z".parse().unwrap();
        let keys = |from: Value, until: Value| {
            let mut turn = ImportedTurn::default();
            set_validity(&mut turn, from, until, now);
            Value::Object(turn.keys)
        };
        let (january, february, april) = ("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z", "2026-04-01T00:00:00Z");
        assert_eq!(keys(Value::Null, Value::Null), json!({}));
        assert_eq!(keys(json!(january), Value::Null), json!({"valid_from": january}));
        assert_eq!(keys(json!(january), json!(april)), json!({"valid_from": january, "valid_until": april}));
        let ended = json!({"valid_from": january, "valid_until": february, "state": "superseded"});
        assert_eq!(keys(json!(january), json!(february)), ended);
        let reversed = json!({"valid_from": february, "valid_until": february, "state": "superseded"});
        assert_eq!(keys(json!(february), json!(january)), reversed);
    }
}
