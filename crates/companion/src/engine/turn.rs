//! A turn: eight steps from the user's message to the reply.

use memory_engine::recall::Degraded;
use memory_engine_context::BuiltContext;
use memory_engine_core::retry::{WRITE_ATTEMPTS, retry_on, retry_on_conflict};
use memory_engine_core::{
    Basis, Error, ErrorKind, Kind, PutMode, Record, RecordId, Result, Role, Scope, Timestamp, Trust, Write,
};
use memory_engine_llm::{ChatRequest, Message, Usage};
use serde_json::{Value, json};

use super::{
    companion::Companion,
    message::{TurnReply, UserMessage},
    profile::CHANGED,
};
use crate::{
    affection::{AffectionChange, AffectionReason},
    moment::{FILTER_EARLIER_MESSAGES, MomentCandidate, MomentOutcome, MomentRule},
    record::moment_record,
    reply::ReplyFilter,
    state::CompanionState,
    verdict::MomentVerdict,
};

/// A turn whose message is stored, up to the model's reply.
#[derive(Debug, Clone)]
pub(super) struct StartedTurn {
    pub(super) scope: Scope,
    pub(super) message: Record,
    state: CompanionState,
    changes: Vec<AffectionChange>,
    /// The earlier reply, if the message was answered before.
    pub(super) answered: Option<Record>,
}

/// A turn whose request is ready for the model.
#[derive(Debug)]
pub(super) struct PreparedTurn {
    started: StartedTurn,
    pub(super) request: ChatRequest,
    possible: Vec<PossibleMoment>,
    context: BuiltContext,
    recent: Vec<Record>,
    degraded: Vec<Degraded>,
}

/// The key moment that a turn may trigger.
#[derive(Debug)]
struct PossibleMoment {
    rule: MomentRule,
    /// Number of messages from the earliest one with a word of the rule to the user's message.
    messages_back: usize,
}

/// The reply of the model.
#[derive(Debug, Default)]
pub(super) struct ModelReply {
    pub(super) text: String,
    pub(super) verdict: Option<String>,
    pub(super) usage: Option<Usage>,
}

impl Companion {
    /// Answers a message of the user in this scope, in eight steps: store and count the message; read profile and
    /// state; build the context; call the model; store the reply; record a key moment that happened, with its
    /// affection; refresh the profile after every 20 messages; return the reply.
    ///
    /// The first step is one transaction, and the fifth and sixth together are one. A message with the id of an
    /// answered one gets the same reply. A message that was stored but not answered is answered without being counted
    /// again.
    ///
    /// # Errors
    /// `InvalidInput` for an empty message, a scope without a user, or a persona that exceeds the limit of the
    /// context; `Conflict` for the id of another message or of a forgotten one, and if concurrent writes never end;
    /// the errors of the model, after which the message stays stored; the errors of the store. Failures of the search
    /// for related history or of the profile are listed in [`TurnReply::degraded`].
    ///
    /// # Cancel safety
    /// If the future is dropped, nothing is stored, or the message without an answer, or the whole turn. A step is
    /// never stored in part.
    pub async fn turn(&self, scope: &Scope, message: impl Into<UserMessage>) -> Result<TurnReply> {
        let started = self.start(scope, message.into()).await?;
        if started.answered.is_some() {
            return Ok(earlier_reply(started));
        }
        let prepared = self.prepare(started).await?;
        let reply = self.model.complete(&prepared.request).await?;
        let (text, verdict) = ReplyFilter::read(&reply.text);
        self.conclude(prepared, ModelReply { text, verdict, usage: reply.usage }).await
    }

    /// Stores and counts the message, unless it is stored already.
    pub(super) async fn start(&self, scope: &Scope, user_message: UserMessage) -> Result<StartedTurn> {
        let message_id = user_message.message_id.as_deref();
        let id = message_id.map_or_else(RecordId::new, |name| RecordId::named(scope, name));
        retry_on_conflict(WRITE_ATTEMPTS, || self.try_start(scope, &user_message, id)).await?
    }

