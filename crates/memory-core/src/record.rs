//! One remembered thing.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    error::{Error, Result},
    id::RecordId,
    scope::Scope,
    text,
    time::{Clock, Timestamp},
};

/// One remembered thing: a turn of a conversation, a summary, a fact.
///
/// Records are the truth; vectors, terms and graph are derived from them and can be rebuilt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Record {
    /// Its name, unique within the user.
    pub id: RecordId,
    /// Its address: whom it belongs to.
    pub scope: Scope,
    /// The kind.
    pub kind: Kind,
    /// The role of the speaker, as in chat APIs: `user`, `assistant` …
    pub role: Option<Role>,
    /// The name of the speaker.
    pub speaker: Option<String>,
    /// The text.
    pub text: String,
    /// The scene it was said in, such as `daily` or `plot`.
    pub scene: Option<String>,
    /// The topic.
    pub topic: Option<String>,
    /// The people, places and things it names.
    pub entities: Vec<String>,
    /// The feeling it shows.
    pub emotion: Option<String>,
    /// Free labels; asset codes live here.
    pub tags: Vec<String>,
    /// Confidence that the text is true, 0 to 1.
    pub confidence: f64,
    /// Importance, 0 to 1.
    pub importance: f64,
    /// The place in the source that the record is from.
    pub source: Source,
    /// The records it was made from.
    pub derived_from: Vec<RecordId>,
    /// The trust class of the author.
    pub trust: Trust,
    /// The time of the event.
    pub occurred_at: Timestamp,
    /// The time at which the engine first stored the record.
    pub recorded_at: Timestamp,
    /// From when on it holds, if that is known.
    pub valid_from: Option<Timestamp>,
    /// Until when it held, if it no longer does.
    pub valid_until: Option<Timestamp>,
    /// The state; only active records take part in recall.
    pub state: State,
    /// Further fields of the caller.
    pub metadata: Map<String, Value>,
    /// Number of times it was written. The store counts; 0 means never.
    pub revision: u64,
}

impl Record {
    /// The longest text, in bytes.
    pub const MAX_TEXT_BYTES: usize = 1 << 20;
    /// The longest name, label or tag, in bytes.
    pub const MAX_LABEL_BYTES: usize = 4096;
    /// The longest metadata, in bytes of JSON.
    pub const MAX_METADATA_BYTES: usize = 1 << 18;

