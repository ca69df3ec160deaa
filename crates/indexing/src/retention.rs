//! Times to live of new records, by kind and scope.

use std::time::Duration;

use memory_engine_core::{Error, Kind, Record, Result, Scope};

/// A time to live for the new records of a kind, of a part of the tenants and users, or both.
///
/// A dimension that is not set matches every value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct RetentionRule {
    kind: Option<Kind>,
    tenant: Option<String>,
    user: Option<String>,
    agent: Option<String>,
    session: Option<String>,
    time_to_live: Option<Duration>,
}

impl RetentionRule {
    /// Creates a rule for all new records: they expire this long after they were stored.
    pub fn expire_after(time_to_live: Duration) -> Self {
        Self { time_to_live: Some(time_to_live), ..Self::default() }
    }

    /// Creates a rule for all new records: they do not expire. For exceptions before a more general rule.
    pub fn keep() -> Self {
        Self::default()
    }

    memory_engine_core::setters! {
        /// Restricts the rule to records of this kind.
        of_kind(kind: Kind) => kind = Some(kind);
        /// Restricts the rule to this tenant.
        of_tenant(tenant: impl Into<String>) => tenant = Some(tenant.into());
        /// Restricts the rule to users of this name, in every tenant.
        of_user(user: impl Into<String>) => user = Some(user.into());
        /// Restricts the rule to this agent.
        of_agent(agent: impl Into<String>) => agent = Some(agent.into());
        /// Restricts the rule to this session.
        of_session(session: impl Into<String>) => session = Some(session.into());
    }

    fn matches(&self, record: &Record) -> bool {
        let scope: &Scope = &record.scope;
        let has =
            |wanted: &Option<String>, value: Option<&str>| wanted.as_deref().is_none_or(|wanted| value == Some(wanted));
        self.kind.as_ref().is_none_or(|kind| record.kind == *kind)
            && has(&self.tenant, Some(scope.tenant()))
            && has(&self.user, scope.user_name())
            && has(&self.agent, scope.agent())
            && has(&self.session, scope.session())
    }
}

/// Times to live of new records. The first rule that matches a record decides. Default: no rules, so that nothing
/// expires.
///
/// A rule applies when a record is first stored without an expiry of its own. It does not change stored records. It
/// does not apply to records derived from others, which expire with their sources.
///
/// ```
/// use std::time::Duration;
/// use memory_engine_core::Kind;
/// use memory_engine_indexing::{RetentionPolicy, RetentionRule};
///
/// let day = Duration::from_secs(24 * 60 * 60);
/// let policy = RetentionPolicy::default()
///     .with_rule(RetentionRule::keep().of_kind(Kind::NOTE))
///     .with_rule(RetentionRule::expire_after(90 * day).of_agent("support"))
///     .with_rule(RetentionRule::expire_after(365 * day));
/// assert!(policy.validate().is_ok());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct RetentionPolicy {
    rules: Vec<RetentionRule>,
    leaves_tombstones: bool,
}

impl Default for RetentionPolicy {
    fn default() -> Self {
        Self { rules: Vec::new(), leaves_tombstones: true }
    }
}

