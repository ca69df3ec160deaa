//! Screening of records before they are stored: secrets are masked or refused.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use memory_engine_core::{Error, Record, Result, Scope, Write, audit::AuditContext, observe::count_screened};
use memory_engine_screening::{Category, RecordFinding, RecordScreening, Screener, ScreeningAction, count_by_rule};

use crate::{
    blocking::run_blocking,
    kept_out::{KeptOutValue, mask_kept_out},
    store::IndexedStore,
};

/// Maximum size of the texts of a write that are screened on the calling thread, in bytes. A switch of threads would
/// take longer.
const INLINE_MAX_BYTES: usize = 1 << 15;

impl IndexedStore {
    /// Sets the time zone of a new record that has none: the one that the client has named, or the engine's. UTC is
    /// not set: it is also the zone of an engine that does not know its users'.
    pub fn set_zone(&self, record: &mut Record) {
        let context = AuditContext::current();
        let zone = context.zone().unwrap_or_else(|| self.analysis().zone());
        if *zone != TimeZone::UTC && !record.metadata.contains_key(Record::ZONE_KEY) {
            record.set_zone(zone);
        }
    }

    /// Checks a new record, sets its time zone, and masks its secrets and the values that are kept out as
    /// [`write`](Self::write) does, for callers that compare it with a stored record.
    /// [`write_screened`](Self::write_screened) writes it without another pass.
    ///
    /// # Errors
    /// As [`check`](Self::check), and the store's error.
    pub async fn screen(&self, record: &mut Record) -> Result<()> {
        self.check_fields(record)?;
        self.set_zone(record);
        let kept_out = self.kept_out(&record.scope.namespace()).await?;
        let mut is_changed = mask_kept_out(&kept_out, record);
        if let Some(screener) = self.screener() {
            let screening = screen_record(screener, record);
            report(&screening);
            refuse(&screening, None)?;
            is_changed |= !screening.is_clean();
        }
        if is_changed { record.validate() } else { Ok(()) }
    }

    /// Masks secrets in a text as [`write`](Self::write) does, for callers that compare it with a stored text.
    pub fn screened_text(&self, text: String) -> String {
        match self.screener() {
            Some(screener) => screener.screen(&text).text.into_owned(),
            None => text,
        }
    }

    /// As [`screened_text`](Self::screened_text), also with the values masked that are kept out of a scope.
    ///
    /// # Errors
    /// The store's error.
    pub async fn masked_text(&self, scope: &Scope, mut text: String) -> Result<String> {
        for value in self.kept_out(&scope.namespace()).await?.iter().filter(|value| value.entry.scope.covers(scope)) {
            value.pattern.mask(&mut text);
        }
        Ok(self.screened_text(text))
    }

    /// Returns an error if the screening refuses a record.
    ///
    /// # Errors
    /// `InvalidInput`, with the field and the rule.
    pub(crate) fn check_screening(&self, record: &Record) -> Result<()> {
        let Some(screener) = self.screener() else { return Ok(()) };
        let refuses = |category: &Category| screener.policy().action(*category) == ScreeningAction::Refuse;
        if !Category::ALL.iter().any(refuses) {
            return Ok(());
        }
        let screening = screen_record(screener, &mut record.clone());
        report_refused(&screening);
        refuse(&screening, None)
    }

    /// Masks the secrets in the records of writes, and the values that are kept out of them. A record that changes
    /// loses its vector, which was computed from the secret, too.
    ///
    /// # Errors
    /// `InvalidInput` if the screening refuses a record; `Internal` if the thread stops without a result.
    pub(crate) async fn screen_writes(&self, mut writes: Vec<Write>) -> Result<Vec<Write>> {
        let kept_out = self.kept_out_of(&writes).await?;
        let screener = self.screener().cloned();
        if screener.is_none() && kept_out.is_empty() {
            return Ok(writes);
        }
        let bytes: usize = writes.iter().map(|write| write.record.text.len()).sum();
        if bytes <= INLINE_MAX_BYTES {
            screen_all(screener.as_deref(), &kept_out, &mut writes)?;
            return Ok(writes);
        }
        run_blocking("screen", move || screen_all(screener.as_deref(), &kept_out, &mut writes).map(|()| writes)).await?
    }
}

/// Masks the secrets in a record: one pass of the rules over its texts.
fn screen_record(screener: &Screener, record: &mut Record) -> RecordScreening {
    tracing::trace!("a record is screened");
    screener.screen_record(record)
}

fn screen_all(screener: Option<&Screener>, kept_out: &[KeptOutValue], writes: &mut [Write]) -> Result<()> {
    let count = writes.len();
    let mut masked = Vec::new();
    for (index, write) in writes.iter_mut().enumerate() {
        if mask_kept_out(kept_out, &mut write.record) {
            write.record.validate()?;
            write.embedding = None;
        }
        let Some(screener) = screener else { continue };
        let screening = screen_record(screener, &mut write.record);
        if screening.is_clean() {
            continue;
        }
        report_refused(&screening);
        refuse(&screening, (count > 1).then_some((index, count)))?;
        write.record.validate()?;
        write.embedding = None;
        masked.extend(screening.masked);
    }
    report_masked(&masked);
    Ok(())
}

/// Returns the error for findings that are refused. In a batch, it names the record by its position.
fn refuse(screening: &RecordScreening, position: Option<(usize, usize)>) -> Result<()> {
    let Some(reason) = screening.refusal() else { return Ok(()) };
    let message = match position {
        Some((index, count)) => format!("record {} of {count}: {reason}", index + 1),
        None => reason,
    };
    Err(Error::invalid("record", message))
}

fn report(screening: &RecordScreening) {
    report_refused(screening);
    report_masked(&screening.masked);
}

fn report_refused(screening: &RecordScreening) {
    count(&screening.refused, ScreeningAction::Refuse);
}

/// Counts and logs the findings that were masked, by their rules.
fn report_masked(masked: &[RecordFinding]) {
    if masked.is_empty() {
        return;
    }
    count(masked, ScreeningAction::Mask);
    let counts = count_by_rule(masked);
    let rules: Vec<String> = counts.iter().map(|(rule, count)| format!("{rule}={count}")).collect();
    tracing::info!(findings = masked.len(), rules = rules.join(","), "secrets in records were masked");
}

fn count(findings: &[RecordFinding], action: ScreeningAction) {
    let mut counts: BTreeMap<Category, u64> = BTreeMap::new();
    for finding in findings {
        *counts.entry(finding.category).or_default() += 1;
    }
    for (category, count) in counts {
        count_screened(category.as_str(), action.as_str(), count);
    }
}
