//! Records: the stored memories.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    error::{Error, Result},
    history_keys::copy_history,
    id::RecordId,
    scope::Scope,
    text,
    time::{Clock, Timestamp},
};

/// A stored memory, such as a turn of a conversation, a summary or a fact.
///
/// Records are the source of truth. Vectors, terms and graph are derived from them and can be rebuilt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Record {
    /// Id, unique within the user.
    pub id: RecordId,
    /// Address: the owner, and the agent, session and branch.
    pub scope: Scope,
    /// Kind, such as a turn or a summary.
    pub kind: Kind,
    /// Role of the speaker, as in chat APIs: `user`, `assistant` …
    pub role: Option<Role>,
    /// Name of the speaker.
    pub speaker: Option<String>,
    /// Text.
    pub text: String,
    /// Scene of the conversation, such as `daily` or `plot`.
    pub scene: Option<String>,
    /// Topic.
    pub topic: Option<String>,
    /// People, places and things that the text names.
    pub entities: Vec<String>,
    /// Emotion that the text expresses.
    pub emotion: Option<String>,
    /// Labels of the caller, such as asset codes.
    pub tags: Vec<String>,
    /// Confidence that the text is true, 0 to 1.
    pub confidence: f64,
    /// Importance, 0 to 1.
    pub importance: f64,
    /// Position in the source of the record.
    pub source: Source,
    /// Records that it was derived from.
    pub derived_from: Vec<RecordId>,
    /// Trust class of the author.
    pub trust: Trust,
    /// Time of the event.
    pub occurred_at: Timestamp,
    /// Time at which the record was first stored.
    pub recorded_at: Timestamp,
    /// Start of the validity, if known.
    pub valid_from: Option<Timestamp>,
    /// End of the validity, if it has ended.
    pub valid_until: Option<Timestamp>,
    /// State. Recall returns active records only.
    pub state: State,
    /// True if rules and limits do not remove the record: it does not [expire](Self::is_expired), is not superseded by
    /// extracted facts, is not moved behind better hits as a near-duplicate, and is part of every context.
    #[serde(default)]
    pub pinned: bool,
    /// Time from which the engine treats the record as deleted, and removes it in the background.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    /// Further fields of the caller.
    pub metadata: Map<String, Value>,
    /// Number of times that the store has written it; 0 before the first write.
    pub revision: u64,
}

impl Record {
    /// Maximum length of the text, in bytes.
    pub const MAX_TEXT_BYTES: usize = 1 << 20;
    /// Maximum length of a name, label or tag, in bytes.
    pub const MAX_LABEL_BYTES: usize = 4096;
    /// Maximum size of the metadata, in bytes of JSON.
    pub const MAX_METADATA_BYTES: usize = 1 << 18;

    /// Creates an active record with the current time. All other fields have defaults and can be set afterwards.
    pub fn new(scope: Scope, kind: Kind, text: impl Into<String>, clock: &dyn Clock) -> Self {
        Self::with_id(RecordId::new(), scope, kind, text.into(), clock.now())
    }

    /// Creates a record with a known id and time, for stores that read records and for imports.
    pub fn with_id(id: RecordId, scope: Scope, kind: Kind, text: String, at: Timestamp) -> Self {
        Self {
            id,
            scope,
            kind,
            role: None,
            speaker: None,
            text,
            scene: None,
            topic: None,
            entities: Vec::new(),
            emotion: None,
            tags: Vec::new(),
            confidence: 1.0,
            importance: 0.5,
            source: Source::default(),
            derived_from: Vec::new(),
            trust: Trust::User,
            occurred_at: at,
            recorded_at: at,
            valid_from: None,
            valid_until: None,
            state: State::Active,
            pinned: false,
            expires_at: None,
            metadata: Map::new(),
            revision: 0,
        }
    }

    /// Returns the hash of the normalised text.
    pub fn content_hash(&self) -> ContentHash {
        ContentHash::of(&self.text)
    }

    /// Returns the sort key of records: time, sequence number, id.
    pub fn position(&self) -> (Timestamp, i64, RecordId) {
        (self.occurred_at, self.source.sequence.unwrap_or(0), self.id)
    }

    /// Returns true if the record is in the keyword and vector indexes: it is active and not an entry of a
    /// [ledger](Kind::is_ledger).
    pub fn is_indexed(&self) -> bool {
        self.state == State::Active && !self.kind.is_ledger()
    }

