//! A turn: eight steps from the user's message to the reply.

use memory_engine::recall::Degraded;
use memory_engine_context::BuiltContext;
use memory_engine_core::{Basis, Error, ErrorKind, Kind, PutMode, Record, RecordId, Result, Role, Scope, Trust, Write};
use memory_engine_llm::{ChatRequest, Message, Usage};
use serde_json::json;

use super::{
    companion::Companion,
    ledger::{MAX_ATTEMPTS, contention},
    message::{TurnReply, UserMessage},
};
use crate::{
    affection::{Change, Reason},
    moment::{MomentRule, Verdict},
    record::moment_record,
    reply::ReplyFilter,
    state::CompanionState,
};

/// A turn whose message is stored, up to the model's reply.
#[derive(Debug)]
pub(super) struct StartedTurn {
    pub(super) scope: Scope,
    pub(super) message: Record,
    state: CompanionState,
    changes: Vec<Change>,
    /// What it was answered with before.
    pub(super) answered: Option<Record>,
}

/// A turn that the model is to answer.
#[derive(Debug)]
pub(super) struct PreparedTurn {
    started: StartedTurn,
    pub(super) request: ChatRequest,
    possible: Option<MomentRule>,
    context: BuiltContext,
    recent: Vec<Record>,
    degraded: Vec<Degraded>,
}

/// What the model said.
#[derive(Debug, Default)]
pub(super) struct ModelReply {
    pub(super) text: String,
    pub(super) verdict: Option<String>,
    pub(super) usage: Option<Usage>,
}

impl Companion {
    /// Answers a message of the user at this address, in eight steps: the message is stored and counted; profile and
    /// state are read; the context is built; the model is asked; the reply is stored; a key moment that came is
    /// recorded with its affection; after every 20 messages the profile is made anew; the reply is given back.
    ///
    /// The first step, and the fifth with the sixth, are one transaction each. A message with an id that was answered
    /// before gets that answer again, and one that was stored and not answered is answered and not counted again.
    ///
    /// # Errors
    /// `InvalidInput` for an empty message, an address without a user, or a persona that is larger than the context may
    /// be; `Conflict` for the id of another message or of one that was forgotten, and when others write without end;
    /// the model's own, after which the user's message stays stored; the store's. What fails in looking for related
    /// history or in making a profile is named in [`TurnReply::degraded`].
    ///
    /// # Cancel safety
    /// Dropping the future leaves the message stored and unanswered, or everything done but for the answer; never half
    /// of a step.
    pub async fn turn(&self, scope: &Scope, said: impl Into<UserMessage>) -> Result<TurnReply> {
        let started = self.start(scope, said.into()).await?;
        if started.answered.is_some() {
            return Ok(earlier_reply(started));
        }
        let prepared = self.prepare(started).await?;
        let reply = self.model.complete(&prepared.request).await?;
        let (text, verdict) = ReplyFilter::read(&reply.text);
        self.conclude(prepared, ModelReply { text, verdict, usage: reply.usage }).await
    }

