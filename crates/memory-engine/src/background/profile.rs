//! What is known of each user, in a few lines.

use std::{collections::BTreeSet, sync::Arc};

use memory_engine_companion::{Observed, Profile, ProfileSummarizer, RuleProfiles, user_profile_record};
use memory_engine_core::{
    Basis, ErrorKind, Field, Filter, Job, Kind, Order, Pending, PutMode, Record, RecordId, Result, ScanQuery, Scope,
    State, Write,
};
use memory_engine_summarizer::{Fact, FactKind, Language, is_said};
use serde_json::json;

use super::{facts::person, told};
use crate::MemoryEngine;

/// How many of the latest messages a profile is made from, and how many facts.
const RECENT: usize = 60;
const FACTS: usize = 40;
/// How often it is tried anew when somebody else writes what it is made from.
const TRIES: usize = 5;
/// What tells these profiles from those that a companion or an application keeps.
const KEPT_BY: (&str, &str) = ("kept_by", "digest");
/// Of how many characters the facts in a line are, about.
const LINE: usize = 180;

/// Who keeps profiles, and how often they are made anew.
#[derive(Debug, Clone)]
pub(crate) struct ProfileKeeper {
    /// `None` for the rules.
    pub(crate) writer: Option<Arc<dyn ProfileSummarizer>>,
    /// After so many messages.
    pub(crate) every: usize,
}

impl MemoryEngine {
    /// Makes the profiles of those anew who said these things, where it is time.
    pub(super) async fn keep_profiles(&self, keeper: &ProfileKeeper, pending: &[Pending]) -> Result<()> {
        let people: BTreeSet<Scope> = pending.iter().map(|one| person(&one.record.scope)).collect::<Result<_>>()?;
        for person in people {
            let mut tries = 0;
            loop {
                match self.keep_profile(keeper, &person).await {
                    Err(error) if error.kind() == ErrorKind::Conflict && tries < TRIES => tries += 1,
                    outcome => break outcome?,
                }
            }
        }
        Ok(())
    }

    /// Makes one profile anew if enough was said that it does not cover, or if something that it was made from holds no more.
    async fn keep_profile(&self, keeper: &ProfileKeeper, person: &Scope) -> Result<()> {
        let mut turns = self.latest_turns(person, RECENT.max(keeper.every)).await?;
        let kept = self.kept_profiles(person, &turns, keeper.every).await?;
        let covered: BTreeSet<RecordId> =
            kept.iter().flat_map(|profile| profile.derived_from.iter().copied()).collect();
        let new = turns.iter().filter(|turn| !covered.contains(&turn.id)).count();
        let due = new >= keeper.every || !self.all_hold(person, &covered).await?;
        if !due || turns.is_empty() {
            return Ok(());
        }
        turns.truncate(RECENT);
        turns.reverse();
        let mut facts = self.facts(person).await?;
        facts.drain(..facts.len().saturating_sub(FACTS));
        let profile = write_profile(keeper, &turns, &facts).await?;
        if profile.is_empty() {
            return Ok(());
        }
        let sources: Vec<&Record> = facts.iter().chain(&turns).collect();
        let writes = self.profile_writes(person, &profile, language(&turns).1, &sources, kept)?;
        self.write(person, writes).await.map(drop)
    }

    /// The profile in the place of the one that was kept, or as a new record; what is there beside it, as after a restored
    /// retraction, makes way.
    fn profile_writes(
        &self,
        person: &Scope,
        profile: &Profile,
        language: memory_engine_companion::Language,
        sources: &[&Record],
        kept: Vec<Record>,
    ) -> Result<Vec<Write>> {
        let now = self.clock().now();
        let made_from: Vec<RecordId> = sources.iter().map(|source| source.id).collect();
        let based_on: Vec<Basis> = sources.iter().map(|source| Basis::of(source)).collect();
        let mut record = user_profile_record(profile, language, person, made_from, self.clock());
        record.occurred_at = sources.iter().map(|source| source.occurred_at).max().unwrap_or(now);
        record.metadata.insert(KEPT_BY.0.into(), json!(KEPT_BY.1));
        let mut kept = kept.into_iter();
        let mode = match kept.next() {
            Some(old) => {
                record.id = old.id;
                PutMode::Update { revision: old.revision }
            }
            None => {
                // By what it was made from: the one that was withdrawn does not keep away what is made of the rest.
                let from: Vec<String> =
                    based_on.iter().map(|basis| format!("{} {}", basis.id, basis.revision)).collect();
                record.id = RecordId::named(person, &format!("profile of {}", from.join(" ")));
                PutMode::IfAbsent
            }
        };
        let mut writes = vec![Write { based_on, ..Write::new(record, mode) }];
        for mut old in kept {
            let mode = PutMode::Update { revision: old.revision };
            (old.state, old.valid_until) = (State::Superseded, Some(now.max(old.occurred_at)));
            writes.push(Write::new(old, mode));
        }
        Ok(writes)
    }

    /// The profiles that the background keeps of a person: one, but for what was restored. Looked for among what was made from the
    /// latest turns, and everywhere where it may have to be made anew.
    async fn kept_profiles(&self, person: &Scope, turns: &[Record], every: usize) -> Result<Vec<Record>> {
        let mine = |record: &Record| is_kept(record) && record.state == State::Active && record.scope == *person;
        let latest: Vec<RecordId> = turns.iter().map(|turn| turn.id).collect();
        let made = self.records().derived(person, &latest).await?;
        let mut kept: Vec<Record> = self.get_all(person, &made).await?.into_iter().flatten().filter(mine).collect();
        if kept.is_empty() && turns.len() >= every {
            let filter = Filter::eq(Field::Kind, Kind::PROFILE.as_str())
                .and(Filter::eq(Field::State, State::Active.as_str()))
                .and(Filter::eq(Field::Metadata(KEPT_BY.0.into()), KEPT_BY.1));
            kept = self.scan_all(person, filter, Order::NewestFirst).await?;
            kept.retain(mine);
        }
        kept.sort_by_key(|profile| std::cmp::Reverse(profile.position()));
        Ok(kept)
    }