    /// Returns true if the record has expired at this time. A pinned record does not expire.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        !self.pinned && self.expires_at.is_some_and(|expires_at| expires_at <= now)
    }

    /// Returns true if the record states something that holds at this time, as far as its validity is known.
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.valid_until.is_none_or(|valid_until| now < valid_until)
    }

    /// Returns the name of the speaker if it says more than the role: `Lin`, but not `user` or `Assistant`.
    pub fn named_speaker(&self) -> Option<&str> {
        let speaker = self.speaker.as_deref()?;
        let role = self.role.as_ref().map_or("", Role::as_str);
        (!speaker.eq_ignore_ascii_case(role)).then_some(speaker)
    }

    /// Returns true if `other` is equal in every field that a caller sets: all except `recorded_at`, `revision` and the
    /// [history](crate::history) in the metadata.
    pub fn same_content(&self, other: &Self) -> bool {
        let mut comparable = other.clone();
        comparable.recorded_at = self.recorded_at;
        comparable.revision = self.revision;
        copy_history(&self.metadata, &mut comparable.metadata);
        *self == comparable
    }

    /// Returns true if a text can be a name, label or tag of a record: it has at most
    /// [`MAX_LABEL_BYTES`](Self::MAX_LABEL_BYTES) and no NUL character.
    pub fn is_valid_label(label: &str) -> bool {
        label.len() <= Self::MAX_LABEL_BYTES && !label.contains('\0')
    }

    /// Checks that stores can store the record.
    ///
    /// # Errors
    /// `InvalidInput` if the kind is empty, the text is empty or too long, a field contains a NUL character, confidence
    /// or importance is not between 0 and 1, the validity ends before it begins, or labels or metadata are too long.
    pub fn validate(&self) -> Result<()> {
        let invalid = |message: String| Err(Error::invalid("record", message));
        if self.text.trim().is_empty() {
            return invalid("the text is empty; a record needs something that was said".into());
        }
        if self.kind.as_str().trim().is_empty() {
            return invalid("the kind is empty; write for example turn, fact or note".into());
        }
        if self.text.len() > Self::MAX_TEXT_BYTES {
            let length = self.text.len();
            let max = Self::MAX_TEXT_BYTES;
            return invalid(format!("the text has {length} bytes, {max} are allowed; split it into several records"));
        }
        for (field, share) in [("confidence", self.confidence), ("importance", self.importance)] {
            if !(0.0..=1.0).contains(&share) {
                return invalid(format!("{field} is {share}; it must be from 0 to 1"));
            }
        }
        if matches!((self.valid_from, self.valid_until), (Some(from), Some(until)) if until < from) {
            return invalid("valid_until lies before valid_from".into());
        }
        if let Some(field) = self.field_with_nul() {
            return invalid(format!(
                "{field} holds a NUL character (U+0000), which no database text can keep; remove it"
            ));
        }
        let labels = [&self.speaker, &self.scene, &self.topic, &self.emotion, &self.source.message_id];
        let role = self.role.as_ref().map(Role::as_str);
        let labels = labels.into_iter().filter_map(|label| label.as_deref()).chain(role).chain([self.kind.as_str()]);
        let lists = self.tags.iter().chain(&self.entities).map(String::as_str);
        if labels.chain(lists).any(|label| label.len() > Self::MAX_LABEL_BYTES) {
            let max = Self::MAX_LABEL_BYTES;
            return invalid(format!("a name, label or tag has more than {max} bytes; long text belongs into the text"));
        }
        let size = serde_json::to_string(&self.metadata).map_or(usize::MAX, |json| json.len());
        if size > Self::MAX_METADATA_BYTES {
            return invalid(format!(
                "the metadata have {size} bytes of JSON, {} are allowed",
                Self::MAX_METADATA_BYTES
            ));
        }
        Ok(())
    }

    /// Returns true for a message of a conversation that a person or the model wrote, and false for instructions,
    /// results of tools and derived records.
    pub fn is_said(&self) -> bool {
        let role = self.role.as_ref().map(Role::as_str);
        self.kind == Kind::TURN
            && !matches!(role, Some("system" | "tool" | "developer" | "function"))
            && !matches!(self.trust, Trust::Derived | Trust::Tool)
    }

    fn field_with_nul(&self) -> Option<&'static str> {
        let text_has_nul = |text: &Option<String>| text.as_deref().is_some_and(|text| text.contains('\0'));
        let list_has_nul = |texts: &[String]| texts.iter().any(|text| text.contains('\0'));
        let fields = [
            ("text", self.text.contains('\0')),
            ("kind", self.kind.as_str().contains('\0')),
            ("role", self.role.as_ref().is_some_and(|role| role.as_str().contains('\0'))),
            ("speaker", text_has_nul(&self.speaker)),
            ("scene", text_has_nul(&self.scene)),
            ("topic", text_has_nul(&self.topic)),
            ("emotion", text_has_nul(&self.emotion)),
            ("the message id", text_has_nul(&self.source.message_id)),
            ("entities", list_has_nul(&self.entities)),
            ("tags", list_has_nul(&self.tags)),
            ("metadata", self.metadata.iter().any(|(key, value)| key.contains('\0') || json_has_nul(value))),
        ];
        fields.into_iter().find_map(|(name, has_nul)| has_nul.then_some(name))
    }
}

