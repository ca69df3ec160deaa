//! Numbers of records over time.

use std::{collections::BTreeMap, time::Duration};

use axum::{Json, extract::State};
use memory_engine::{
    Result, Timestamp,
    jiff::{ToSpan, tz::TimeZone},
    store::Periods,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    super::{accessible_scopes::AccessibleScopes, state::InspectorState},
    stats::stats_of,
};
use crate::fault::Fault;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Maximum number of days that are counted day by day. A longer time is counted week by week.
const MAX_DAYS: u64 = 92;
/// Maximum number of periods in an answer. For a longer time, a period has several weeks.
const MAX_PERIODS: u64 = 520;

/// Numbers of records by period and kind.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::inspector) struct Growth {
    /// Number of days of a period: 1, or a multiple of 7.
    period_days: u64,
    /// The start of each period: midnight in the time zone of the users.
    starts: Vec<String>,
    /// For each kind the number of records that occurred in each period, in all states.
    kinds: BTreeMap<String, Vec<u64>>,
}

pub(in crate::inspector) async fn show_growth(
    State(state): State<InspectorState>,
    accessible: AccessibleScopes,
) -> Result<Json<Growth>, Fault> {
    let engine = &state.engine;
    let stats = stats_of(engine, &accessible.scopes).await?;
    let (Some(oldest), Some(newest)) = (stats.oldest, stats.newest) else {
        return Ok(Json(Growth { period_days: 1, starts: Vec::new(), kinds: BTreeMap::new() }));
    };
    let (periods, period_days) = periods_between(oldest, newest, engine.settings().zone())?;
    let count = usize::try_from(periods.index_of(newest)).unwrap_or(0) + 1;
    let mut kinds: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for scope in &accessible.scopes {
        for counted in engine.admin().period_counts(scope, periods).await? {
            let row = kinds.entry(counted.kind.as_str().to_owned()).or_insert_with(|| vec![0; count]);
            // A record that was written since is left out.
            let index = usize::try_from(periods.index_of(counted.start)).ok();
            if let Some(cell) = index.and_then(|index| row.get_mut(index)) {
                *cell += counted.records;
            }
        }
    }
    let starts = (0..count).map(|index| periods.start_of(index as i64).to_string()).collect();
    Ok(Json(Growth { period_days, starts, kinds }))
}

/// Returns days, weeks or several weeks from the period of `oldest` on, and the number of days of a period.
fn periods_between(oldest: Timestamp, newest: Timestamp, zone: &TimeZone) -> Result<(Periods, u64)> {
    let days = newest.since(oldest).as_secs() / DAY.as_secs() + 1;
    let weeks = (days / 7 + 1).div_ceil(MAX_PERIODS);
    let period_days = if days <= MAX_DAYS { 1 } else { 7 * weeks };
    let mut date = oldest.in_zone(zone).date();
    if period_days > 1 {
        let since_monday = i64::from(date.weekday().to_monday_zero_offset());
        date = date.checked_sub(since_monday.days()).unwrap_or(date);
    }
    // Without a midnight, at the end of the calendar, the periods begin with the record.
    let start = Timestamp::parse_in(&date.to_string(), zone).unwrap_or(oldest).min(oldest);
    let length = DAY.saturating_mul(u32::try_from(period_days).unwrap_or(u32::MAX));
    Ok((Periods::new(start, length)?, period_days))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn periods(oldest: &str, newest: &str) -> (String, u64, i64) {
        let shanghai = TimeZone::get("Asia/Shanghai").unwrap();
        let (periods, days) = periods_between(time(oldest), time(newest), &shanghai).unwrap();
        (periods.start().to_string(), days, periods.index_of(time(newest)) + 1)
    }

    #[test]
    fn the_span_chooses_days_or_weeks_of_the_zone() {
        // 20:00 in UTC is the next day in Shanghai.
        let days = periods("2026-03-01T20:00:00Z", "2026-03-03T20:00:00Z");
        assert_eq!(days, ("2026-03-01T16:00:00Z".to_owned(), 1, 3));
        let weeks = periods("2026-03-04T20:00:00Z", "2026-09-04T00:00:00Z");
        assert_eq!(weeks, ("2026-03-01T16:00:00Z".to_owned(), 7, 27));
    }

    #[test]
    fn the_number_of_periods_is_bounded() {
        for (oldest, newest) in [
            ("1970-01-01T00:00:00Z", "2026-09-04T00:00:00Z"),
            ("2016-09-05T00:00:00Z", "2026-09-04T00:00:00Z"),
            ("-009999-01-02T02:00:00Z", "9999-12-30T00:00:00Z"),
        ] {
            let (_, days, count) = periods(oldest, newest);
            assert!(days % 7 == 0 && (2..=i64::try_from(MAX_PERIODS).unwrap() + 1).contains(&count), "{days} {count}");
        }
    }
}