    /// The latest that a person said and was told, the newest first.
    async fn latest_turns(&self, person: &Scope, limit: usize) -> Result<Vec<Record>> {
        let turns = Filter::eq(Field::Kind, Kind::TURN.as_str()).and(Filter::eq(Field::State, State::Active.as_str()));
        let mut turns = self.scan(person, &ScanQuery::newest(limit).with_filter(turns)).await?.records;
        turns.retain(is_said);
        Ok(turns)
    }

    async fn all_hold(&self, person: &Scope, ids: &BTreeSet<RecordId>) -> Result<bool> {
        let sources = self.get_all(person, &ids.iter().copied().collect::<Vec<_>>()).await?;
        Ok(sources.iter().flatten().filter(|source| source.state == State::Active).count() == ids.len())
    }

    /// Whether a record is a profile that this engine keeps.
    pub(crate) fn keeps_profile(&self, record: &Record) -> bool {
        self.digest().keeper().is_some() && is_kept(record)
    }

    /// Whose profiles go with these records, if this engine keeps any.
    pub(crate) async fn are_profiles_among(&self, scope: &Scope, ids: &[RecordId]) -> Result<BTreeSet<Scope>> {
        if self.digest().keeper().is_none() {
            return Ok(BTreeSet::new());
        }
        let user = scope.namespace();
        let made = self.records().derived(&user, ids).await?;
        let made = self.get_all(&user, &made).await?.into_iter().flatten();
        Ok(made.filter(is_kept).map(|profile| profile.scope).collect())
    }

    /// Has the profiles of these people made anew from what is left.
    pub(crate) async fn renew_profiles(&self, people: &BTreeSet<Scope>) -> Result<()> {
        for person in people {
            let latest: Vec<RecordId> = self.latest_turns(person, 1).await?.iter().map(|turn| turn.id).collect();
            self.jobs().enqueue(person, &latest, Job::Profile).await?;
        }
        self.wake();
        Ok(())
    }
}

fn is_kept(record: &Record) -> bool {
    record.kind == Kind::PROFILE && record.metadata.get(KEPT_BY.0) == Some(&json!(KEPT_BY.1))
}

/// The profile by whoever is to write it; where that fails, and where there is nobody, by the rules.
async fn write_profile(keeper: &ProfileKeeper, turns: &[Record], facts: &[Record]) -> Result<Profile> {
    let (rules, language) = language(turns);
    let details = [known_label(rules).to_owned()];
    let known = known(facts, rules);
    let observed = Observed::new(turns, "", language).with_details(&details);
    if let Some(writer) = &keeper.writer {
        match writer.summarize(&observed.clone().with_profile(known.clone())).await {
            Ok(mut profile) => {
                profile.relationship.clear();
                return Ok(profile);
            }
            Err(error) => told("profile", Some(&error)),
        }
    }
    let said = RuleProfiles.summarize(&observed).await?;
    Ok(said.with_all_of(known).tidied())
}

/// The language in which a person writes, as rules and as headings have it.
fn language(turns: &[Record]) -> (Language, memory_engine_companion::Language) {
    let said: Vec<&str> = turns.iter().map(|turn| turn.text.as_str()).collect();
    match Language::of(&said.join(" ")) {
        Language::Chinese => (Language::Chinese, memory_engine_companion::Language::Chinese),
        Language::English => (Language::English, memory_engine_companion::Language::English),
    }
}

fn known_label(language: Language) -> &'static str {
    match language {
        Language::Chinese => "已知",
        Language::English => "Known",
    }
}

/// What the facts say of the user themselves, the latest first.
fn known(facts: &[Record], language: Language) -> Profile {
    let own = facts.iter().rev().filter_map(|record| Fact::from_record(record).map(|fact| (fact, record)));
    let own: Vec<(Fact, &Record)> = own.filter(|(fact, _)| fact.subject == Fact::USER).collect();
    let named = ["nickname", "name"].iter().find_map(|slot| own.iter().find(|(fact, _)| fact.slot == *slot));
    let is_name = |fact: &Fact| matches!(fact.slot.as_str(), "nickname" | "name");
    let line = |wanted: &dyn Fn(&Fact) -> bool| {
        let texts =
            own.iter().filter(|(fact, _)| wanted(fact) && !is_name(fact)).map(|(_, record)| record.text.as_str());
        joined(texts)
    };
    let mut profile = Profile::default();
    profile.nickname = named.map(|(fact, _)| fact.value.clone()).unwrap_or_default();
    profile.preferences = line(&|fact| fact.kind == FactKind::Preference);
    let rest = line(&|fact| fact.kind != FactKind::Preference);
    if !rest.is_empty() {
        profile.details.insert(known_label(language).to_owned(), rest);
    }
    profile
}

/// As many of these sentences as go on a line, one of them at the least.
fn joined<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let mut line = String::new();
    for text in texts {
        if !line.is_empty() && line.chars().count() + text.chars().count() > LINE {
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(text);
    }
    line
}