fn json_has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(values) => values.iter().any(json_has_nul),
        Value::Object(map) => map.iter().any(|(key, value)| key.contains('\0') || json_has_nul(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The position of a record in its source.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Source {
    /// Id of the message in the source.
    pub message_id: Option<String>,
    /// Number of the message within its conversation. It orders messages of the same time.
    pub sequence: Option<i64>,
    /// Round of the conversation, from 1.
    pub round: Option<u32>,
}

macro_rules! label {
    ($(#[$doc:meta])* $name:ident { $($(#[$item:meta])* $constant:ident = $value:literal;)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(std::borrow::Cow<'static, str>);

        impl $name {
            $($(#[$item])* pub const $constant: Self = Self(std::borrow::Cow::Borrowed($value));)*

            /// Creates a name of the caller's own.
            pub fn new(name: impl Into<String>) -> Self {
                Self(std::borrow::Cow::Owned(name.into()))
            }

            /// Returns the name.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

label! {
    /// The kind of a record. Callers can add their own names.
    Kind {
        /// A message of a conversation.
        TURN = "turn";
        /// A part of a long turn, stored in addition to the turn.
        CHUNK = "chunk";
        /// A summary of several turns.
        SUMMARY = "summary";
        /// A fact, a preference or a state of affairs.
        FACT = "fact";
        /// A description of a person, in one text.
        PROFILE = "profile";
        /// An important moment, stored verbatim.
        KEY_MOMENT = "key_moment";
        /// An event in the world.
        EVENT = "event";
        /// A note written by a person.
        NOTE = "note";
    }
}

impl Kind {
    /// The prefix of the kinds of ledgers.
    const LEDGER_PREFIX: &'static str = "ledger/";
    /// The kind of the ledger entry that exists at a scope while everything within it is deleted in several
    /// transactions. An entry without a running deletion shows that the deletion was interrupted.
    pub const FORGETTING: Self = Self(std::borrow::Cow::Borrowed("ledger/forgetting"));

    /// The kind of the ledger entries of the values that are kept out of the records of a scope.
    pub const KEPT_OUT: Self = Self(std::borrow::Cow::Borrowed("ledger/kept_out"));

    /// Returns the kind of the entries of a ledger: `ledger/` and its name. A ledger contains data of an application.
    /// Its entries are stored, exported and deleted like other records, and can be written in one transaction with
    /// them, but are never indexed or recalled.
    pub fn ledger(name: &str) -> Self {
        Self::new(format!("{}{name}", Self::LEDGER_PREFIX))
    }

    /// Returns true if records of this kind are entries of a ledger.
    pub fn is_ledger(&self) -> bool {
        self.as_str().starts_with(Self::LEDGER_PREFIX)
    }
}

label! {
    /// The role of a speaker, as in chat APIs. Callers can add their own names.
    Role {
        /// The person.
        USER = "user";
        /// The model.
        ASSISTANT = "assistant";
        /// Instructions.
        SYSTEM = "system";
        /// The result of a tool.
        TOOL = "tool";
    }
}

macro_rules! closed {
    ($(#[$doc:meta])* $name:ident, $what:literal { $($(#[$item:meta])* $variant:ident = $value:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            $($(#[$item])* $variant,)*
        }

        impl $name {
            /// All values, in the order of their declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the name, as stored.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $value,)*
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self> {
                let known = || Self::ALL.iter().map(|v| v.as_str()).collect::<Vec<_>>().join(", ");
                Self::ALL.iter().copied().find(|v| v.as_str() == text).ok_or_else(|| {
                    Error::invalid($what, format!("there is no such {}; it is one of {}", $what, known()))
                })
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

closed! {
    /// The trust class of the author of a record.
    Trust, "trust" {
        /// The person.
        User = "user",
        /// The model.
        Assistant = "assistant",
        /// A tool.
        Tool = "tool",
        /// An import from a file or another system.
        Import = "import",
        /// The engine, which derived the record from others.
        Derived = "derived",
    }
}

closed! {
    /// The state of a record. Only active records are in the keyword and vector indexes; entries of a
    /// [ledger](Kind::is_ledger) never are.
    State, "state" {
        /// Current.
        Active = "active",
        /// Waits for a person to accept it.
        Pending = "pending",
        /// Replaced by a newer record.
        Superseded = "superseded",
        /// Retracted, because it was wrong.
        Revoked = "revoked",
        /// Deleted, but still restorable.
        Deleted = "deleted",
    }
}

/// The hash of a text: BLAKE3 of the normalised text ([`text::normalize`]), with one space for each run of white space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// Returns the hash of a text.
    pub fn of(text: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        for (i, word) in text::normalize(text).split_whitespace().enumerate() {
            if i > 0 {
                hasher.update(b" ");
            }
            hasher.update(word.as_bytes());
        }
        Self(*hasher.finalize().as_bytes())
    }

    /// Returns the bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the hash with these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(blake3::Hash::from_bytes(self.0).to_hex().as_str())
    }
}

impl std::str::FromStr for ContentHash {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        blake3::Hash::from_hex(text)
            .map(|hash| Self(*hash.as_bytes()))
            .map_err(|_| Error::invalid("content hash", "a content hash has 64 hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::SystemClock;

    fn record(text: &str) -> Record {
        Record::new(Scope::user("lin").unwrap(), Kind::TURN, text, &SystemClock)
    }

    #[test]
    fn equal_normalised_texts_have_equal_hashes() {
        assert_eq!(record("我  对海鲜过敏").content_hash(), record(" 我 对海鲜过敏").content_hash());
        let (traditional, simplified) = (record("過敏").content_hash(), record("过敏").content_hash());
        assert_eq!(traditional == simplified, text::FOLDS_TRADITIONAL);
        assert_ne!(record("我对海鲜过敏").content_hash(), record("我对花生过敏").content_hash());
        // Hashes are stored with tombstones, so they must not change between versions.
        let stable_hash = "85a5bbcf7fc8e40eab3c4f44020588f860d41cf0a31e3ec06c6b836506d24cc9";
        assert_eq!(record("I live  in Porto.").content_hash().to_string(), stable_hash);
        let hash = record("x").content_hash();
        assert_eq!(hash.to_string().parse::<ContentHash>().unwrap(), hash);
    }

    #[test]
    fn the_error_of_an_invalid_record_names_the_field() {
        let mut cases = vec![(record("  "), "empty"), (record("a\0b"), "NUL")];
        cases.push((record(&"x".repeat(Record::MAX_TEXT_BYTES + 1)), "split"));
        let mut unnamed = record("x");
        unnamed.kind = Kind::new(" ");
        cases.push((unnamed, "kind"));
        let mut out_of_range = record("x");
        out_of_range.confidence = 1.5;
        cases.push((out_of_range, "confidence"));
        let mut with_nul = record("x");
        with_nul.metadata.insert("k".into(), serde_json::json!({"a": ["b\0"]}));
        cases.push((with_nul, "metadata"));
        for (record, word) in cases {
            let e = record.validate().unwrap_err();
            assert!(e.to_string().contains(word), "{e}");
        }
    }

    #[test]
    fn a_speaker_that_only_repeats_the_role_is_not_named() {
        let mut record = record("x");
        record.role = Some(Role::USER);
        record.speaker = Some("User".into());
        assert_eq!(record.named_speaker(), None);
        record.speaker = Some("Lin".into());
        assert_eq!(record.named_speaker(), Some("Lin"));
    }
}
