#![doc = include_str!("../README.md")]

mod checks;
mod finding;
mod folding;
mod lazy_regex;
mod masked_values;
mod masks;
mod policy;
mod prefilter;
mod record;
mod rules;
mod screener;
mod tables;
#[cfg(test)]
mod tests;
mod value;
mod words;

pub use finding::{RecordField, RecordFinding, ScreeningFinding, ScreeningRuleId};
pub use policy::{Category, ScreeningAction, ScreeningPolicy};
pub use record::{RecordScreening, count_by_rule};
pub use rules::rule_ids;
pub use screener::{ScreenedText, Screener};
pub use value::ValuePattern;
