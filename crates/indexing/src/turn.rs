//! The input of `remember`.

use std::time::Duration;

use memory_engine_core::{Clock, Kind, Record, RecordId, Role, Scope, Timestamp, Trust};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The input of `remember`: a turn of a conversation, or a note or fact of the caller.
///
/// Only the text is required. A plain `&str` or `String` becomes a message of the user. In JSON, the default of `role`
/// is `user`.
///
/// ```
/// use memory_engine::{Kind, MemoryEngine, Scope, Turn};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let memory = MemoryEngine::builder().in_memory().build().await?;
/// let lin = Scope::user("lin")?;
/// let turn = Turn::user("我搬到里斯本了").with_speaker("小林").with_message_id("m12").with_sequence(12);
/// let id = memory.remember(&lin, turn.with_scene("daily").with_round(6)).await?;
/// // A message with the same id replaces the stored one.
/// let edited = Turn::user("我下个月搬到里斯本").with_message_id("m12");
/// assert_eq!(memory.remember(&lin, edited).await?, id);
/// memory.remember(&lin, Turn::note("ETH staking approved").with_kind(Kind::EVENT).with_tags(["ETH"])).await?;
/// assert_eq!(memory.stats(&lin).await?.records, 2);
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "TurnObject", into = "TurnObject")]
#[must_use]
pub struct Turn {
    text: String,
    id: Option<RecordId>,
    message_id: Option<String>,
    sequence: Option<i64>,
    round: Option<u32>,
    kind: Kind,
    role: Option<Role>,
    speaker: Option<String>,
    occurred_at: Option<Timestamp>,
    scene: Option<String>,
    tags: Vec<String>,
    confidence: f64,
    importance: f64,
    pinned: bool,
    expiry: Option<Expiry>,
    metadata: Map<String, Value>,
    trust: Trust,
}

/// The expiry of a turn.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Expiry {
    At(Timestamp),
    /// This long after it is stored.
    After(Duration),
}

/// The JSON form of a turn. Trust follows from the role: a request cannot claim more.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TurnObject {
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    role: Option<Role>,
    #[serde(default = "turn_kind")]
    kind: Kind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<RecordId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sequence: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    round: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    speaker: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    occurred_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scene: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(default = "full_confidence")]
    confidence: f64,
    #[serde(default = "medium_importance")]
    importance: f64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pinned: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
    /// Seconds after it is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time_to_live: Option<u64>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    metadata: Map<String, Value>,
}

fn turn_kind() -> Kind {
    Kind::TURN
}

fn full_confidence() -> f64 {
    1.0
}

fn medium_importance() -> f64 {
    0.5
}

impl From<TurnObject> for Turn {
    fn from(object: TurnObject) -> Self {
        let is_turn = object.kind == Kind::TURN;
        let mut turn = Self::user(object.text).with_kind(object.kind).with_confidence(object.confidence);
        match object.role {
            Some(role) => turn = turn.with_role(role),
            // A note has no role. A turn without one is a message of the user.
            None if !is_turn => turn.role = None,
            None => {}
        }
        turn.id = object.id;
        turn.message_id = object.message_id;
        turn.sequence = object.sequence;
        turn.round = object.round;
        turn.speaker = object.speaker;
        turn.occurred_at = object.occurred_at;
        turn.scene = object.scene;
        turn.tags = object.tags;
        turn.importance = object.importance;
        turn.pinned = object.pinned;
        let after = object.time_to_live.map(|seconds| Expiry::After(Duration::from_secs(seconds)));
        turn.expiry = object.expires_at.map(Expiry::At).or(after);
        turn.metadata = object.metadata;
        turn
    }
}

impl From<Turn> for TurnObject {
    fn from(turn: Turn) -> Self {
        let (expires_at, time_to_live) = match turn.expiry {
            Some(Expiry::At(time)) => (Some(time), None),
            Some(Expiry::After(duration)) => (None, Some(duration.as_secs())),
            None => (None, None),
        };
        Self {
            text: turn.text,
            role: turn.role,
            kind: turn.kind,
            id: turn.id,
            message_id: turn.message_id,
            sequence: turn.sequence,
            round: turn.round,
            speaker: turn.speaker,
            occurred_at: turn.occurred_at,
            scene: turn.scene,
            tags: turn.tags,
            confidence: turn.confidence,
            importance: turn.importance,
            pinned: turn.pinned,
            expires_at,
            time_to_live,
            metadata: turn.metadata,
        }
    }
}

impl Turn {
    /// Creates a message with this role.
    pub fn new(role: Role, text: impl Into<String>) -> Self {
        Self::user(text).with_role(role)
    }

    /// Creates a message of the user.
    pub fn user(text: impl Into<String>) -> Self {
        Self::message(text.into(), Role::USER, Trust::User)
    }

