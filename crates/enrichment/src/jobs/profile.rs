//! Writes the profiles of people.

use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use memory_engine_core::{
    Basis, Done, Field, Filter, Job, Kind, Language, Locale, Order, Pending, PutMode, Record, RecordId, Result,
    ReviewMode, ReviewPolicy, ReviewSource, ScanQuery, Scope, State, Timestamp, Write,
    retry::{MODEL_ATTEMPTS, retry_on_conflict},
    review_keys,
};
use memory_engine_indexing::{IndexedStore, inherit_expiry};
use memory_engine_summarizer::{
    ExtractedFact, FactKind, Observed, Profile, ProfileSummarizer, RuleProfiles, is_said, user_profile_record,
};
use serde_json::json;

use super::MODEL_BATCH_SIZE;
use crate::{
    fact_book::{FactBook, person},
    handler::JobHandler,
    log::log_degraded,
};

/// Maximum number of messages that a profile is written from: the latest ones.
const MAX_MESSAGES: usize = 60;
/// Maximum number of facts that a profile is written from: the latest ones.
const MAX_FACTS: usize = 40;
/// Metadata key and value of profiles that this job wrote, unlike those of a companion or an application.
const PROFILE_MARKER: (&str, &str) = ("kept_by", "digest");
/// Maximum length of a line of facts, in characters.
const MAX_LINE_CHARS: usize = 180;

/// Writes a profile of each person, in a few lines.
#[derive(Debug)]
pub(crate) struct ProfileJob {
    pub(crate) store: Arc<IndexedStore>,
    pub(crate) facts: FactBook,
    /// `None` for the rules.
    pub(crate) writer: Option<Arc<dyn ProfileSummarizer>>,
    /// Number of new messages after which a profile is written again.
    pub(crate) every: usize,
    pub(crate) locale: Locale,
    pub(crate) review: ReviewPolicy,
}

#[async_trait]
impl JobHandler for ProfileJob {
    fn job(&self) -> Job {
        Job::Profile
    }

    async fn batch_size(&self) -> Result<Option<usize>> {
        Ok(Some(MODEL_BATCH_SIZE))
    }

    async fn run(&self, pending: &[Pending]) -> Result<Vec<Done>> {
        let people: BTreeSet<Scope> = pending.iter().map(|item| person(&item.record.scope)).collect::<Result<_>>()?;
        for person in people {
            retry_on_conflict(MODEL_ATTEMPTS, || self.update(&person)).await?;
        }
        Ok(Vec::new())
    }
}

impl ProfileJob {
    /// Writes the profile of a person if there are enough new messages, or if one of its sources is no longer active.
    async fn update(&self, person: &Scope) -> Result<()> {
        let mut turns = self.latest_turns(person, MAX_MESSAGES.max(self.every)).await?;
        let stored = self.stored_profiles(person, &turns).await?;
        let covered: BTreeSet<RecordId> =
            stored.iter().flat_map(|profile| profile.derived_from.iter().copied()).collect();
        let new = turns.iter().filter(|turn| !covered.contains(&turn.id)).count();
        let (pending, active) = split_by_state(stored);
        // A pending profile is newer than the active one. A rejected one only counts for its messages.
        let latest = if pending.is_empty() { &active } else { &pending };
        let sources: BTreeSet<RecordId> =
            latest.iter().flat_map(|profile| profile.derived_from.iter().copied()).collect();
        let is_due = new >= self.every || !self.are_all_active(person, &sources).await?;
        if !is_due || turns.is_empty() {
            return Ok(());
        }
        turns.truncate(MAX_MESSAGES);
        turns.reverse();
        let mut facts = self.facts.current(person).await?;
        facts.drain(..facts.len().saturating_sub(MAX_FACTS));
        let profile = self.write_profile(&turns, &facts).await?;
        if profile.is_empty() {
            return Ok(());
        }
        let sources: Vec<&Record> = facts.iter().chain(&turns).collect();
        let replaced = if self.is_reviewed() { pending } else { active };
        let writes = self.profile_writes(person, &profile, self.language(&turns), &sources, replaced)?;
        self.store.write(person, writes).await.map(drop)
    }

    fn is_reviewed(&self) -> bool {
        self.review.mode(ReviewSource::Profiles) == ReviewMode::Review
    }