impl RetentionPolicy {
    /// Adds a rule after the others.
    pub fn with_rule(mut self, rule: RetentionRule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Sets whether an expired record leaves a tombstone, so that no import stores it again. Default: true.
    pub fn with_tombstones(mut self, leaves_tombstones: bool) -> Self {
        self.leaves_tombstones = leaves_tombstones;
        self
    }

    /// Returns true if an expired record leaves a tombstone.
    pub fn leaves_tombstones(&self) -> bool {
        self.leaves_tombstones
    }

    /// Checks the rules.
    ///
    /// # Errors
    /// `InvalidInput` for a time to live of less than a second, or more than 1000 years.
    pub fn validate(&self) -> Result<()> {
        const MAX_TIME_TO_LIVE: Duration = Duration::from_secs(1000 * 365 * 24 * 60 * 60);
        let is_valid = |time: Duration| time >= Duration::from_secs(1) && time <= MAX_TIME_TO_LIVE;
        match self.rules.iter().filter_map(|rule| rule.time_to_live).find(|time| !is_valid(*time)) {
            Some(time) => {
                let seconds = time.as_secs_f64();
                let message = format!("a time to live is from 1 second to 1000 years, not {seconds} seconds");
                Err(Error::invalid("retention", message))
            }
            None => Ok(()),
        }
    }

    /// Sets the expiry of a new record that has none.
    pub(crate) fn apply(&self, record: &mut Record) {
        if record.expires_at.is_some() || record.kind.is_ledger() || !record.derived_from.is_empty() {
            return;
        }
        let time_to_live = self.rules.iter().find(|rule| rule.matches(record)).and_then(|rule| rule.time_to_live);
        record.expires_at = time_to_live.map(|time| record.recorded_at.after(time));
    }
}

/// Parses a time to live, such as `30d`, `12h`, `2 weeks` or `P30D`. A day has 24 hours, a month 30 days, and a year
/// 365 days.
///
/// # Errors
/// `InvalidInput` for another text, and for a duration that is not positive.
pub fn parse_time_to_live(text: &str) -> Result<Duration> {
    let invalid = || Error::invalid("time to live", format!("'{text}' is no duration; write for example 30d or 12h"));
    let span: jiff::Span = text.trim().parse().map_err(|_| invalid())?;
    let days = i64::from(span.get_years()) * 365
        + i64::from(span.get_months()) * 30
        + i64::from(span.get_weeks()) * 7
        + i64::from(span.get_days());
    let day = jiff::SignedDuration::from_hours(24);
    let rest = span.years(0).months(0).weeks(0).days(0);
    let rest = jiff::SignedDuration::try_from(rest).map_err(|_| invalid())?;
    let days = i32::try_from(days).ok().and_then(|days| day.checked_mul(days)).ok_or_else(invalid)?;
    let duration = days.checked_add(rest).filter(|duration| duration.is_positive()).ok_or_else(invalid)?;
    Duration::try_from(duration).map_err(|_| invalid())
}

/// Sets the expiry of a record to the earliest one of its sources. Pinned sources do not expire.
pub fn inherit_expiry<'a>(record: &mut Record, sources: impl IntoIterator<Item = &'a Record>) {
    let expiring = sources.into_iter().filter(|source| !source.pinned);
    record.expires_at = expiring.filter_map(|source| source.expires_at).min();
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use memory_engine_core::Timestamp;

    use super::*;

    const HOUR: u64 = 60 * 60;

    fn record(scope: &Scope, kind: Kind) -> Record {
        Record::with_id(memory_engine_core::RecordId::new(), scope.clone(), kind, "x".into(), Timestamp::from_micros(0))
    }

    #[test]
    fn times_to_live_are_durations_with_a_unit() {
        let cases =
            [("30d", 30 * 24), ("12h", 12), ("2 weeks", 14 * 24), ("P1DT1H", 25), ("1y", 365 * 24), ("1mo", 720)];
        for (text, hours) in cases {
            assert_eq!(parse_time_to_live(text).unwrap(), Duration::from_secs(hours * HOUR), "{text}");
        }
        for text in ["", "30", "soon", "-3d", "0h", "9999999999y", "1.5"] {
            let error = parse_time_to_live(text).unwrap_err();
            assert!(error.to_string().contains("30d"), "{text}: {error}");
        }
    }

    #[test]
    fn the_first_matching_rule_decides() {
        let hours = |hours: u64| Duration::from_secs(hours * HOUR);
        let policy = RetentionPolicy::default()
            .with_rule(RetentionRule::keep().of_kind(Kind::NOTE))
            .with_rule(RetentionRule::expire_after(hours(2)).of_user("lin").of_agent("kai"))
            .with_rule(RetentionRule::expire_after(hours(1)).of_tenant("acme"));
        let lin = Scope::user("lin").unwrap();
        let kai = lin.clone().with_agent("kai").unwrap();
        let acme = Scope::tenant_wide("acme").unwrap().with_user("lin").unwrap().with_session("s").unwrap();
        let expiry = |scope: &Scope, kind: Kind| {
            let mut record = record(scope, kind);
            policy.apply(&mut record);
            record.expires_at.map(|time| time.as_micros() as u64 / 1_000_000 / HOUR)
        };
        assert_eq!(expiry(&kai, Kind::TURN), Some(2));
        assert_eq!(expiry(&kai, Kind::NOTE), None);
        assert_eq!(expiry(&lin, Kind::TURN), None);
        assert_eq!(expiry(&acme, Kind::FACT), Some(1));
        assert_eq!(expiry(&kai, Kind::ledger("retraction")), None);
        let mut own = record(&kai, Kind::TURN);
        own.expires_at = Some(Timestamp::from_micros(5));
        policy.apply(&mut own);
        assert_eq!(own.expires_at, Some(Timestamp::from_micros(5)), "an expiry of its own stays");
        let mut derived = record(&kai, Kind::FACT);
        derived.derived_from = vec![own.id];
        policy.apply(&mut derived);
        assert_eq!(derived.expires_at, None);
        let invalid = RetentionPolicy::default().with_rule(RetentionRule::expire_after(Duration::ZERO));
        assert!(invalid.validate().unwrap_err().to_string().contains("1 second"));
    }

    #[test]
    fn a_derived_record_expires_with_the_earliest_source_that_is_not_pinned() {
        let lin = Scope::user("lin").unwrap();
        let expiring = |at: Option<i64>, pinned: bool| {
            let mut source = record(&lin, Kind::TURN);
            (source.expires_at, source.pinned) = (at.map(Timestamp::from_micros), pinned);
            source
        };
        let sources =
            [expiring(Some(9), false), expiring(Some(3), true), expiring(None, false), expiring(Some(7), false)];
        let mut derived = record(&lin, Kind::SUMMARY);
        inherit_expiry(&mut derived, &sources);
        assert_eq!(derived.expires_at, Some(Timestamp::from_micros(7)));
        inherit_expiry(&mut derived, &sources[1..3]);
        assert_eq!(derived.expires_at, None);
    }
}
