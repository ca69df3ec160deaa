//! The metadata keys of a fact's record.

/// The subject: the person whom the fact is about.
pub const SUBJECT: &str = "subject";
/// The slot, such as `home`.
pub const SLOT: &str = "slot";
/// The value.
pub const VALUE: &str = "value";
/// `positive` or `negative`.
pub const POLARITY: &str = "polarity";
/// `single` or `many`.
pub const CARDINALITY: &str = "cardinality";
/// `preference`, `fact` or `state`.
pub const TYPE: &str = "type";
/// The quotations: a list parallel to `derived_from`.
pub const QUOTES: &str = "quotes";
/// The stated end. `valid_until` of the record is earlier if a newer fact superseded it.
pub const STATED_UNTIL: &str = "stated_until";
/// The fact that it repeats.
pub const MERGED_INTO: &str = "merged_into";
/// The newer fact that superseded it.
pub const SUPERSEDED_BY: &str = "superseded_by";
/// The facts that repeat it: a list of ids.
pub const CONFIRMED_BY: &str = "confirmed_by";
/// The id of the rule that made it; `model` for a model.
pub const RULE: &str = "rule";
/// The fact that a person corrected with this one.
pub const CORRECTS: &str = "corrects";
