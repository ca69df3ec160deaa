//! What a context is made of.

use memory_engine::{RecallQuery, recall::Degraded};
use memory_engine_context::{Action, BuiltContext, Message};
use memory_engine_core::{Field, Filter, Kind, Record, RecordId, Result, ScanQuery, Scope, State};

use super::companion::Companion;
use crate::{layers::Material, moment::MomentRule, state::CompanionState};

/// How many messages of the recent conversation there are at the most, and how many stay when the window moves on.
/// Between the two it only grows, so that the context begins with the same bytes for that long.
const WINDOW: (i64, i64) = (50, 30);
/// How many key moments are told.
const MOMENTS: usize = 10;
/// How many memories are looked for.
const RELATED: usize = 12;

impl Companion {
    /// The context that a message would be answered with, and what each layer took. Stores nothing.
    ///
    /// # Errors
    /// As [`turn`](Self::turn), but for the model's.
    pub async fn context(&self, scope: &Scope, message: &str) -> Result<BuiltContext> {
        let state = self.state(scope).await?;
        let possible = self.possible_moment(&state, message);
        let (built, _, _) = self.build(scope, &state, message, None, possible).await?;
        Ok(built)
    }

    /// Builds the context of a message. `but` is the message itself, where it is stored already. Gives with it the
    /// recent conversation and what did not work.
    pub(super) async fn build(
        &self,
        scope: &Scope,
        state: &CompanionState,
        message: &str,
        but: Option<&Record>,
        possible: Option<&MomentRule>,
    ) -> Result<(BuiltContext, Vec<Record>, Vec<Degraded>)> {
        let recent = self.recent(scope, but).await?;
        let mut degraded = Vec::new();
        let related = self.related(scope, state, message, but, &recent, &mut degraded).await;
        let first = state.key_moments.len().saturating_sub(MOMENTS * 2);
        let ids: Vec<RecordId> = state.key_moments[first..].iter().copied().chain(state.profile).collect();
        let mut found: Vec<Record> = self.engine.get_all(scope, &ids).await?.into_iter().flatten().collect();
        found.retain(|record| record.state == State::Active);
        let (profiles, mut moments): (Vec<Record>, Vec<Record>) =
            found.into_iter().partition(|r| r.kind == Kind::PROFILE);
        moments.drain(..moments.len().saturating_sub(MOMENTS));
        let profile = profiles.into_iter().next();
        let material = Material { state: state.clone(), profile, moments, recent: recent.clone(), related, possible };
        let built = self.pack.plan(&material, &self.zone).build(&self.counter)?;
        Ok((built, recent, degraded))
    }

    /// The last 30 to 50 messages, in the order of time.
    async fn recent(&self, scope: &Scope, but: Option<&Record>) -> Result<Vec<Record>> {
        let most = usize::try_from(WINDOW.0).unwrap_or(usize::MAX);
        let mut recent = self.newest(scope, most + 1).await?;
        recent.retain(|record| but.is_none_or(|but| but.id != record.id));
        recent.truncate(most);
        recent.reverse();
        let step = WINDOW.0 - WINDOW.1;
        let last = recent.last().and_then(|record| record.source.sequence);
        let first = last.map_or(0, |last| (last - WINDOW.1).max(0) / step * step + 1);
        recent.retain(|record| record.source.sequence.is_none_or(|n| n >= first));
        Ok(recent)
    }

    /// The latest messages at this very address, the newest first.
    pub(super) async fn newest(&self, scope: &Scope, limit: usize) -> Result<Vec<Record>> {
        let here = [(Field::Agent, scope.agent()), (Field::Session, scope.session()), (Field::Branch, scope.branch())];
        let unset = here.into_iter().filter(|(_, name)| name.is_none());
        let unset = unset.map(|(field, _)| Filter::Not(Box::new(Filter::Exists(field))));
        let said = Filter::eq(Field::Kind, Kind::TURN.as_str()).and(Filter::eq(Field::State, State::Active.as_str()));
        let query = ScanQuery::newest(limit).with_filter(unset.fold(said, Filter::and));
        Ok(self.engine.scan(scope, &query).await?.records)
    }

    /// What else was said that the message is about, where it asks for that; nothing, where it does not.
    async fn related(
        &self,
        scope: &Scope,
        state: &CompanionState,
        message: &str,
        but: Option<&Record>,
        recent: &[Record],
        degraded: &mut Vec<Degraded>,
    ) -> Vec<Record> {
        let round = state.total_messages / 2 + 1;
        let decision = self.rules.decide(&Message { round, scene: "daily", text: message });
        let asks_for_history = match decision.action {
            Action::Search | Action::SearchScene(_) | Action::Latest { search: true, .. } => true,
            Action::Latest { search: false, .. } | Action::SameEmotion { .. } | Action::Nothing => false,
        };
        if !asks_for_history || message.trim().is_empty() {
            return Vec::new();
        }
        // As many more as may be in the context already.
        let limit = RELATED + recent.len().min(RELATED) + 1;
        let text = decision.search_text.as_deref().unwrap_or(message);
        let query = RecallQuery::new(text)
            .with_filter(Filter::eq(Field::Kind, Kind::TURN.as_str()))
            .with_limit(limit)
            .asked_at(self.engine.clock().now(), self.zone.clone());
        match self.engine.recall(scope, query).await {
            Ok(recall) => {
                let known = |record: &Record| {
                    recent.iter().any(|r| r.id == record.id) || but.is_some_and(|but| but.id == record.id)
                };
                let found = recall.relevant().map(|hit| hit.record.clone()).filter(|record| !known(record));
                let found = found.take(RELATED).collect();
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