    /// Returns the writes that replace the stored profile, or add one. Further stored profiles, which exist after a
    /// retraction was undone, become superseded.
    fn profile_writes(
        &self,
        person: &Scope,
        profile: &Profile,
        language: Language,
        sources: &[&Record],
        stored: Vec<Record>,
    ) -> Result<Vec<Write>> {
        let now = self.store.clock().now();
        let source_ids: Vec<RecordId> = sources.iter().map(|source| source.id).collect();
        let preconditions: Vec<Basis> = sources.iter().map(|source| Basis::of(source)).collect();
        let mut record = user_profile_record(profile, language, person, source_ids, self.store.clock());
        record.occurred_at = sources.iter().map(|source| source.occurred_at).max().unwrap_or(now);
        record.metadata.insert(PROFILE_MARKER.0.into(), json!(PROFILE_MARKER.1));
        inherit_expiry(&mut record, sources.iter().copied());
        let mut stored = stored.into_iter();
        let mode = match stored.next() {
            Some(old) => {
                record.id = old.id;
                PutMode::Update { revision: old.revision }
            }
            None => {
                // The id depends on the sources, so that the tombstone of a profile does not block one with other
                // sources.
                let revisions: Vec<String> =
                    preconditions.iter().map(|source| format!("{} {}", source.id, source.revision)).collect();
                record.id = RecordId::named(person, &format!("profile of {}", revisions.join(" ")));
                PutMode::IfAbsent
            }
        };
        let Some(record) = self.review.apply(ReviewSource::Profiles, record) else { return Ok(Vec::new()) };
        let write = Write { based_on: preconditions, ..Write::new(record, mode) };
        Ok([write].into_iter().chain(superseding_writes(stored, now)).collect())
    }

    /// Returns the profiles of a person that this job wrote, latest first: one that is active, unless a retraction was
    /// undone, and those that wait for a review or were rejected. Looks among the records derived from the latest
    /// turns, and then, if a profile may be due, in the whole scope.
    async fn stored_profiles(&self, person: &Scope, turns: &[Record]) -> Result<Vec<Record>> {
        let is_own = |record: &Record| {
            let is_rejected = record.metadata.get(review_keys::REJECTED) == Some(&json!(true));
            let counts = matches!(record.state, State::Active | State::Pending) || is_rejected;
            is_written_here(record) && counts && record.scope == *person
        };
        let latest: Vec<RecordId> = turns.iter().map(|turn| turn.id).collect();
        let mut profiles = self.store.get_derived(person, &latest).await?;
        profiles.retain(is_own);
        if profiles.is_empty() && turns.len() >= self.every {
            profiles = self.store.scan_all(person, written_here(), Order::NewestFirst).await?;
            profiles.retain(is_own);
        }
        profiles.sort_by_key(|profile| std::cmp::Reverse(profile.position()));
        Ok(profiles)
    }

    /// Returns the latest turns of a person, the newest first.
    async fn latest_turns(&self, person: &Scope, limit: usize) -> Result<Vec<Record>> {
        let turns = Filter::eq(Field::Kind, Kind::TURN.as_str()).and(Filter::eq(Field::State, State::Active.as_str()));
        let mut turns = self.store.scan(person, &ScanQuery::newest(limit).with_filter(turns)).await?.records;
        turns.retain(is_said);
        Ok(turns)
    }

    /// Returns true if all of these records exist and are active.
    async fn are_all_active(&self, person: &Scope, ids: &BTreeSet<RecordId>) -> Result<bool> {
        let sources = self.store.get_all(person, &ids.iter().copied().collect::<Vec<_>>()).await?;
        Ok(sources.iter().flatten().filter(|source| source.state == State::Active).count() == ids.len())
    }

    /// Returns the scopes of the people with a profile derived from one of these records.
    pub(crate) async fn people_with_profiles(&self, scope: &Scope, ids: &[RecordId]) -> Result<BTreeSet<Scope>> {
        let derived = self.store.get_derived(&scope.namespace(), ids).await?;
        Ok(derived.into_iter().filter(is_written_here).map(|profile| profile.scope).collect())
    }

    /// Queues the profiles of these people to be written again from the remaining records.
    pub(crate) async fn requeue(&self, people: &BTreeSet<Scope>) -> Result<()> {
        for person in people {
            let latest: Vec<RecordId> = self.latest_turns(person, 1).await?.iter().map(|turn| turn.id).collect();
            self.store.queue().enqueue(person, &latest, Job::Profile).await?;
        }
        Ok(())
    }

    /// Returns the language of a profile: the engine's, or that of most turns.
    fn language(&self, turns: &[Record]) -> Language {
        let texts: Vec<&str> = turns.iter().map(|turn| turn.text.as_str()).collect();
        self.locale.language_for(&texts.join(" "))
    }

