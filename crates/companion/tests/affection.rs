//! Affection over days.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use jiff::{
    ToSpan,
    civil::{Date, date},
    tz::TimeZone,
};
use memory_engine_companion::{AffectionChange, AffectionReason, AffectionRules, Bond, MAX_AFFECTION, Pack, Stages};
use memory_engine_core::Timestamp;
use proptest::prelude::*;

fn stages() -> Stages {
    Pack::example().unwrap().stages
}

fn message(bond: &mut Bond, day: Date) -> Vec<AffectionChange> {
    bond.message(day, &AffectionRules::default(), &stages())
}

fn bond(affection: i32, last: Date) -> Bond {
    Bond { affection, consecutive_days: 1, last_active: Some(last), settled: None }
}

#[test]
fn a10_points_for_messages_and_streaks() {
    let mut bond = Bond::default();
    let mut streaks = Vec::new();
    for day in 1..=15 {
        for _ in 0..3 {
            streaks.extend(
                message(&mut bond, date(2026, 3, day)).into_iter().filter(|c| c.reason != AffectionReason::Message),
            );
        }
    }
    assert_eq!(bond.affection, 15 * 3 + 2 * 50);
    let days: Vec<_> =
        streaks.iter().map(|change| (change.day.day(), change.delta, change.reason.to_string())).collect();
    assert_eq!(days, [(7, 50, "7 days in a row".into()), (14, 50, "14 days in a row".into())]);
}

#[test]
fn missed_day_ends_a_streak() {
    let mut bond = Bond::default();
    for day in [1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13] {
        message(&mut bond, date(2026, 3, day));
    }
    assert_eq!((bond.affection, bond.consecutive_days), (12, 6));
}

#[test]
fn a10_idle_days_cost_points_down_to_the_floor() {
    let last = date(2026, 1, 1);
    let after = |days: i64, affection: i32| {
        let mut bond = bond(affection, last);
        let changes = message(&mut bond, last.checked_add(days.days()).unwrap());
        (bond.affection, changes.len())
    };
    // The 31st day brings a message: thirty whole days lie between.
    assert_eq!(after(31, 3500), (3501, 1));
    assert_eq!(after(32, 3500), (3401, 2));
    assert_eq!(after(33, 3500), (3301, 3));
    assert_eq!(after(41, 3500), (2501, 11), "the floor of the third chapter is 2500");
    assert_eq!(after(400, 3500), (2501, 11));
    assert_eq!(after(400, 9999), (9001, 11));
    assert_eq!(after(400, 2530), (2501, 2), "the last step is only as large as the floor leaves it");
    assert_eq!(after(400, 40), (1, 2));
}

#[test]
fn idle_days_are_charged_once() {
    let (rules, stages, last) = (AffectionRules::default(), stages(), date(2026, 1, 1));
    let mut watched = bond(4000, last);
    let mut log = Vec::new();
    for day in 1..=36_i64 {
        let today = last.checked_add(day.days()).unwrap();
        log.extend(watched.charge_idle_days(today, &rules, &stages));
        log.extend(watched.charge_idle_days(today, &rules, &stages));
    }
    let mut returning = bond(4000, last);
    let today = last.checked_add(37.days()).unwrap();
    let at_once = message(&mut returning, today);
    log.extend(message(&mut watched, today));
    assert_eq!(log, at_once);
    assert_eq!(watched, returning);
    assert_eq!(log[0].day, date(2026, 2, 1), "the 31st whole day after new year");
}

#[test]
fn clock_set_back_changes_no_days() {
    let mut bond = bond(100, date(2026, 3, 5));
    bond.consecutive_days = 6;
    message(&mut bond, date(2026, 3, 4));
    message(&mut bond, date(2020, 3, 4));
    assert_eq!((bond.affection, bond.consecutive_days, bond.last_active), (102, 6, Some(date(2026, 3, 5))));
    message(&mut bond, date(2026, 3, 6));
    assert_eq!((bond.affection, bond.consecutive_days), (153, 7));
}

