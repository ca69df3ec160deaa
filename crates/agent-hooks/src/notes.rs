//! Notes about the work on a project: conventions, which every prompt gets, and decisions.

use std::collections::BTreeSet;

use memory_engine::{
    Field, Filter, Kind, Language, MemoryEngine, Record, RecordId, Result, ScanQuery, Scope, Turn,
    context::{EstimatedTokens, GatewayBlock, TokenCounter},
    enrichment::fact_keys,
    store::ContentHash,
};

use crate::{
    session::SCENE,
    statement::{NoteClass, Statement},
};

/// The metadata key of the class of a note.
const NOTE_CLASS: &str = "note_class";
/// The metadata key of a note that has most of the words of its message, which then need not be injected as well.
const IS_WHOLE: &str = "note_is_whole";
/// Minimum share of the words of a message that such a note has.
const WHOLE_SHARE: f64 = 0.6;
/// Maximum number of conventions and wishes that are read, the newest ones.
const MAX_CONVENTIONS: usize = 80;
/// The slot of facts about what the user wishes.
const WISH: &str = "wish";

/// Returns the notes of a prompt that is stored at `address`. What is about the person, and what holds in all projects,
/// is noted for the user.
///
/// # Errors
/// `InvalidInput` for an invalid name.
pub(crate) fn notes_of(
    statements: &[Statement],
    readable: &Scope,
    address: &Scope,
    (source, words): (RecordId, &str),
    engine: &MemoryEngine,
) -> Result<Vec<Record>> {
    let mut notes: Vec<Record> = Vec::new();
    if readable.project().is_none() {
        return Ok(notes);
    }
    for statement in statements {
        // A message about the person alone is the person's already.
        let class = statement.class.filter(|class| *class != NoteClass::Person || address.project().is_some());
        let Some(class) = class else { continue };
        let scope = if statement.is_everywhere { readable.namespace() } else { readable.clone() };
        let share = statement.text.chars().count() as f64 / words.chars().count().max(1) as f64;
        let note = Turn::note(statement.text.as_str())
            .with_scene(SCENE)
            // With the message in its name, a note that was deleted with a message can be stated again.
            .with_message_id(format!("hook/note/{source}/{}", ContentHash::of(&statement.text)))
            .meta(NOTE_CLASS, class.as_str())
            .meta(IS_WHOLE, share >= WHOLE_SHARE);
        let mut note = note.into_record(&scope, engine.settings().clock());
        note.derived_from = vec![source];
        if notes.iter().all(|known| known.id != note.id) {
            notes.push(note);
        }
    }
    Ok(notes)
}

/// The conventions that hold in a project, the newest first.
#[derive(Debug, Default)]
pub(crate) struct Conventions {
    pub(crate) notes: Vec<Record>,
    /// Wishes that were extracted from the same messages, and repeat them.
    wishes: Vec<RecordId>,
}

impl Conventions {
    /// Loads those that fit into a number of tokens.
    ///
    /// # Errors
    /// The store's.
    pub(crate) async fn load(engine: &MemoryEngine, readable: &Scope, max_tokens: usize) -> Result<Self> {
        let is_convention = Filter::eq(Field::Metadata(NOTE_CLASS.into()), NoteClass::Convention.as_str());
        let is_wish = Filter::eq(Field::Metadata(fact_keys::SLOT.into()), WISH);
        let filter = Filter::Or(vec![is_convention, is_wish]).and(Filter::eq(Field::State, "active"));
        let query = ScanQuery::newest(MAX_CONVENTIONS).with_filter(filter);
        let found = engine.history().timeline(readable, &query).await?.records;
        let (mut notes, wishes): (Vec<Record>, Vec<Record>) = found.into_iter().partition(|r| r.kind == Kind::NOTE);
        // The project first, within it the newest, and what is said again once.
        notes.sort_by_key(|note| note.scope.project().is_none());
        let mut texts = BTreeSet::new();
        notes.retain(|note| texts.insert(note.content_hash()));
        let mut remaining = max_tokens;
        notes.retain(|note| match remaining.checked_sub(EstimatedTokens.count(&line(note))) {
            Some(rest) => {
                remaining = rest;
                true
            }
            None => false,
        });
        let repeats =
            |wish: &&Record| notes.iter().any(|note| note.derived_from.iter().any(|id| wish.derived_from.contains(id)));
        let wishes = wishes.iter().filter(repeats).map(|wish| wish.id).collect();
        Ok(Self { notes, wishes })
    }

    /// Returns the ids of the notes, and of what says nothing else.
    pub(crate) fn ids(&self) -> BTreeSet<RecordId> {
        let is_whole = |note: &&Record| note.metadata.get(IS_WHOLE).and_then(serde_json::Value::as_bool) == Some(true);
        let sources = self.notes.iter().filter(is_whole).flat_map(|note| note.derived_from.iter().copied());
        self.notes.iter().map(|note| note.id).chain(sources).chain(self.wishes.iter().copied()).collect()
    }

    /// Returns a block of memories with the conventions before them.
    pub(crate) fn add_to(&self, block: &GatewayBlock, language: Language, memories: &str) -> String {
        if self.notes.is_empty() {
            return memories.to_owned();
        }
        let heading = language.pick("本项目的约定", "Conventions of this project");
        let lines: Vec<String> = self.notes.iter().map(line).collect();
        block.with_section(language, memories, heading, &lines)
    }
}

fn line(note: &Record) -> String {
    format!("- {}", note.text)
}
