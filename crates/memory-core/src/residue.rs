//! The search for traces of deleted records.

mod byte_search;
mod report;

pub use byte_search::{ByteSearch, Trace};
pub use report::{PlaceKind, ResidueReport, SearchedPlace};

use std::{fmt, ops::Range};

use serde::{Deserialize, Serialize};

use crate::{
    id::RecordId,
    record::{ContentHash, Record},
    scope::Scope,
};

/// Maximum number of steps between the fragments of one text: there is one fragment more.
const MAX_FRAGMENT_STEPS: usize = 64;
/// Length of a fragment, in bytes.
const FRAGMENT_BYTES: usize = 24;
/// Minimum length of a text that is searched for, in bytes. A shorter one would be found by chance.
const MIN_TEXT_BYTES: usize = 16;
/// Minimum number of different bytes of a fragment. A line of dashes would be found by chance.
const MIN_DIFFERENT_BYTES: usize = 6;

/// A deleted record, as [`ResidueProbes`] describe it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ResidueProbe {
    /// The user, or the tenant of a record without a user. Another user may have a record with the same id.
    pub namespace: Scope,
    /// The id.
    pub id: RecordId,
    /// The [salted](SaltedHash) hash of the content.
    pub content: SaltedHash,
    /// True for a cascade deletion.
    pub cascade_deleted: bool,
}

/// The part of a store that a search for traces reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SearchExtent {
    /// The rows of the users whose records were deleted, so that nothing in the report depends on other users.
    #[default]
    Users,
    /// The whole database, with its indexes and files. The report counts what other users have in common with the
    /// deleted texts: it is for an administrator.
    Database,
}

/// The traces of deleted records that a store is searched for: ids, hashes of contents, and fragments of texts.
///
/// Fragments are known only to the call that deletes the records. They are taken from the text and from the string
/// values of the metadata: at most 65 per value, 24 bytes each. Labels such as speakers and tags have none, because
/// other records share them.
#[derive(Clone, Default)]
pub struct ResidueProbes {
    /// The deleted records, sorted by namespace and id.
    pub records: Vec<ResidueProbe>,
    /// The salt of the hashes.
    pub salt: Salt,
    /// The part of the store to search.
    pub extent: SearchExtent,
    /// The users of values that were replaced in their records. Sorted.
    redacted_users: Vec<Scope>,
    fragments: Vec<Box<[u8]>>,
    short_texts: u64,
}

impl fmt::Debug for ResidueProbes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResidueProbes")
            .field("records", &self.records.len())
            .field("fragments", &self.fragments.len())
            .finish_non_exhaustive()
    }
}

impl ResidueProbes {
    /// Creates probes without fragments of texts.
    pub fn new(salt: Salt, records: Vec<ResidueProbe>) -> Self {
        let mut probes = Self { salt, ..Self::default() };
        probes.set_records(records);
        probes
    }

    /// Sets what is searched.
    #[must_use]
    pub fn with_extent(mut self, extent: SearchExtent) -> Self {
        self.extent = extent;
        self
    }

    /// Returns true if the whole database is searched.
    pub fn covers_database(&self) -> bool {
        self.extent == SearchExtent::Database
    }

    /// Returns true if the rows of this user are searched.
    pub fn covers(&self, namespace: &Scope) -> bool {
        self.covers_database() || self.has_namespace(namespace)
    }

    /// Sets the deleted records.
    pub fn set_records(&mut self, mut records: Vec<ResidueProbe>) {
        records.sort();
        records.dedup();
        self.records = records;
    }

    /// Adds the fragments of a record's texts.
    pub fn add_texts(&mut self, record: &Record) {
        self.add_text(&record.text);
        for value in record.metadata.values() {
            self.add_strings(value);
        }
    }

