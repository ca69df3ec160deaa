//! The record of a profile.

use memory_engine_core::{Clock, Kind, Language, Record, RecordId, Scope, Trust};

use super::fields::Profile;

/// Returns the record of a profile, derived from the records `made_from`.
pub fn user_profile_record(
    profile: &Profile,
    language: Language,
    scope: &Scope,
    made_from: Vec<RecordId>,
    clock: &dyn Clock,
) -> Record {
    let mut record = Record::new(scope.clone(), Kind::PROFILE, profile.text(language), clock);
    record.trust = Trust::Derived;
    record.derived_from = made_from;
    record.metadata = profile.to_metadata();
    record
}