    /// Makes one attempt to store and count the message. The inner result is that of the turn: the refusal of a message
    /// is a conflict, too, which no retry resolves.
    async fn try_start(&self, scope: &Scope, user_message: &UserMessage, id: RecordId) -> Result<Result<StartedTurn>> {
        let (state_record, mut state) = self.try_open_state(scope).await?;
        if user_message.message_id.is_some() {
            let mut found = self.engine.get_all(scope, &[id, reply_id(scope, id)]).await?;
            let answered = found.pop().flatten();
            if let Some(message) = found.pop().flatten() {
                if message.text != self.engine.screening().mask_within(scope, user_message.text.as_str()).await? {
                    return Ok(Err(conflict("another message has this id; give each message its own id")));
                }
                return Ok(Ok(StartedTurn { scope: scope.clone(), message, state, changes: Vec::new(), answered }));
            }
            if self.is_deleted(scope, id).await? {
                return Ok(Err(conflict("the message with this id was forgotten; use another id")));
            }
        }
        let mut message =
            Record::new(scope.clone(), Kind::TURN, user_message.text.as_str(), self.engine.settings().clock());
        message.id = id;
        message.source.message_id.clone_from(&user_message.message_id);
        let changes = self.count_message(&mut message, &mut state);
        let mut writes = vec![Write::new(message.clone(), PutMode::Create), self.state_write(&state_record, &state)];
        writes.extend(self.log_writes(&state_record, &changes, &id.to_string()));
        self.commit(scope, writes).await?;
        message.revision = 1;
        Ok(Ok(StartedTurn { scope: scope.clone(), message, state, changes, answered: None }))
    }

    /// Counts a message of the user in the state, and returns the changes of affection.
    fn count_message(&self, message: &mut Record, state: &mut CompanionState) -> Vec<AffectionChange> {
        let today = message.occurred_at.in_zone(&self.zone).date();
        let changes = state.bond.message(today, &self.pack.affection, &self.pack.stages);
        state.total_messages += 1;
        state.last_active_at = Some(message.occurred_at);
        message.role = Some(Role::USER);
        message.trust = Trust::User;
        message.source.sequence = i64::try_from(state.total_messages).ok();
        // Points lost by idle days are not caused by this message.
        let caused = changes.iter().filter(|change| !matches!(change.reason, AffectionReason::Idle(_)));
        let delta: i32 = caused.map(|change| change.delta).sum();
        message.metadata.insert("affection_delta".into(), json!(delta));
        changes
    }

    /// Builds the context and the request to the model.
    pub(super) async fn prepare(&self, started: StartedTurn) -> Result<PreparedTurn> {
        let message = &started.message;
        let recent = self.recent(&started.scope, Some(message)).await?;
        let possible = self.possible_moments(&started.state, &message.text, &recent);
        let rules = possible.iter().map(|candidate| candidate.rule).collect();
        let (context, degraded) =
            self.build(&started.scope, &started.state, (&message.text, Some(message)), &recent, rules).await?;
        let request = ChatRequest::new([Message::system(context.text.as_str()), Message::user(message.text.as_str())]);
        let possible = possible
            .into_iter()
            .map(|MomentCandidate { rule, messages_back }| PossibleMoment { rule: rule.clone(), messages_back })
            .collect();
        Ok(PreparedTurn { started, request, possible, context, recent, degraded })
    }

    /// Stores the reply and the key moment that happened, and refreshes the profile if it is due.
    pub(super) async fn conclude(&self, prepared: PreparedTurn, model_reply: ModelReply) -> Result<TurnReply> {
        if model_reply.text.is_empty() {
            let message = "the reply of the model is empty; the message is stored and can be sent again";
            return Err(Error::new(ErrorKind::Unavailable, "companion", message));
        }
        let PreparedTurn { started, possible, context, recent, mut degraded, .. } = prepared;
        let mut reply = self.store_reply(&started, &model_reply, &possible, &recent).await?;
        if reply.reply.is_none() {
            let reason = "the message was deleted in the meantime; the reply is not stored".to_owned();
            degraded.push(Degraded { stage: "reply", reason });
        } else {
            match self.refresh_if_due(&started.scope, &reply.state).await {
                Ok(state) => reply.state = state.unwrap_or(reply.state),
                Err(e) => degraded.push(Degraded { stage: "profile", reason: e.to_string() }),
            }
        }
        reply.context = Some(context);
        reply.degraded = degraded;
        Ok(reply)
    }

