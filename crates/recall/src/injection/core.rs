//! The core: the memories of a user that belong in every prompt, within a small number of tokens.

use memory_engine_context::{EstimatedTokens, TokenCounter};
use memory_engine_core::{
    Error, Field, Filter, FilterValue, Kind, Record, Result, Scope, State, Timestamp, Trust, enum_names, fact_keys,
};
use serde::{Deserialize, Serialize};

use super::pinned::{MAX_PINNED, pinned_filter};
use crate::pipeline::RecallPipeline;

/// Maximum number of facts that each of the two scans reads, the newest first.
const MAX_FACTS: usize = 300;
/// The subject of facts about the user. Those about a relative are `user.sister` and the like.
const USER: &str = "user";

/// The reason why a memory belongs to the core, the most important one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CoreClass {
    /// A person has pinned it.
    Pinned,
    /// An allergy, an illness, a medicine or a diet of the user.
    Health,
    /// A lasting wish about how to answer, or what the user asked to remember.
    Wish,
    /// Name, language and home of the user.
    Identity,
    /// An allergy or an illness of a person close to the user.
    OthersHealth,
    /// People and animals close to the user.
    People,
}

enum_names! {
    CoreClass, "class of the core" {
        Pinned => "pinned",
        Health => "health",
        Wish => "wish",
        Identity => "identity",
        OthersHealth => "others_health",
        People => "people",
    }
}

/// The slots of facts of the core. `family` stands for `family.wife` and the like, too.
const HEALTH: &[&str] = &["allergy", "health", "medicine", "diet"];
/// Slots of limits if they are denied: "does not eat pork" is a limit, and "eats pork" is none.
const HEALTH_IF_DENIED: &[&str] = &["eat", "drink"];
const WISHES: &[&str] = &["wish", "remembered"];
const IDENTITY: &[&str] = &["name", "nickname", "language", "home"];
const PEOPLE: &[&str] = &["family", "relationship", "kin", "pet"];

/// The memories of a user that belong in every prompt: pinned memories, and facts of certain slots, such as allergies.
///
/// Pinned memories come first, then the classes of [`CoreClass`]. Within a class, what the user said ranks before what
/// a model or a tool said, then what was confirmed more often, then what is newer. Memories are taken in this order as
/// long as they fit into the limit of tokens; one that does not fit is skipped.
///
/// ```
/// use memory_engine::{EnrichmentOptions, MemoryEngine, Scope, Turn, context::Core};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let memory = MemoryEngine::builder().in_memory().enrichment(EnrichmentOptions::rules()?).build().await?;
/// let lin = Scope::user("lin")?;
/// memory.remember(&lin, Turn::user("I'm allergic to shellfish, by the way. How was your day?")).await?;
/// memory.drain(&lin, |_| ()).await?;
/// let core = Core::load(&memory, &lin, None, 120).await?;
/// assert_eq!(core.entries[0].record.text, "The user is allergic to shellfish.");
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct Core {
    /// The memories by rank, also those that do not fit.
    pub entries: Vec<CoreEntry>,
}

/// A memory that belongs to the core.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct CoreEntry {
    /// The record.
    pub record: Record,
    /// The reason why it belongs to the core.
    pub class: CoreClass,
    /// Estimated number of tokens of its text.
    pub tokens: usize,
    /// True if it fits into the limit.
    pub included: bool,
}

impl Core {
    /// Reads the core of `scope` as it is visible from a scene; of all scenes without one.
    ///
    /// # Errors
    /// The store's error.
    pub async fn load(
        engine: &impl AsRef<RecallPipeline>,
        scope: &Scope,
        scene: Option<&str>,
        max_tokens: usize,
    ) -> Result<Self> {
        let visible = scene.and_then(|scene| engine.as_ref().parts().scene_policy.filter(scene));
        let newest = async |filter: Filter, limit: usize| {
            let filter = visible.iter().cloned().fold(filter, Filter::and);
            engine.as_ref().newest(scope, filter, limit).await
        };
        let mut records = newest(pinned_filter(), MAX_PINNED).await?;
        let is_fact = Filter::eq(Field::Kind, Kind::FACT.as_str());
        let is_fact =
            is_fact.and(Filter::eq(Field::State, State::Active.as_str())).and(Filter::eq(Field::Pinned, false));
        // Slots with a part after a dot cannot be listed. A user has few of them, and they are less important.
        let slots = [HEALTH, HEALTH_IF_DENIED, WISHES, IDENTITY].concat();
        let slots = slots.into_iter().map(|slot| FilterValue::Text(slot.to_owned())).collect();
        let is_important = Filter::In(Field::Metadata(fact_keys::SLOT.into()), slots);
        let mut facts = newest(is_fact.clone().and(is_important), MAX_FACTS).await?;
        facts.extend(newest(is_fact, MAX_FACTS).await?);
        records.extend(facts);
        Ok(Self::ranked(records, engine.as_ref().parts().store.clock().now(), max_tokens))
    }

    /// Classifies and ranks records, and marks those that fit.
    pub(super) fn ranked(records: Vec<Record>, now: Timestamp, max_tokens: usize) -> Self {
        let mut classified: Vec<(CoreClass, Record)> = Vec::new();
        for record in records {
            let is_current = record.valid_until.is_none_or(|until| now < until);
            let is_new = classified.iter().all(|(_, known)| known.id != record.id && known.text != record.text);
            if let Some(class) = class_of(&record).filter(|_| is_current && is_new) {
                classified.push((class, record));
            }
        }
        classified.sort_by_key(|(class, record)| {
            let is_said_by_user = matches!(record.trust, Trust::User | Trust::Derived);
            let confirmations = record.metadata.get(fact_keys::CONFIRMED_BY).and_then(serde_json::Value::as_array);
            let confirmations = confirmations.map_or(0, Vec::len);
            (*class, std::cmp::Reverse((is_said_by_user, confirmations, record.position())))
        });
        let mut remaining = max_tokens;
        let entries = classified.into_iter().map(|(class, record)| {
            let tokens = EstimatedTokens.count(&record.text);
            let included = tokens <= remaining;
            if included {
                remaining -= tokens;
            }
            CoreEntry { record, class, tokens, included }
        });
        Self { entries: entries.collect() }
    }

    /// Returns the memories that fit into the limit, by rank.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.entries.iter().filter(|entry| entry.included).map(|entry| &entry.record)
    }
}

/// Returns the class of a record, or `None` if it does not belong to the core.
fn class_of(record: &Record) -> Option<CoreClass> {
    if record.pinned {
        return Some(CoreClass::Pinned);
    }
    let text = |key: &str| record.metadata.get(key).and_then(serde_json::Value::as_str).unwrap_or_default();
    let slot = text(fact_keys::SLOT);
    let subject = text(fact_keys::SUBJECT);
    let is_positive = text(fact_keys::POLARITY) != "negative";
    let is_of = |slots: &[&str]| slots.contains(&slot.split('.').next().unwrap_or_default());
    let is_limit = if is_positive { is_of(HEALTH) } else { is_of(HEALTH_IF_DENIED) };
    if subject != USER {
        let is_close = subject.strip_prefix(USER).is_some_and(|relative| relative.starts_with('.'));
        return (is_close && is_limit).then_some(CoreClass::OthersHealth);
    }
    if is_limit {
        return Some(CoreClass::Health);
    }
    let classes = [(WISHES, CoreClass::Wish), (IDENTITY, CoreClass::Identity), (PEOPLE, CoreClass::People)];
    classes.into_iter().find(|(slots, _)| is_positive && is_of(slots)).map(|(_, class)| class)
}