    fn add_strings(&mut self, value: &serde_json::Value) {
        use serde_json::Value;
        match value {
            Value::String(text) => {
                self.add_text(text);
                // Stores keep metadata as JSON, in which quotes and line breaks are escaped.
                let escaped = json_escaped(text);
                if escaped != *text {
                    self.add_text(&escaped);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.add_strings(item)),
            Value::Object(map) => map.values().for_each(|item| self.add_strings(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Adds a value in a text of a record of a user which was replaced there, with the words around it: the value alone
    /// may remain elsewhere, and is often too short.
    pub fn add_value(&mut self, namespace: &Scope, text: &str, value: Range<usize>) {
        if let Err(index) = self.redacted_users.binary_search(namespace) {
            self.redacted_users.insert(index, namespace.clone());
        }
        let (before, inside, after) = (&text[..value.start], &text[value.clone()], &text[value.end..]);
        self.add_surrounded(text.as_bytes(), value);
        // As in the JSON of the metadata.
        let [before, inside, after] = [before, inside, after].map(json_escaped);
        if before.len() + inside.len() + after.len() != text.len() {
            let range = before.len()..before.len() + inside.len();
            self.add_surrounded([before, inside, after].concat().as_bytes(), range);
        }
    }

    /// Adds the fragments of a value, or one that has the bytes around it if it is shorter than a fragment.
    fn add_surrounded(&mut self, text: &[u8], value: Range<usize>) {
        if value.len() > FRAGMENT_BYTES {
            self.add_text(&String::from_utf8_lossy(&text[value]));
            return;
        }
        let start = value.start.saturating_sub((FRAGMENT_BYTES - value.len()) / 2);
        let end = text.len().min(start + FRAGMENT_BYTES);
        let fragment = &text[end.saturating_sub(FRAGMENT_BYTES)..end];
        let fragments_before = self.fragments.len();
        if fragment.len() >= MIN_TEXT_BYTES {
            self.add_fragment(fragment);
        }
        self.short_texts += u64::from(self.fragments.len() == fragments_before);
    }

    fn add_text(&mut self, text: &str) {
        let text = text.trim();
        // The metadata may name ids and hashes, which tombstones also have.
        if text.parse::<RecordId>().is_ok() || text.parse::<ContentHash>().is_ok() {
            return;
        }
        let bytes = text.as_bytes();
        let fragments_before = self.fragments.len();
        if bytes.len() < MIN_TEXT_BYTES {
            self.short_texts += u64::from(!bytes.is_empty());
            return;
        }
        if bytes.len() <= FRAGMENT_BYTES {
            self.add_fragment(bytes);
            self.short_texts += u64::from(self.fragments.len() == fragments_before);
            return;
        }
        let windows = bytes.len() / FRAGMENT_BYTES;
        let count = windows.min(MAX_FRAGMENT_STEPS);
        let last_start = bytes.len() - FRAGMENT_BYTES;
        for number in 0..=count {
            let start = last_start * number / count;
            self.add_fragment(&bytes[start..start + FRAGMENT_BYTES]);
        }
        self.short_texts += u64::from(self.fragments.len() == fragments_before);
    }

    fn add_fragment(&mut self, fragment: &[u8]) {
        let mut different = fragment.to_vec();
        different.sort_unstable();
        different.dedup();
        if different.len() >= MIN_DIFFERENT_BYTES {
            self.fragments.push(fragment.into());
        }
    }

    /// Returns the number of texts that are not searched for, because they would be found by chance: they have fewer
    /// than 16 bytes, or consist of few different characters.
    pub fn short_texts(&self) -> u64 {
        self.short_texts
    }

    /// Returns the number of fragments.
    pub fn fragments(&self) -> usize {
        self.fragments.len()
    }

    /// Returns the search for the ids and fragments in bytes.
    pub fn byte_search(&self) -> ByteSearch {
        let mut search = ByteSearch::default();
        for (number, record) in (0..).zip(&self.records) {
            search.add_id(record.id, number);
        }
        for (number, fragment) in (0..).zip(&self.fragments) {
            search.add(fragment, Trace::Text(number));
        }
        search.build();
        search
    }

    /// Returns the deleted record with this number, as [`Trace::Id`] names it.
    pub fn record(&self, number: u32) -> Option<&ResidueProbe> {
        self.records.get(number as usize)
    }

    /// Returns the deleted record of this user with this id.
    pub fn find(&self, namespace: &Scope, id: RecordId) -> Option<&ResidueProbe> {
        let key = (namespace, id);
        let found = self.records.binary_search_by(|probe| (&probe.namespace, probe.id).cmp(&key));
        found.ok().and_then(|index| self.records.get(index))
    }

    /// Returns true if records of this user were deleted or redacted.
    pub fn has_namespace(&self, namespace: &Scope) -> bool {
        let first = self.records.partition_point(|probe| probe.namespace < *namespace);
        self.records.get(first).is_some_and(|probe| probe.namespace == *namespace)
            || self.redacted_users.binary_search(namespace).is_ok()
    }

    /// Returns the users whose records were deleted or redacted.
    pub fn namespaces(&self) -> Vec<&Scope> {
        let deleted = self.records.iter().map(|probe| &probe.namespace);
        let mut namespaces: Vec<&Scope> = deleted.chain(&self.redacted_users).collect();
        namespaces.sort();
        namespaces.dedup();
        namespaces
    }

    /// Returns the users whose records were redacted.
    pub fn redacted_users(&self) -> &[Scope] {
        &self.redacted_users
    }

    /// Returns the contents of the deleted records of all users, for [`DeletedContents::find`].
    pub fn contents(&self) -> DeletedContents<'_> {
        let mut contents: Vec<(&Scope, SaltedHash, bool)> =
            self.records.iter().map(|probe| (&probe.namespace, probe.content, probe.cascade_deleted)).collect();
        contents.sort_unstable();
        DeletedContents { salt: self.salt, contents }
    }

    /// Returns the probes of the records for which `is_kept` returns true, with all fragments.
    #[must_use]
    pub fn only(&self, is_kept: impl Fn(&ResidueProbe) -> bool) -> Self {
        Self { records: self.records.iter().filter(|probe| is_kept(probe)).cloned().collect(), ..self.clone() }
    }
}

/// Returns a text as it is in a string of JSON.
fn json_escaped(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    json[1..json.len() - 1].to_owned()
}

/// The contents of deleted records.
#[derive(Debug)]
pub struct DeletedContents<'p> {
    salt: Salt,
    contents: Vec<(&'p Scope, SaltedHash, bool)>,
}

impl DeletedContents<'_> {
    /// Returns `None` if no deleted record of this user had this content. Otherwise returns true if all that had it
    /// were cascade-deleted.
    pub fn find(&self, namespace: &Scope, content: &ContentHash) -> Option<bool> {
        let hash = self.salt.hash(content);
        let first = self.contents.partition_point(|(user, other, _)| (*user, *other) < (namespace, hash));
        // A record that was deleted itself sorts before those that were cascade-deleted.
        let (user, other, cascade_deleted) = self.contents.get(first)?;
        (*user == namespace && *other == hash).then_some(*cascade_deleted)
    }
}

/// A random number that is hashed together with contents, so that the hashes of different certificates have nothing in
/// common.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Salt([u8; 32]);

impl Salt {
    /// Returns the salt with these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns a random salt.
    pub fn random() -> Self {
        let mut hasher = blake3::Hasher::new();
        // Each id has 74 random bits.
        for _ in 0..4 {
            hasher.update(RecordId::new().as_bytes());
        }
        Self(*hasher.finalize().as_bytes())
    }

    /// Returns the salted hash of a text, as it is.
    pub fn hash_text(&self, text: &str) -> SaltedHash {
        SaltedHash(*blake3::keyed_hash(&self.0, text.as_bytes()).as_bytes())
    }

    /// Returns the salted hash of a content.
    pub fn hash(&self, content: &ContentHash) -> SaltedHash {
        SaltedHash(*blake3::keyed_hash(&self.0, content.as_bytes()).as_bytes())
    }
}

/// The BLAKE3 hash of a [`ContentHash`], keyed with a [`Salt`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SaltedHash([u8; 32]);

/// Writes 32 bytes as 64 hexadecimal digits, in text and in JSON.
macro_rules! hex_bytes {
    ($($name:ident),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(blake3::Hash::from_bytes(self.0).to_hex().as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                let hash = blake3::Hash::from_hex(&text);
                hash.map(|hash| Self(*hash.as_bytes())).map_err(|_| {
                    serde::de::Error::custom("expected 64 hexadecimal digits")
                })
            }
        }
    )*};
}

hex_bytes!(Salt, SaltedHash);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{record::Kind, time::SystemClock};