    /// Stores and counts the message, unless it is there already.
    pub(super) async fn start(&self, scope: &Scope, said: UserMessage) -> Result<StartedTurn> {
        let new = RecordId::new();
        let id = said.message_id.as_deref().map_or(new, |name| RecordId::named(scope, name));
        for _ in 0..MAX_ATTEMPTS {
            let (read, mut state) = self.open_state(scope).await?;
            if said.message_id.is_some() {
                let mut found = self.engine.get_all(scope, &[id, reply_id(scope, id)]).await?;
                let (answered, message) = (found.pop().flatten(), found.pop().flatten());
                if let Some(message) = message {
                    if message.text != said.text {
                        return Err(conflict("there is another message with this id; give each its own"));
                    }
                    return Ok(StartedTurn { scope: scope.clone(), message, state, changes: Vec::new(), answered });
                }
                if self.is_deleted(scope, id).await? {
                    return Err(conflict("the message with this id was forgotten and stays away"));
                }
            }
            let mut message = Record::new(scope.clone(), Kind::TURN, said.text.as_str(), self.engine.clock());
            let today = message.occurred_at.in_zone(&self.zone).date();
            let changes = state.bond.message(today, &self.pack.affection, &self.pack.stages);
            state.total_messages += 1;
            state.last_active_at = Some(message.occurred_at);
            (message.id, message.role, message.trust) = (id, Some(Role::USER), Trust::User);
            message.source.message_id.clone_from(&said.message_id);
            message.source.sequence = i64::try_from(state.total_messages).ok();
            // What days of silence have cost is no doing of this message.
            let delta: i32 =
                changes.iter().filter(|c| !matches!(c.reason, Reason::Idle(_))).map(|change| change.delta).sum();
            message.metadata.insert("affection_delta".into(), json!(delta));
            let mut writes = vec![Write::new(message.clone(), PutMode::Create), self.state_write(&read, &state)];
            writes.extend(self.log_writes(&read, &changes, &id.to_string()));
            match self.commit(scope, writes).await {
                Ok(_) => {
                    message.revision = 1;
                    return Ok(StartedTurn { scope: scope.clone(), message, state, changes, answered: None });
                }
                Err(e) if e.kind() == ErrorKind::Conflict => tokio::task::yield_now().await,
                Err(e) => return Err(e),
            }
        }
        Err(contention())
    }

    /// Builds the context and the request to the model.
    pub(super) async fn prepare(&self, started: StartedTurn) -> Result<PreparedTurn> {
        let possible = self.possible_moment(&started.state, &started.message.text);
        let (scope, message) = (&started.scope, &started.message);
        let (context, recent, degraded) =
            self.build(scope, &started.state, &message.text, Some(message), possible).await?;
        let request = ChatRequest::new([Message::system(context.text.as_str()), Message::user(message.text.as_str())]);
        let possible = possible.cloned();
        Ok(PreparedTurn { started, request, possible, context, recent, degraded })
    }

    /// Stores the reply, with the key moment that came, and makes the profile anew where it is time.
    pub(super) async fn conclude(&self, prepared: PreparedTurn, heard: ModelReply) -> Result<TurnReply> {
        if heard.text.is_empty() {
            let message = "the model's reply says nothing; the message is stored, and can be sent again";
            return Err(Error::new(ErrorKind::Unavailable, "companion", message));
        }
        let PreparedTurn { started, possible, context, recent, mut degraded, .. } = prepared;
        let mut kept = self.store_reply(&started, &heard, possible.as_ref(), &recent).await?;
        if kept.reply.is_none() {
            let reason = "the message was deleted meanwhile; the reply is not kept".to_owned();
            degraded.push(Degraded { stage: "reply", reason });
        } else {
            match self.refresh_if_due(&started.scope, &kept.state).await {
                Ok(state) => kept.state = state.unwrap_or(kept.state),
                Err(e) => degraded.push(Degraded { stage: "profile", reason: e.to_string() }),
            }
        }
        kept.context = Some(context);
        kept.degraded = degraded;
        Ok(kept)
    }

