//! Facts that cannot both hold.

use memory_engine_core::{Record, Timestamp};
use memory_engine_summarizer::{Cardinality, ExtractedFact, Polarity};

/// Returns true if two facts about the same attribute of a person cannot both hold: they give different values of an
/// attribute that has one value at a time, or one of them denies what the other states. Facts with separate times of
/// validity do not contradict each other. The states of the records do not matter.
///
/// A newer fact usually supersedes the one that it contradicts. Both stay if the older one is pinned, if one of them
/// waits for a review, or if they belong to different agents or branches.
///
/// ```
/// use memory_engine::{EnrichmentOptions, MemoryEngine, Scope, facts::contradict};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let memory = MemoryEngine::builder().in_memory().enrichment(EnrichmentOptions::rules()?).build().await?;
/// let (lin, coach) = (Scope::user("lin")?, Scope::user("lin")?.with_agent("coach")?);
/// memory.remember(&lin, "I live in Porto.").await?;
/// memory.remember(&coach, "I live in Lisbon.").await?;
/// memory.drain(&lin, |_| ()).await?;
///
/// let facts = memory.facts(&lin).attribute("home").records().await?;
/// assert!(contradict(&facts[0], &facts[1]));
/// assert!(!contradict(&facts[0], &facts[0]));
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
pub fn contradict(first: &Record, second: &Record) -> bool {
    if first.id == second.id || first.scope.namespace() != second.scope.namespace() {
        return false;
    }
    let (Some(one), Some(other)) = (ExtractedFact::from_record(first), ExtractedFact::from_record(second)) else {
        return false;
    };
    let is_same_attribute = one.subject == other.subject && one.slot == other.slot;
    let overlap = starts_before_end(&one, second.valid_until) && starts_before_end(&other, first.valid_until);
    is_same_attribute
        && overlap
        && match (one.polarity, other.polarity) {
            (Polarity::Positive, Polarity::Positive) => gives_another_value(&one, &other),
            (Polarity::Positive, Polarity::Negative) => denies(&other, &one),
            (Polarity::Negative, Polarity::Positive) => denies(&one, &other),
            (Polarity::Negative, Polarity::Negative) => false,
        }
}

fn starts_before_end(fact: &ExtractedFact, end: Option<Timestamp>) -> bool {
    end.is_none_or(|end| fact.begins() < end)
}

/// Returns true if the values of an attribute with one value differ. "Shanghai" and "Shanghai Pudong" do not differ,
/// and a value for a stated time ("Berlin this week") does not contradict one without an end.
fn gives_another_value(one: &ExtractedFact, other: &ExtractedFact) -> bool {
    let (key, other_key) = (one.value_key(), other.value_key());
    let is_single = [one, other].iter().all(|fact| fact.cardinality == Cardinality::Single);
    let are_alike = one.valid_until.is_some() == other.valid_until.is_some();
    is_single && are_alike && !key.contains(&other_key) && !other_key.contains(&key)
}

fn denies(denial: &ExtractedFact, statement: &ExtractedFact) -> bool {
    denial.value == ExtractedFact::ANY || denial.value_key() == statement.value_key()
}

#[cfg(test)]
mod tests;