    /// Writes the profile with the model; if that fails, or there is none, by rules.
    async fn write_profile(&self, turns: &[Record], facts: &[Record]) -> Result<Profile> {
        let language = self.language(turns);
        let details = [known_label(language).to_owned()];
        let known = profile_of_facts(facts, language);
        let zone = turns.iter().rev().find_map(Record::zone).unwrap_or_else(|| self.locale.zone.clone());
        let observed = Observed::new(turns, "", language).with_details(&details).with_zone(zone);
        if let Some(writer) = &self.writer {
            match writer.summarize(&observed.clone().with_profile(known.clone())).await {
                Ok(mut profile) => {
                    profile.relationship.clear();
                    return Ok(profile);
                }
                Err(error) => log_degraded("profile", Some(&error)),
            }
        }
        let by_rules = RuleProfiles.summarize(&observed).await?;
        Ok(by_rules.with_all_of(known).tidied())
    }
}

/// Returns true if a record is a profile that this job wrote.
pub(crate) fn is_written_here(record: &Record) -> bool {
    record.kind == Kind::PROFILE && record.metadata.get(PROFILE_MARKER.0) == Some(&json!(PROFILE_MARKER.1))
}

/// Returns a filter for the profiles that this job wrote.
fn written_here() -> Filter {
    let marker = Filter::eq(Field::Metadata(PROFILE_MARKER.0.into()), PROFILE_MARKER.1);
    Filter::eq(Field::Kind, Kind::PROFILE.as_str()).and(marker)
}

/// Returns the active profiles of a person that this job wrote.
pub(crate) async fn active_profiles(store: &IndexedStore, person: &Scope) -> Result<Vec<Record>> {
    let active = Filter::eq(Field::State, State::Active.as_str());
    let mut profiles = store.scan_all(person, written_here().and(active), Order::NewestFirst).await?;
    profiles.retain(|profile| profile.scope == *person);
    Ok(profiles)
}

/// Returns the writes after which another profile has superseded these.
pub(crate) fn superseding_writes(
    profiles: impl IntoIterator<Item = Record>,
    now: Timestamp,
) -> impl Iterator<Item = Write> {
    profiles.into_iter().map(move |mut profile| {
        let mode = PutMode::Update { revision: profile.revision };
        profile.state = State::Superseded;
        profile.valid_until = Some(now.max(profile.occurred_at));
        Write::new(profile, mode)
    })
}

/// Returns the pending and the active profiles. Rejected ones are left out.
fn split_by_state(profiles: Vec<Record>) -> (Vec<Record>, Vec<Record>) {
    let current = profiles.into_iter().filter(|profile| matches!(profile.state, State::Pending | State::Active));
    current.partition(|profile| profile.state == State::Pending)
}

/// Returns the label of the line with the facts that are no preferences.
fn known_label(language: Language) -> &'static str {
    language.pick("已知", "Known")
}

/// Returns a profile of the facts about the user alone, the latest first.
fn profile_of_facts(facts: &[Record], language: Language) -> Profile {
    let own = facts.iter().rev().filter_map(|record| ExtractedFact::from_record(record).map(|fact| (fact, record)));
    let own: Vec<(ExtractedFact, &Record)> = own.filter(|(fact, _)| fact.subject == ExtractedFact::USER).collect();
    let name_fact = ["nickname", "name"].iter().find_map(|slot| own.iter().find(|(fact, _)| fact.slot == *slot));
    let is_name = |fact: &ExtractedFact| matches!(fact.slot.as_str(), "nickname" | "name");
    let line = |is_included: &dyn Fn(&ExtractedFact) -> bool| {
        let included = own.iter().filter(|(fact, _)| is_included(fact) && !is_name(fact));
        join_up_to_limit(included.map(|(_, record)| record.text.as_str()))
    };
    let mut profile = Profile::default();
    profile.nickname = name_fact.map(|(fact, _)| fact.value.clone()).unwrap_or_default();
    profile.preferences = line(&|fact| fact.kind == FactKind::Preference);
    let rest = line(&|fact| fact.kind != FactKind::Preference);
    if !rest.is_empty() {
        profile.details.insert(known_label(language).to_owned(), rest);
    }
    profile
}

/// Joins the first sentences to a line of at most [`MAX_LINE_CHARS`], but at least the first one.
fn join_up_to_limit<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let mut line = String::new();
    for text in texts {
        if !line.is_empty() && line.chars().count() + text.chars().count() > MAX_LINE_CHARS {
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(text);
    }
    line
}