    fn probes(text: &str) -> ResidueProbes {
        let record = Record::new(Scope::user("lin").unwrap(), Kind::TURN, text, &SystemClock);
        let mut probes = ResidueProbes::default();
        probes.add_texts(&record);
        probes
    }

    #[test]
    fn fragments_cover_the_beginning_and_the_end() {
        let text = "The appointment at the clinic was moved to Thursday, ask for doctor Wu.";
        let probes = probes(text);
        assert_eq!(probes.fragments.len(), 3);
        assert!(text.as_bytes().starts_with(&probes.fragments[0]));
        assert!(text.as_bytes().ends_with(&probes.fragments[2]));
        let search = probes.byte_search();
        let count = |bytes: &[u8]| {
            let mut count = 0;
            search.search(bytes, &mut |_| count += 1);
            count
        };
        assert_eq!(count(text.as_bytes()), 3);
        assert_eq!(count(&text.as_bytes()[40..]), 1, "the last fragment");
        assert_eq!(count(b"The appointment at the dentist"), 0);
    }

    #[test]
    fn short_and_monotonous_texts_are_not_searched_for() {
        assert_eq!((probes("好的，谢谢").fragments(), probes("好的，谢谢").short_texts()), (0, 1));
        let dashes = probes(&"-".repeat(500));
        assert_eq!((dashes.fragments(), dashes.short_texts()), (0, 1));
        assert_eq!(probes("4111-1111-2222-3456").fragments(), 1, "a number is searched for");
        assert_eq!(probes("我对海鲜过敏").fragments(), 1);
        assert!(probes(&"a long text, ".repeat(10_000)).fragments() <= MAX_FRAGMENT_STEPS + 1);
    }