    /// A new active record of that moment; every other field can be set afterwards.
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
            metadata: Map::new(),
            revision: 0,
        }
    }

    /// The hash of what it says, over normalised text: equal for texts that read the same.
    pub fn content_hash(&self) -> ContentHash {
        ContentHash::of(&self.text)
    }

    /// Its place in the order of things: by time, then by sequence number, then by id.
    pub fn position(&self) -> (Timestamp, i64, RecordId) {
        (self.occurred_at, self.source.sequence.unwrap_or(0), self.id)
    }

    /// Returns true if the record is in the keyword and vector indexes, and so takes part in recall: it is active and
    /// not an entry of a [ledger](Kind::is_ledger).
    pub fn is_indexed(&self) -> bool {
        self.state == State::Active && !self.kind.is_ledger()
    }

    /// Returns the name of the speaker if it says more than the role: `Lin`, but not `user` or `Assistant`.
    pub fn named_speaker(&self) -> Option<&str> {
        let speaker = self.speaker.as_deref()?;
        let role = self.role.as_ref().map_or("", Role::as_str);
        (!speaker.eq_ignore_ascii_case(role)).then_some(speaker)
    }

    /// Returns true if `other` is equal in every field that a caller sets: all except `recorded_at` and `revision`.
    pub fn same_content(&self, other: &Self) -> bool {
        let mut twin = other.clone();
        (twin.recorded_at, twin.revision) = (self.recorded_at, self.revision);
        *self == twin
    }

    /// Refuses a record that no store could keep.
    ///
    /// # Errors
    /// `InvalidInput` when the text is empty or too long, a field holds a NUL character, confidence or importance is
    /// not between 0 and 1, validity ends before it begins, or the metadata are too large.
    pub fn validate(&self) -> Result<()> {
        let wrong = |message: String| Err(Error::invalid("record", message));
        if self.text.trim().is_empty() {
            return wrong("the text is empty; a record needs something that was said".into());
        }
        if self.text.len() > Self::MAX_TEXT_BYTES {
            let (found, most) = (self.text.len(), Self::MAX_TEXT_BYTES);
            return wrong(format!("the text has {found} bytes, {most} are allowed; split it into several records"));
        }
        for (field, share) in [("confidence", self.confidence), ("importance", self.importance)] {
            if !(0.0..=1.0).contains(&share) {
                return wrong(format!("{field} is {share}; it lies between 0 and 1"));
            }
        }
        if matches!((self.valid_from, self.valid_until), (Some(from), Some(until)) if until < from) {
            return wrong("valid_until lies before valid_from".into());
        }
        if let Some(field) = self.field_with_nul() {
            return wrong(format!(
                "{field} holds a NUL character (U+0000), which no database text can keep; remove it"
            ));
        }
        let labels = [&self.speaker, &self.scene, &self.topic, &self.emotion, &self.source.message_id];
        let role = self.role.as_ref().map(Role::as_str);
        let labels = labels.into_iter().filter_map(|label| label.as_deref()).chain(role).chain([self.kind.as_str()]);
        let lists = self.tags.iter().chain(&self.entities).map(String::as_str);
        if labels.chain(lists).any(|label| label.len() > Self::MAX_LABEL_BYTES) {
            let most = Self::MAX_LABEL_BYTES;
            return wrong(format!("a name, label or tag has more than {most} bytes; long text belongs into the text"));
        }
        let size = serde_json::to_string(&self.metadata).map_or(usize::MAX, |json| json.len());
        if size > Self::MAX_METADATA_BYTES {
            return wrong(format!("the metadata have {size} bytes of JSON, {} are allowed", Self::MAX_METADATA_BYTES));
        }
        Ok(())
    }

    /// Returns true for a message of a conversation that a person or the model wrote. Instructions, answers of tools
    /// and derived records are none.
    pub fn is_said(&self) -> bool {
        let role = self.role.as_ref().map(Role::as_str);
        self.kind == Kind::TURN
            && !matches!(role, Some("system" | "tool" | "developer" | "function"))
            && !matches!(self.trust, Trust::Derived | Trust::Tool)
    }

    fn field_with_nul(&self) -> Option<&'static str> {
        let one = |text: &Option<String>| text.as_deref().is_some_and(|t| t.contains('\0'));
        let any = |texts: &[String]| texts.iter().any(|t| t.contains('\0'));
        let fields = [
            ("text", self.text.contains('\0')),
            ("kind", self.kind.as_str().contains('\0')),
            ("role", self.role.as_ref().is_some_and(|r| r.as_str().contains('\0'))),
            ("speaker", one(&self.speaker)),
            ("scene", one(&self.scene)),
            ("topic", one(&self.topic)),
            ("emotion", one(&self.emotion)),
            ("the message id", one(&self.source.message_id)),
            ("entities", any(&self.entities)),
            ("tags", any(&self.tags)),
            ("metadata", self.metadata.iter().any(|(key, value)| key.contains('\0') || json_has_nul(value))),
        ];
        fields.into_iter().find_map(|(name, found)| found.then_some(name))
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

