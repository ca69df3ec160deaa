//! Corrections of facts by a person.

use memory_engine_core::{Error, ErrorKind, Kind, PutMode, Record, RecordId, Result, ReviewPolicy, Role, Trust, Write};
use memory_engine_summarizer::{ExtractedFact, FactEvidence, FactExtractor};

use crate::{enrich::built_in_rules, enrichment::Enrichment};

impl Enrichment {
    /// Gives a fact another value. The correction is stored as a note, which is the evidence of the new fact. The old
    /// fact is superseded. Returns the id of the new fact; `None` for a record without a slot, which can be edited in
    /// place. If the note is retracted or deleted, the old fact holds again.
    ///
    /// `text` is the new value ("Lisbon") or a sentence that states it ("I live in Lisbon").
    ///
    /// # Errors
    /// `InvalidInput` if the text is empty; `Conflict` if the correction is deleted meanwhile; the store's error.
    pub async fn correct_fact(&self, record: &Record, text: &str) -> Result<Option<RecordId>> {
        let Some(old) = ExtractedFact::from_record(record) else { return Ok(None) };
        let address = &record.scope;
        let mut note = Record::new(address.clone(), Kind::NOTE, text, self.store().clock().as_ref());
        note.role = Some(Role::USER);
        note.trust = Trust::User;
        let stated = self.fact_stated_in(&note, &old).await?;
        let mut corrected = stated.unwrap_or_else(|| with_value(&old, text));
        corrected.said_at = note.occurred_at;
        corrected.valid_from = None;
        corrected.valid_until = None;
        corrected.sequence = None;
        corrected.confidence = 1.0;
        corrected.evidence = vec![FactEvidence { record: note.id, quote: text.to_owned() }];
        corrected.corrects = Some(record.id);
        self.store().write(address, vec![Write::new(note.clone(), PutMode::Create)]).await?;
        let stored = self.store().get(address, note.id).await?;
        let note =
            stored.ok_or_else(|| Error::new(ErrorKind::Conflict, "update", "the correction was deleted meanwhile"))?;
        let sources = std::slice::from_ref(&note);
        // A person has stated it, so that it needs no review.
        self.turns().facts().add(address, &[corrected], sources, Trust::User, &ReviewPolicy::default()).await?;
        let facts = self.turns().facts().derived_from(address, &[note.id]).await?;
        match facts.first() {
            Some(fact) => Ok(Some(fact.id)),
            None => Err(Error::new(ErrorKind::Conflict, "update", "the corrected fact was deleted meanwhile")),
        }
    }

    /// Returns the fact that a reviewer states in place of a pending one: with another value, and the same evidence.
    /// `None` for a record without a slot, which can be edited in place. Nothing is written.
    ///
    /// # Errors
    /// Those of the rules.
    pub async fn edited_fact(&self, record: &Record, text: &str) -> Result<Option<Record>> {
        let Some(old) = ExtractedFact::from_record(record) else { return Ok(None) };
        let mut note = Record::new(record.scope.clone(), Kind::NOTE, text, self.store().clock().as_ref());
        note.role = Some(Role::USER);
        note.occurred_at = record.occurred_at;
        let stated = self.fact_stated_in(&note, &old).await?;
        let mut edited = stated.unwrap_or_else(|| with_value(&old, text));
        edited.said_at = old.said_at;
        edited.valid_from = edited.valid_from.or(old.valid_from);
        edited.valid_until = edited.valid_until.or(old.valid_until);
        edited.sequence = old.sequence;
        edited.confidence = 1.0;
        edited.evidence = old.evidence;
        edited.corrects = Some(record.id);
        let mut new = edited.to_record(&record.scope, self.store().clock().now());
        // The revision makes the id unique, so that the pending fact can be restored and edited again.
        new.id = RecordId::named(&record.scope, &format!("review of {} at {}", record.id, record.revision));
        new.trust = Trust::User;
        (new.pinned, new.expires_at) = (record.pinned, record.expires_at);
        (new.speaker, new.scene, new.topic) = (record.speaker.clone(), record.scene.clone(), record.topic.clone());
        Ok(Some(new))
    }

    /// Extracts facts from the note by the rules. Returns the one with the subject, slot and polarity of the old fact.
    async fn fact_stated_in(&self, note: &Record, old: &ExtractedFact) -> Result<Option<ExtractedFact>> {
        let mut turn = note.clone();
        turn.kind = Kind::TURN;
        let facts = built_in_rules()?.extract(&[turn], self.turns().facts().locale()).await?.facts;
        Ok(facts
            .into_iter()
            .find(|fact| fact.subject == old.subject && fact.slot == old.slot && fact.polarity == old.polarity))
    }
}

/// Returns the fact with a text of the caller as its value.
fn with_value(old: &ExtractedFact, text: &str) -> ExtractedFact {
    let mut fact = old.clone();
    text.trim().clone_into(&mut fact.text);
    fact.value.clone_from(&fact.text);
    fact.rule = None;
    fact
}