    #[test]
    fn values_of_the_metadata_are_searched_for() {
        let mut record = Record::new(Scope::user("lin").unwrap(), Kind::TURN, "ok", &SystemClock);
        let (id, hash) = (RecordId::new().to_string(), ContentHash::of("x").to_string());
        record.metadata.insert("note".into(), serde_json::json!({ "a": ["the locker code is 4711", id, hash] }));
        let mut probes = ResidueProbes::default();
        probes.add_texts(&record);
        assert_eq!((probes.fragments(), probes.short_texts()), (1, 1), "ids and hashes are not texts");
    }

    #[test]
    fn values_of_the_metadata_are_found_as_stores_keep_them() {
        let mut record = Record::new(Scope::user("lin").unwrap(), Kind::TURN, "ok", &SystemClock);
        record.metadata.insert("former".into(), "she said\n\"no\" to it".into());
        let mut probes = ResidueProbes::default();
        probes.add_texts(&record);
        let is_found = |bytes: &[u8]| {
            let mut found = false;
            probes.byte_search().search(bytes, &mut |_| found = true);
            found
        };
        assert!(is_found(&serde_json::to_vec(&record.metadata).unwrap()), "escaped, in JSON");
        assert!(is_found(b"she said\n\"no\" to it"), "and as it is");
        assert!(!is_found(b"she said no to it"));
    }

    #[test]
    fn a_replaced_value_is_searched_for_with_the_words_around_it() {
        let lin = Scope::user("lin").unwrap();
        let text = "the code of the gate is 4711, and \"4711\" is that of the shed";
        let mut probes = ResidueProbes::default();
        for (start, value) in text.match_indices("4711") {
            probes.add_value(&lin, text, start..start + value.len());
        }
        let found = |probes: &ResidueProbes, text: &str| {
            let mut found = 0;
            probes.byte_search().search(text.as_bytes(), &mut |_| found += 1);
            found
        };
        assert_eq!(probes.namespaces(), [&lin]);
        assert!(probes.has_namespace(&lin) && probes.covers(&lin));
        assert_eq!((found(&probes, text), found(&probes, &text.replace("4711", "[deleted]"))), (2, 0));
        assert!(found(&probes, &json_escaped(text)) >= 2, "as it is in JSON");
        assert_eq!(found(&probes, "the code of the bridge is 4711 as well"), 0, "another sentence");
        probes.add_value(&lin, "4711", 0..4);
        assert_eq!(probes.short_texts(), 1);
        let long = "the whole sentence is the value that goes away, and nothing else is around it";
        let mut probes = ResidueProbes::default();
        probes.add_value(&lin, long, 0..long.len());
        assert!(found(&probes, long) > 1);
    }

    #[test]
    fn contents_are_those_of_one_user() {
        let salt = Salt::from_bytes([7; 32]);
        let (lin, mei) = (Scope::user("lin").unwrap(), Scope::user("mei").unwrap());
        let content = ContentHash::of("secret");
        let probe = ResidueProbe {
            namespace: lin.clone(),
            id: RecordId::new(),
            content: salt.hash(&content),
            cascade_deleted: false,
        };
        let probes = ResidueProbes::new(salt, vec![probe.clone()]);
        assert_eq!(probes.contents().find(&lin, &content), Some(false));
        assert_eq!(probes.contents().find(&mei, &content), None);
        assert_eq!(probes.contents().find(&lin, &ContentHash::of("another")), None);
        let cascade_deleted = ResidueProbe { id: RecordId::new(), cascade_deleted: true, ..probe.clone() };
        let cascaded = ResidueProbes::new(salt, vec![cascade_deleted.clone()]);
        assert_eq!(cascaded.contents().find(&lin, &content), Some(true));
        let both = ResidueProbes::new(salt, vec![cascade_deleted, probe.clone()]);
        assert_eq!(both.contents().find(&lin, &content), Some(false));
        assert_ne!(Salt::from_bytes([8; 32]).hash(&content), probe.content);
        assert!(probes.find(&lin, probe.id).is_some() && probes.find(&mei, probe.id).is_none());
        assert!(probes.has_namespace(&lin) && !probes.has_namespace(&mei));
    }
}
