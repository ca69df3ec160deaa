//! The record of a profile.

use memory_engine_core::{Clock, Kind, Language, Record, RecordId, Scope, Trust};

use super::fields::Profile;

/// Returns the record of a profile, derived from the records `sources`.
pub fn user_profile_record(
    profile: &Profile,
    language: Language,
    scope: &Scope,
    sources: Vec<RecordId>,
    clock: &dyn Clock,
) -> Record {
    let mut record = Record::new(scope.clone(), Kind::PROFILE, profile.text(language), clock);
    record.trust = Trust::Derived;
    record.derived_from = sources;
    record.metadata = profile.to_metadata();
    record
}