    async fn store_reply(
        &self,
        started: &StartedTurn,
        heard: &ModelReply,
        possible: Option<&MomentRule>,
        recent: &[Record],
    ) -> Result<TurnReply> {
        let scope = &started.scope;
        let id = reply_id(scope, started.message.id);
        for _ in 0..MAX_ATTEMPTS {
            let (read, mut state) = self.open_state(scope).await?;
            let mut found = self.engine.get_all(scope, &[started.message.id, id]).await?;
            let (answered, message) = (found.pop().flatten(), found.pop().flatten());
            if answered.is_some() {
                // The same message was sent twice at once, and the other one came first.
                return Ok(earlier_reply(StartedTurn {
                    scope: scope.clone(),
                    message: started.message.clone(),
                    state,
                    changes: started.changes.clone(),
                    answered,
                }));
            }
            let mut reply = Record::new(scope.clone(), Kind::TURN, heard.text.as_str(), self.engine.clock());
            let at = reply.occurred_at;
            let mut given = TurnReply {
                text: heard.text.clone(),
                message: started.message.id,
                reply: None,
                at,
                state: state.clone(),
                changes: started.changes.clone(),
                key_moment: None,
                context: None,
                repeated: false,
                degraded: Vec::new(),
                usage: heard.usage,
            };
            let Some(mut message) = message else { return Ok(given) };
            state.total_messages += 1;
            (reply.id, reply.role, reply.trust) = (id, Some(Role::ASSISTANT), Trust::Assistant);
            reply.speaker = Some(self.pack.name.clone());
            reply.source.sequence = i64::try_from(state.total_messages).ok();
            let mut writes = Vec::new();
            let came = possible.filter(|rule| !state.moments.contains_key(&rule.id)).and_then(|rule| {
                match rule.verdict(heard.verdict.as_deref()) {
                    Verdict::Came(outcome) => Some((rule, outcome)),
                    Verdict::DidNot | Verdict::Unclear => None,
                }
            });
            if let Some((rule, outcome)) = came {
                let (chapter, _) = self.pack.stages.at(state.bond.affection);
                let today = at.in_zone(&self.zone).date();
                let change = state.bond.moment(outcome.affection, &rule.name, today);
                reply.metadata.insert("key_moment_id".into(), json!(rule.id));
                let earlier = recent[recent.len().saturating_sub(2 * rule.rounds.saturating_sub(1))..].iter();
                let messages: Vec<Record> = earlier.chain([&message, &reply]).cloned().collect();
                let words = (self.pack.name.as_str(), self.pack.language);
                let moment = moment_record(rule, outcome, chapter, &messages, words, self.engine.clock());
                let revision = message.revision;
                let delta = message.metadata.get("affection_delta").and_then(serde_json::Value::as_i64).unwrap_or(0);
                let gained = change.as_ref().map_or(0, |change| change.delta);
                message.metadata.insert("affection_delta".into(), json!(delta + i64::from(gained)));
                message.metadata.insert("key_moment_id".into(), json!(rule.id));
                writes.push(Write::new(reply, PutMode::Create));
                if let Some(moment) = moment {
                    state.key_moments.push(moment.id);
                    let mut write = Write::upsert(moment);
                    write.based_on = messages[..messages.len() - 1].iter().map(Basis::of).collect();
                    writes.push(write);
                }
                writes.push(Write::new(message, PutMode::Update { revision }));
                state.moments.insert(rule.id.clone(), outcome.status.clone());
                given.key_moment = Some(rule.id.clone());
                let changes: Vec<Change> = change.into_iter().collect();
                writes.extend(self.log_writes(&read, &changes, &format!("{}/{id}", rule.id)));
                given.changes.extend(changes);
            } else {
                writes.push(Write::new(reply, PutMode::Create));
            }
            writes.push(self.state_write(&read, &state));
            (given.reply, given.state) = (Some(id), state);
            match self.commit(scope, writes).await {
                Ok(_) => return Ok(given),
                Err(e) if matches!(e.kind(), ErrorKind::Conflict | ErrorKind::NotFound) => {
                    tokio::task::yield_now().await;
                }
                Err(e) => return Err(e),
            }
        }
        Err(contention())
    }
}

/// The answer that was given before.
pub(super) fn earlier_reply(started: StartedTurn) -> TurnReply {
    let StartedTurn { message, state, changes, answered, .. } = started;
    let at = answered.as_ref().map_or(message.occurred_at, |record| record.occurred_at);
    let key_moment =
        answered.as_ref().and_then(|record| record.metadata.get("key_moment_id")?.as_str().map(str::to_owned));
    TurnReply {
        text: answered.as_ref().map(|record| record.text.clone()).unwrap_or_default(),
        message: message.id,
        reply: answered.map(|record| record.id),
        at,
        state,
        changes,
        key_moment,
        context: None,
        repeated: true,
        degraded: Vec::new(),
        usage: None,
    }
}

fn reply_id(scope: &Scope, message: RecordId) -> RecordId {
    RecordId::named(scope, &format!("reply/{message}"))
}

fn conflict(message: &str) -> Error {
    Error::new(ErrorKind::Conflict, "companion", message)
}