    async fn store_reply(
        &self,
        started: &StartedTurn,
        model_reply: &ModelReply,
        possible: &[PossibleMoment],
        recent: &[Record],
    ) -> Result<TurnReply> {
        // The message may be deleted during an attempt; the next one then stores nothing.
        retry_on(&CHANGED, WRITE_ATTEMPTS, || self.try_store_reply(started, model_reply, possible, recent)).await
    }

    async fn try_store_reply(
        &self,
        started: &StartedTurn,
        model_reply: &ModelReply,
        possible: &[PossibleMoment],
        recent: &[Record],
    ) -> Result<TurnReply> {
        let scope = &started.scope;
        let id = reply_id(scope, started.message.id);
        let (state_record, mut state) = self.try_open_state(scope).await?;
        let mut found = self.engine.get_all(scope, &[started.message.id, id]).await?;
        let answered = found.pop().flatten();
        let message = found.pop().flatten();
        if answered.is_some() {
            // The same message was sent twice at the same time, and the other turn was faster.
            return Ok(earlier_reply(StartedTurn { state, answered, ..started.clone() }));
        }
        let mut reply =
            Record::new(scope.clone(), Kind::TURN, model_reply.text.as_str(), self.engine.settings().clock());
        let mut turn_reply = TurnReply::new(started, &model_reply.text, reply.occurred_at);
        turn_reply.state = state.clone();
        turn_reply.usage = model_reply.usage;
        let Some(message) = message else { return Ok(turn_reply) };
        state.total_messages += 1;
        reply.id = id;
        reply.role = Some(Role::ASSISTANT);
        reply.trust = Trust::Assistant;
        reply.speaker = Some(self.pack.name.clone());
        reply.source.sequence = i64::try_from(state.total_messages).ok();
        let user_messages = latest_user_messages(&message, recent);
        let mut writes = match happened_moment(possible, &state, model_reply.verdict.as_deref(), &user_messages) {
            Some(happened) => {
                let (mut writes, change) = self.moment_writes(happened, [message, reply], recent, &mut state);
                let cause = format!("{}/{id}", happened.0.rule.id);
                writes.extend(self.log_writes(&state_record, change.as_slice(), &cause));
                turn_reply.key_moment = Some(happened.0.rule.id.clone());
                turn_reply.changes.extend(change);
                writes
            }
            None => vec![Write::new(reply, PutMode::Create)],
        };
        writes.push(self.state_write(&state_record, &state));
        self.commit(scope, writes).await?;
        turn_reply.reply = Some(id);
        turn_reply.state = state;
        Ok(turn_reply)
    }