#[test]
fn days_follow_the_zone_of_the_user() {
    let day = |time: &str, zone: &str| {
        let at: Timestamp = time.parse().unwrap();
        at.in_zone(&TimeZone::get(zone).unwrap()).date()
    };
    // A minute before and after midnight in Shanghai, which is one day in UTC.
    let mut bond = Bond::default();
    for time in ["2026-03-05T15:59:00Z", "2026-03-05T16:01:00Z"] {
        message(&mut bond, day(time, "Asia/Shanghai"));
    }
    assert_eq!(bond.consecutive_days, 2);
    let mut in_london = Bond::default();
    for time in ["2026-03-05T15:59:00Z", "2026-03-05T16:01:00Z"] {
        message(&mut in_london, day(time, "Europe/London"));
    }
    assert_eq!(in_london.consecutive_days, 1);
    // In New York the clocks go forward on 8 March 2026 and back on 1 November: days of 23 and of 25 hours.
    for (times, streak) in [
        (["2026-03-08T04:59:00Z", "2026-03-08T05:01:00Z", "2026-03-09T03:59:00Z", "2026-03-09T04:01:00Z"], 3),
        (["2026-11-01T03:59:00Z", "2026-11-01T04:01:00Z", "2026-11-02T04:59:00Z", "2026-11-02T05:01:00Z"], 3),
    ] {
        let mut bond = Bond::default();
        for time in times {
            message(&mut bond, day(time, "America/New_York"));
        }
        assert_eq!((bond.consecutive_days, bond.affection), (streak, 4));
    }
}

/// An event in a relationship.
#[derive(Debug, Clone)]
enum Event {
    Message,
    Look,
    Moment(i32),
}

fn events() -> impl Strategy<Value = Vec<(i64, Event)>> {
    let event =
        prop_oneof![4 => Just(Event::Message), 1 => Just(Event::Look), 1 => (-12_000..12_000).prop_map(Event::Moment)];
    let days = prop_oneof![6 => 0_i64..3, 1 => -2_i64..0, 1 => 28_i64..45, 1 => 100_i64..5000];
    prop::collection::vec((days, event), 0..60)
}

proptest! {
    #[test]
    fn a10_affection_is_bounded_and_logged(start in 0..=MAX_AFFECTION, events in events()) {
        let (rules, stages) = (AffectionRules::default(), stages());
        let mut today = date(2024, 2, 27);
        let mut bond = bond(start, today);
        for (days, event) in events {
            today = today.checked_add(days.days()).unwrap();
            let (before, floor) = (bond, stages.floor(bond.affection));
            let changes = match event {
                Event::Message => bond.message(today, &rules, &stages),
                Event::Look => bond.charge_idle_days(today, &rules, &stages),
                Event::Moment(delta) => bond.moment(delta, "x", today).into_iter().collect(),
            };
            prop_assert!((0..=MAX_AFFECTION).contains(&bond.affection));
            prop_assert!(bond.last_active >= before.last_active, "the last day never goes back");
            // The log is complete: each change starts at the result of the previous one.
            let mut at = before.affection;
            for change in &changes {
                prop_assert_eq!((change.before, change.after - change.before), (at, change.delta));
                prop_assert!(change.delta != 0);
                at = change.after;
                if matches!(change.reason, AffectionReason::Idle(_)) {
                    prop_assert!(change.delta < 0 && change.delta >= -rules.idle_loss && change.after >= floor);
                    prop_assert!(change.day < today);
                }
            }
            prop_assert_eq!(at, bond.affection);
            if let Event::Message = event {
                let mut again = bond;
                let repeated = again.message(today, &rules, &stages);
                prop_assert!(repeated.iter().all(|change| change.reason == AffectionReason::Message), "one streak a day");
            }
        }
    }

    /// The rule as a reference implementation: a set of days, and the length of the unbroken row at its end.
    #[test]
    fn streak_length_equals_calendar_days(gaps in prop::collection::vec(0_i64..3, 1..80)) {
        let mut bond = Bond::default();
        let mut today = date(2026, 2, 1);
        let mut days = std::collections::BTreeSet::new();
        let mut streaks = 0;
        for gap in gaps {
            today = today.checked_add(gap.days()).unwrap();
            days.insert(today);
            streaks += message(&mut bond, today).iter().filter(|c| matches!(c.reason, AffectionReason::Streak(_))).count();
        }
        let mut row = 0;
        let mut day = today;
        while days.contains(&day) {
            row += 1;
            day = day.yesterday().unwrap();
        }
        prop_assert_eq!(bond.consecutive_days, row);
        // Every day whose row up to it is a multiple of seven brought one.
        let ends = days.iter().filter(|end| {
            let row = (0..).take_while(|n| days.contains(&end.checked_sub(n.days()).unwrap())).count();
            row % 7 == 0
        });
        prop_assert_eq!(streaks, ends.count());
    }
}
