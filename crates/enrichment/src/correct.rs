//! Corrections of facts by a person.

use memory_engine_core::{Error, ErrorKind, Kind, PutMode, Record, RecordId, Result, Role, Trust, Write};
use memory_engine_summarizer::{ExtractedFact, FactEvidence, FactExtractor};

use crate::{enrich::built_in_rules, enrichment::Enrichment};

impl Enrichment {
    /// Gives a fact another value. The correction is stored as a note, which is the evidence of the new fact; the old
    /// fact is superseded from now on. Returns the id of the new fact; `None` for a record that states no attribute,
    /// which can be edited in place. If the note is retracted or deleted, the old fact holds again.
    ///
    /// `text` is the new value ("Lisbon") or a sentence that states it ("I live in Lisbon").
    ///
    /// # Errors
    /// `InvalidInput` if the text is empty; the store's error.
    pub async fn correct_fact(&self, record: &Record, text: &str) -> Result<Option<RecordId>> {
        let Some(old) = ExtractedFact::from_record(record) else { return Ok(None) };
        let address = &record.scope;
        let mut note = Record::new(address.clone(), Kind::NOTE, text, self.store().clock().as_ref());
        note.role = Some(Role::USER);
        note.trust = Trust::User;
        let mut corrected = self.restated(&old, &note).await?.unwrap_or_else(|| revalued(&old, text));
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
        self.turns().facts().add(address, &[corrected], std::slice::from_ref(&note), Trust::User).await?;
        let facts = self.turns().facts().derived_from(address, &[note.id]).await?;
        let new = facts.first().map(|fact| fact.id);
        new.map(Some)
            .ok_or_else(|| Error::new(ErrorKind::Conflict, "update", "the corrected fact was deleted meanwhile"))
    }

    /// Reads a sentence by the rules. Returns its fact if it states the same attribute of the same subject.
    async fn restated(&self, old: &ExtractedFact, note: &Record) -> Result<Option<ExtractedFact>> {
        let mut turn = note.clone();
        turn.kind = Kind::TURN;
        let facts = built_in_rules()?.extract(&[turn], self.turns().facts().locale()).await?.facts;
        Ok(facts
            .into_iter()
            .find(|fact| fact.subject == old.subject && fact.slot == old.slot && fact.polarity == old.polarity))
    }
}

/// Returns the fact with a text of the caller as its value.
fn revalued(old: &ExtractedFact, text: &str) -> ExtractedFact {
    let mut fact = old.clone();
    text.trim().clone_into(&mut fact.text);
    fact.value.clone_from(&fact.text);
    fact.rule = None;
    fact
}