    /// Adds a key moment to the state. Returns the change of affection, and the writes of the reply, the moment and the
    /// message of the user.
    fn moment_writes(
        &self,
        (possible, outcome): (&PossibleMoment, &MomentOutcome),
        [mut message, mut reply]: [Record; 2],
        recent: &[Record],
        state: &mut CompanionState,
    ) -> (Vec<Write>, Option<AffectionChange>) {
        let rule = &possible.rule;
        let (chapter, _) = self.pack.stages.at(state.bond.affection);
        let today = reply.occurred_at.in_zone(&self.zone).date();
        let change = state.bond.moment(outcome.affection, &rule.name, today);
        reply.metadata.insert("key_moment_id".into(), json!(rule.id));
        // The moment includes the messages with its words, even if they are further back than its rounds.
        let earlier_messages = (2 * rule.rounds.saturating_sub(1)).max(possible.messages_back);
        let earlier = recent[recent.len().saturating_sub(earlier_messages)..].iter();
        let messages: Vec<Record> = earlier.chain([&message, &reply]).cloned().collect();
        let speaker = (self.pack.name.as_str(), self.pack.language);
        let moment = moment_record(rule, outcome, chapter, &messages, speaker, self.engine.settings().clock());
        let mut writes = vec![Write::new(reply, PutMode::Create)];
        if let Some(moment) = moment {
            state.key_moments.push(moment.id);
            let mut write = Write::upsert(moment);
            // The moment is only stored if its messages have not changed. The reply itself is new.
            write.based_on = messages[..messages.len() - 1].iter().map(Basis::of).collect();
            writes.push(write);
        }
        state.moments.insert(rule.id.clone(), outcome.status.clone());
        let revision = message.revision;
        let delta = message.metadata.get("affection_delta").and_then(Value::as_i64).unwrap_or(0);
        let gained = change.as_ref().map_or(0, |change| change.delta);
        message.metadata.insert("affection_delta".into(), json!(delta + i64::from(gained)));
        message.metadata.insert("key_moment_id".into(), json!(rule.id));
        writes.push(Write::new(message, PutMode::Update { revision }));
        (writes, change)
    }
}

impl TurnReply {
    fn new(started: &StartedTurn, text: &str, at: Timestamp) -> Self {
        Self {
            text: text.to_owned(),
            message: started.message.id,
            reply: None,
            at,
            state: started.state.clone(),
            changes: started.changes.clone(),
            key_moment: None,
            context: None,
            repeated: false,
            degraded: Vec::new(),
            usage: None,
        }
    }
}

/// Returns the reply that the message got before.
pub(super) fn earlier_reply(started: StartedTurn) -> TurnReply {
    let answered = started.answered.as_ref();
    let at = answered.map_or(started.message.occurred_at, |record| record.occurred_at);
    let mut turn_reply = TurnReply::new(&started, answered.map_or("", |record| &record.text), at);
    turn_reply.reply = answered.map(|record| record.id);
    turn_reply.key_moment =
        answered.and_then(|record| record.metadata.get("key_moment_id")?.as_str().map(str::to_owned));
    turn_reply.repeated = true;
    turn_reply
}

/// Returns the possible moment that happened by the verdict of the model. If several are possible, the verdict has to
/// name it.
fn happened_moment<'p>(
    possible: &'p [PossibleMoment],
    state: &CompanionState,
    verdict: Option<&str>,
    user_messages: &[&str],
) -> Option<(&'p PossibleMoment, &'p MomentOutcome)> {
    let pending = possible.iter().filter(|possible| !state.moments.contains_key(&possible.rule.id));
    let is_meant = |rule: &MomentRule| possible.len() == 1 || verdict.is_some_and(|verdict| rule.is_named_in(verdict));
    let mut meant = pending.filter(|possible| is_meant(&possible.rule));
    meant.find_map(|possible| match possible.rule.verdict(verdict, user_messages) {
        MomentVerdict::Happened(outcome) => Some((possible, outcome)),
        MomentVerdict::DidNotHappen | MomentVerdict::Unclear => None,
    })
}

/// Returns the texts of the user's message and of those before it that the coarse filter reads.
fn latest_user_messages<'r>(message: &'r Record, recent: &'r [Record]) -> Vec<&'r str> {
    let earlier = &recent[recent.len().saturating_sub(FILTER_EARLIER_MESSAGES)..];
    let by_user = earlier.iter().filter(|record| record.role.as_ref() == Some(&Role::USER));
    by_user.chain([message]).map(|record| record.text.as_str()).collect()
}

fn reply_id(scope: &Scope, message: RecordId) -> RecordId {
    RecordId::named(scope, &format!("reply/{message}"))
}

fn conflict(message: &str) -> Error {
    Error::new(ErrorKind::Conflict, "companion", message)
}
