//! Loads the records of a context: recent messages, key moments, the profile and related memories.

use memory_engine::{RecallQuery, context::pinned_records, recall::Degraded};
use memory_engine_context::{Action, BuiltContext, IncomingMessage};
use memory_engine_core::{Field, Filter, Kind, Record, RecordId, Result, ScanQuery, Scope, State};

use super::companion::Companion;
use crate::{layers::ContextInput, moment::MomentRule, state::CompanionState};

/// Maximum number of recent messages. When it is reached, the window is cut to [`WINDOW_MIN`]. In between it only
/// grows, so that the context keeps its beginning, which model services cache.
const WINDOW_MAX: i64 = 50;
/// Number of recent messages that stay when the window is cut.
const WINDOW_MIN: i64 = 30;
/// Maximum number of key moments in a context.
const MAX_MOMENTS: usize = 10;
/// Maximum number of pinned records in a context.
const MAX_PINNED: usize = 6;
/// Maximum number of related memories in a context.
const MAX_RELATED: usize = 12;

impl Companion {
    /// Returns the context for answering a message, with a report for each layer. Stores nothing.
    ///
    /// # Errors
    /// The errors of [`turn`](Self::turn), except for those of the model.
    pub async fn context(&self, scope: &Scope, message: &str) -> Result<BuiltContext> {
        let state = self.state(scope).await?;
        let recent = self.recent(scope, None).await?;
        let possible = self.possible_moments(&state, message, &recent);
        let possible = possible.into_iter().map(|candidate| candidate.rule).collect();
        let (built, _) = self.build(scope, &state, (message, None), &recent, possible).await?;
        Ok(built)
    }

    /// Builds the context of a message after the recent conversation. `stored_message` is its record if it is stored
    /// already; the context excludes it. Returns the context and the stages that failed.
    pub(super) async fn build(
        &self,
        scope: &Scope,
        state: &CompanionState,
        (message, stored_message): (&str, Option<&Record>),
        recent: &[Record],
        possible: Vec<&MomentRule>,
    ) -> Result<(BuiltContext, Vec<Degraded>)> {
        let mut degraded = Vec::new();
        let related = self.related(scope, state, message, stored_message, recent, &mut degraded).await;
        let mut pinned = pinned_records(&self.engine, scope, MAX_PINNED).await?;
        pinned.retain(|record| {
            // Key moments and the profile have layers of their own.
            record.kind != Kind::KEY_MOMENT
                && record.kind != Kind::PROFILE
                && recent.iter().all(|message| message.id != record.id)
                && stored_message.is_none_or(|message| message.id != record.id)
        });
        let is_pinned = |record: &Record| pinned.iter().any(|pinned| pinned.id == record.id);
        let others: Vec<Record> = related.into_iter().filter(|record| !is_pinned(record)).collect();
        let related = pinned.into_iter().chain(others).collect();
        // Some of the latest key moments may have been deleted, so more are loaded than needed.
        let first = state.key_moments.len().saturating_sub(MAX_MOMENTS * 2);
        let ids: Vec<RecordId> = state.key_moments[first..].iter().copied().chain(state.profile).collect();
        let mut found: Vec<Record> = self.engine.get_all(scope, &ids).await?.into_iter().flatten().collect();
        found.retain(|record| record.state == State::Active);
        let (profiles, mut moments): (Vec<Record>, Vec<Record>) =
            found.into_iter().partition(|record| record.kind == Kind::PROFILE);
        moments.drain(..moments.len().saturating_sub(MAX_MOMENTS));
        let profile = profiles.into_iter().next();
        let recent = recent.to_vec();
        let input = ContextInput { state: state.clone(), profile, moments, recent, related, possible };
        let built = self.pack.plan(&input, &self.zone).build(&self.counter)?;
        Ok((built, degraded))
    }

    /// Returns the last 30 to 50 messages, in order of time.
    pub(super) async fn recent(&self, scope: &Scope, stored_message: Option<&Record>) -> Result<Vec<Record>> {
        let limit = usize::try_from(WINDOW_MAX).unwrap_or(usize::MAX);
        let mut recent = self.newest(scope, limit + 1).await?;
        recent.retain(|record| stored_message.is_none_or(|stored_message| stored_message.id != record.id));
        recent.truncate(limit);
        recent.reverse();
        let step = WINDOW_MAX - WINDOW_MIN;
        let last = recent.last().and_then(|record| record.source.sequence);
        // The window advances by `step` messages at once.
        let first = last.map_or(0, |last| (last - WINDOW_MIN).max(0) / step * step + 1);
        recent.retain(|record| record.source.sequence.is_none_or(|n| n >= first));
        Ok(recent)
    }

    /// Returns the latest messages of exactly this scope, newest first.
    pub(super) async fn newest(&self, scope: &Scope, limit: usize) -> Result<Vec<Record>> {
        let levels =
            [(Field::Agent, scope.agent()), (Field::Session, scope.session()), (Field::Branch, scope.branch())];
        let unset = levels.into_iter().filter(|(_, name)| name.is_none());
        let unset = unset.map(|(field, _)| Filter::Not(Box::new(Filter::Exists(field))));
        let active_turns =
            Filter::eq(Field::Kind, Kind::TURN.as_str()).and(Filter::eq(Field::State, State::Active.as_str()));
        let query = ScanQuery::newest(limit).with_filter(unset.fold(active_turns, Filter::and));
        Ok(self.engine.scan(scope, &query).await?.records)
    }

    /// Returns earlier messages that are relevant to this one, if the rules of injection search for them.
    async fn related(
        &self,
        scope: &Scope,
        state: &CompanionState,
        message: &str,
        stored_message: Option<&Record>,
        recent: &[Record],
        degraded: &mut Vec<Degraded>,
    ) -> Vec<Record> {
        let round = state.total_messages / 2 + 1;
        let decision = self.rules.decide(&IncomingMessage { round, scene: "daily", text: message });
        let asks_for_history = matches!(
            decision.action,
            Action::Search
                | Action::SearchScene(_)
                | Action::Latest { search: true, .. }
                | Action::SameEmotion { search: true, .. }
        );
        if !asks_for_history || message.trim().is_empty() {
            return Vec::new();
        }
        // Hits that are among the recent messages are removed below.
        let limit = MAX_RELATED + recent.len().min(MAX_RELATED) + 1;
        let text = decision.search_text.as_deref().unwrap_or(message);
        let query = RecallQuery::new(text)
            .with_filter(Filter::eq(Field::Kind, Kind::TURN.as_str()))
            .with_limit(limit)
            .asked_at(self.engine.settings().clock().now(), self.zone.clone());
        match self.engine.recall(scope, query).await {
            Ok(recall) => {
                let is_in_context = |record: &Record| {
                    recent.iter().any(|r| r.id == record.id)
                        || stored_message.is_some_and(|stored_message| stored_message.id == record.id)
                };
                let found = recall.relevant().map(|hit| hit.record.clone()).filter(|record| !is_in_context(record));
                let found = found.take(MAX_RELATED).collect();
                degraded.extend(recall.degraded);
                found
            }
            Err(e) => {
                degraded.push(Degraded { stage: "related history", reason: e.to_string() });
                Vec::new()
            }
        }
    }
}
