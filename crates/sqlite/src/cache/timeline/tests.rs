use std::collections::BTreeMap;

use memory_engine_core::Timestamp;
use proptest::prelude::*;

use super::*;

proptest! {
    /// After any sequence of additions, moves, removals and sorts.
    #[test]
    fn a_window_returns_exactly_its_rows_and_each_once(
        steps in proptest::collection::vec((0..9_i64, proptest::option::of(0..20_i64), any::<bool>()), 0..60),
        first in 0..20_i64, length in -1..20_i64,
    ) {
        let mut timeline = Timeline::default();
        let mut model = BTreeMap::new();
        for (row, time, sort) in steps {
            match time {
                Some(time) => {
                    timeline.insert(row, time);
                    model.insert(row, time);
                }
                None => {
                    timeline.remove(row);
                    model.remove(&row);
                }
            }
            if sort {
                timeline = Timeline::of(model.iter().map(|(row, time)| (*row, *time)));
            }
            timeline.sort_if_due();
        }
        let window = TimelineWindow { first, last: first + length };
        let mut found: Vec<i64> = timeline.rows_in(window).collect();
        found.sort_unstable();
        let contains = |time: i64| window.first <= time && time <= window.last;
        prop_assert_eq!(found, model.iter().filter(|(_, t)| contains(**t)).map(|(row, _)| *row).collect::<Vec<_>>());
    }
}

#[test]
fn only_time_conditions_make_a_window() {
    let at = |op, micros| Filter::compare(Field::OccurredAt, op, Timestamp::from_micros(micros));
    let window = |filter: &Filter| TimelineWindow::of(filter).map(|window| (window.first, window.last));
    assert_eq!(window(&at(Op::Ge, 3).and(at(Op::Lt, 9)).and(at(Op::Le, 7))), Some((3, 7)));
    assert_eq!(window(&at(Op::Gt, 3).and(at(Op::Eq, 5))), Some((5, 5)));
    assert_eq!(window(&at(Op::Gt, 3).and(Filter::eq(Field::Kind, "turn"))), None);
    assert_eq!(window(&Filter::Not(Box::new(at(Op::Gt, 3)))), None);
    assert_eq!(window(&Filter::And(Vec::new())), None);
}