/// The place of a record in its source.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Source {
    /// The message's id where it came from.
    pub message_id: Option<String>,
    /// The message's number within its conversation; it orders messages of the same time.
    pub sequence: Option<i64>,
    /// The round of the conversation, counted from 1.
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

            /// A name of the caller's own.
            pub fn new(name: impl Into<String>) -> Self {
                Self(std::borrow::Cow::Owned(name.into()))
            }

            /// The name.
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
        /// Something said in a conversation.
        TURN = "turn";
        /// A part of a long turn, stored in addition to the turn.
        CHUNK = "chunk";
        /// A summary of several turns.
        SUMMARY = "summary";
        /// A fact, a preference or a state of affairs.
        FACT = "fact";
        /// A description of a person, in one text.
        PROFILE = "profile";
        /// A moment to be kept word for word.
        KEY_MOMENT = "key_moment";
        /// Something that happened in the world.
        EVENT = "event";
        /// A note written by a person.
        NOTE = "note";
    }
}

impl Kind {
    /// The prefix of the kinds of ledgers.
    const LEDGER: &'static str = "ledger/";

    /// An application's own books: kept, exported and deleted like any record, written in one transaction with others,
    /// and never indexed nor recalled. Its name is `ledger/` and the book's.
    pub fn ledger(book: &str) -> Self {
        Self::new(format!("{}{book}", Self::LEDGER))
    }

    /// Returns true if records of this kind are entries of a ledger.
    pub fn is_ledger(&self) -> bool {
        self.as_str().starts_with(Self::LEDGER)
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
        /// A tool's answer.
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
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name, as stored.
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
        /// It was brought in from a file or another system.
        Import = "import",
        /// The engine made it from other records.
        Derived = "derived",
    }
}

closed! {
    /// The state of a record. Only active records are in the keyword and vector indexes and take part in recall,
    /// except for entries of a [ledger](Kind::is_ledger).
    State, "state" {
        /// It does.
        Active = "active",
        /// Something newer has taken its place.
        Superseded = "superseded",
        /// It was wrong.
        Revoked = "revoked",
        /// It was deleted and can still be brought back.
        Deleted = "deleted",
    }
}

/// The hash of a text that reads the same as another: BLAKE3 over [`text::normalize`]d text, white space folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// The hash of a text.
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

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The hash with these bytes.
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
    fn texts_that_read_the_same_have_one_hash() {
        assert_eq!(record("我  对海鲜过敏").content_hash(), record(" 我 对海鲜过敏").content_hash());
        let (traditional, simplified) = (record("過敏").content_hash(), record("过敏").content_hash());
        assert_eq!(traditional == simplified, text::FOLDS_TRADITIONAL);
        assert_ne!(record("我对海鲜过敏").content_hash(), record("我对花生过敏").content_hash());
        // The hash of a text outlives versions and builds: tombstones are kept by it.
        let golden = "85a5bbcf7fc8e40eab3c4f44020588f860d41cf0a31e3ec06c6b836506d24cc9";
        assert_eq!(record("I live  in Porto.").content_hash().to_string(), golden);
        let hash = record("x").content_hash();
        assert_eq!(hash.to_string().parse::<ContentHash>().unwrap(), hash);
    }

    #[test]
    fn what_no_store_can_keep_is_refused_by_name() {
        let mut cases = vec![(record("  "), "empty"), (record("a\0b"), "NUL")];
        cases.push((record(&"x".repeat(Record::MAX_TEXT_BYTES + 1)), "split"));
        let mut sure = record("x");
        sure.confidence = 1.5;
        cases.push((sure, "confidence"));
        let mut tagged = record("x");
        tagged.metadata.insert("k".into(), serde_json::json!({"a": ["b\0"]}));
        cases.push((tagged, "metadata"));
        for (record, word) in cases {
            let e = record.validate().unwrap_err();
            assert!(e.to_string().contains(word), "{e}");
        }
    }

    #[test]
    fn a_speaker_that_only_repeats_the_role_is_not_named() {
        let mut r = record("x");
        (r.role, r.speaker) = (Some(Role::USER), Some("User".into()));
        assert_eq!(r.named_speaker(), None);
        r.speaker = Some("Lin".into());
        assert_eq!(r.named_speaker(), Some("Lin"));
    }
}
