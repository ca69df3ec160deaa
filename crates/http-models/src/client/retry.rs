//! Retries: their budget and delays.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, UNIX_EPOCH},
};

use memory_engine_core::{Clock, SystemClock};
use reqwest::header::{HeaderMap, RETRY_AFTER};

/// Number of successful requests that pay for one retry.
const RETRY_COST: u32 = 10;
/// Maximum budget: ten retries.
const MAX_BUDGET: u32 = 10 * RETRY_COST;

/// Limits retries to a tenth of the successful requests, so that a failing service does not get several times the load.
///
/// As in Finagle's RetryBudget, every success adds a tenth of a retry.
#[derive(Debug)]
pub(super) struct RetryBudget(AtomicU32);

impl Default for RetryBudget {
    fn default() -> Self {
        Self(AtomicU32::new(MAX_BUDGET))
    }
}

impl RetryBudget {
    /// Adds a tenth of a retry, for a successful request.
    pub(super) fn earn(&self) {
        // `Err` means that the budget is full.
        let _ =
            self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |saved| (saved < MAX_BUDGET).then(|| saved + 1));
    }

    /// Takes one retry from the budget. Returns false if there is none.
    pub(super) fn spend(&self) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |saved| saved.checked_sub(RETRY_COST)).is_ok()
    }
}

/// Returns the delay that the service asks for: `retry-after-ms`, or `Retry-After` in seconds or as a date.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
    if let Some(ms) = text("retry-after-ms").and_then(number) {
        return Duration::try_from_secs_f64(ms / 1e3).ok();
    }
    let after = text(RETRY_AFTER.as_str())?;
    if let Some(seconds) = number(after) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let at = httpdate::parse_http_date(after).ok()?.duration_since(UNIX_EPOCH).ok()?;
    let now = Duration::from_micros(u64::try_from(SystemClock.now().as_micros()).ok()?);
    Some(at.saturating_sub(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delay(name: &'static str, value: &str) -> Option<Duration> {
        retry_after(&HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())]))
    }

    #[test]
    fn every_form_of_retry_after_is_parsed() {
        assert_eq!(delay("retry-after-ms", "250"), Some(Duration::from_millis(250)));
        assert_eq!(delay("retry-after", "2"), Some(Duration::from_secs(2)));
        assert_eq!(delay("retry-after", "1.5"), Some(Duration::from_millis(1500)));
        assert_eq!(delay("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::ZERO));
        assert!(delay("retry-after", "Fri, 31 Dec 2100 08:49:37 GMT").is_some_and(|d| d.as_secs() > 1_000_000));
        for invalid in ["", "soon", "-1", "NaN", "1e300"] {
            assert_eq!(delay("retry-after", invalid), None, "{invalid}");
        }
    }

    #[test]
    fn retries_are_spent_and_earned() {
        let budget = RetryBudget::default();
        assert_eq!((0..20).filter(|_| budget.spend()).count(), 10);
        (0..9).for_each(|_| budget.earn());
        assert!(!budget.spend());
        budget.earn();
        assert!(budget.spend() && !budget.spend());
    }
}