    /// Creates a message of the model.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::message(text.into(), Role::ASSISTANT, Trust::Assistant)
    }

    /// Creates an instruction to the model. It has the same trust as a message of the user.
    pub fn system(text: impl Into<String>) -> Self {
        Self::new(Role::SYSTEM, text)
    }

    /// Creates the answer of a tool.
    pub fn tool(text: impl Into<String>) -> Self {
        Self::new(Role::TOOL, text)
    }

    /// Creates a note, which is not part of a conversation.
    pub fn note(text: impl Into<String>) -> Self {
        Self { role: None, kind: Kind::NOTE, ..Self::user(text) }
    }

    fn message(text: String, role: Role, trust: Trust) -> Self {
        Self {
            text,
            id: None,
            message_id: None,
            sequence: None,
            round: None,
            kind: Kind::TURN,
            role: Some(role),
            speaker: None,
            occurred_at: None,
            scene: None,
            tags: Vec::new(),
            confidence: 1.0,
            importance: medium_importance(),
            pinned: false,
            expiry: None,
            metadata: Map::new(),
            trust,
        }
    }

    memory_engine_core::setters! {
        /// Sets the id of the record. A stored record with the same id is replaced.
        with_id(id: RecordId) => id = Some(id);
        /// Sets the id of the message, from which the id of the record is computed. A stored message with the same id
        /// is replaced.
        with_message_id(message_id: impl Into<String>) => message_id = Some(message_id.into());
        /// Sets the number within the conversation. It orders messages with equal times, and forks and rewinds refer to
        /// it.
        with_sequence(sequence: i64) => sequence = Some(sequence);
        /// Sets the round of the conversation, counted from 1.
        with_round(round: u32) => round = Some(round);
        /// Sets the kind. Default: [`Kind::TURN`].
        with_kind(kind: Kind);
        /// Sets the name of the speaker.
        with_speaker(speaker: impl Into<String>) => speaker = Some(speaker.into());
        /// Sets the time at which it happened. Default: now.
        at(occurred_at: impl Into<Timestamp>) => occurred_at = Some(occurred_at.into());
        /// Sets the scene.
        with_scene(scene: impl Into<String>) => scene = Some(scene.into());
        /// Sets the confidence, 0 to 1.
        with_confidence(confidence: f64);
        /// Sets the importance, 0 to 1, which takes part in ranking by
        /// `importance_weight`. Default: 0.5.
        with_importance(importance: f64);
        /// Sets the time from which no read returns it, and at which it is deleted. Default: that of the engine's
        /// retention policy, which has no rules by default.
        expires_at(time: impl Into<Timestamp>) => expiry = Some(Expiry::At(time.into()));
        /// Lets it expire this long after it is stored.
        with_time_to_live(time_to_live: Duration) => expiry = Some(Expiry::After(time_to_live));
        /// Replaces the whole metadata.
        with_metadata(metadata: Map<String, Value>);
    }

    /// Sets the role of the speaker, and the trust that follows from it: messages of a model or a tool are trusted
    /// less.
    pub fn with_role(mut self, role: Role) -> Self {
        self.trust = match role.as_str() {
            "assistant" => Trust::Assistant,
            "tool" => Trust::Tool,
            _ => Trust::User,
        };
        self.role = Some(role);
        self
    }

    /// Sets the tags.
    pub fn with_tags<T: Into<String>>(mut self, tags: impl IntoIterator<Item = T>) -> Self {
        self.tags = tags.into_iter().map(Into::into).collect();
        self
    }

    /// Pins it: it is part of every context, does not expire, and is neither superseded by extracted facts nor moved
    /// behind better hits as a near-duplicate.
    pub fn pinned(mut self) -> Self {
        self.pinned = true;
        self
    }

    /// Adds a value to the metadata, in place of one with the same key.
    ///
    /// ```
    /// use memory_engine::Turn;
    ///
    /// let turn = Turn::user("See you there").meta("room", 3).meta("tags", ["work", "friday"].as_slice());
    /// ```
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Returns true if its id is computed from fields of the caller, so that the record may exist already.
    pub fn is_named(&self) -> bool {
        self.id.is_some() || self.message_id.is_some()
    }

    /// Returns the record that is stored at the address `scope`.
    pub fn into_record(self, scope: &Scope, clock: &dyn Clock) -> Record {
        let mut record = Record::new(scope.clone(), self.kind, self.text, clock);
        if let Some(name) = &self.message_id {
            record.id = RecordId::named(scope, name);
        }
        record.id = self.id.unwrap_or(record.id);
        record.source.message_id = self.message_id;
        record.source.sequence = self.sequence;
        record.source.round = self.round;
        record.role = self.role;
        record.speaker = self.speaker;
        record.occurred_at = self.occurred_at.unwrap_or(record.occurred_at);
        record.scene = self.scene;
        record.tags = self.tags;
        record.confidence = self.confidence;
        record.importance = self.importance;
        record.pinned = self.pinned;
        record.expires_at = self.expiry.map(|expiry| match expiry {
            Expiry::At(time) => time,
            Expiry::After(duration) => record.recorded_at.after(duration),
        });
        record.metadata = self.metadata;
        record.trust = self.trust;
        record
    }
}

impl From<&str> for Turn {
    fn from(text: &str) -> Self {
        Self::user(text)
    }
}

impl From<&String> for Turn {
    fn from(text: &String) -> Self {
        Self::user(text)
    }
}

impl From<String> for Turn {
    fn from(text: String) -> Self {
        Self::user(text)
    }
}
