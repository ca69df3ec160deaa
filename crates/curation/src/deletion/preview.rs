//! The records that a deletion would remove.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{Field, Filter, FilterValue, Record, RecordId, Result, ScanQuery, Scope, State};
use memory_engine_screening::ValuePattern;
use serde::Serialize;

use crate::{
    curation::{Curation, PAGE_ROWS},
    deletion::{
        forget::{Forget, everything},
        linked::{LinkedRecords, LinkedTurns},
    },
};

/// The records that `forget` would remove, or redact.
/// `Deletion::preview` returns it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ForgetPreview {
    /// Number of records that the target names or matches, by kind.
    pub selected: BTreeMap<String, u64>,
    /// Number of further records, by kind, that are deleted because they are derived from those, or redacted. They may
    /// be outside of the scope, in the memory of the same user.
    pub derived: BTreeMap<String, u64>,
    /// Groups of synonyms, and decisions about pairs of words.
    pub synonyms: u64,
    /// Number of turns that state a fact to delete: they would be retracted.
    pub retracted: u64,
    /// Ids of the target that no record within the scope has.
    pub not_found: Vec<RecordId>,
    /// The first of the selected records.
    pub selected_sample: Vec<Record>,
    /// The first of the derived records.
    pub derived_sample: Vec<Record>,
    /// The first of the turns to retract.
    pub retracted_sample: Vec<Record>,
}

impl ForgetPreview {
    /// Number of records, of any kind.
    pub fn records(&self) -> u64 {
        self.selected.values().chain(self.derived.values()).sum()
    }
}

/// The ids of records, by user. Two users can have records with the same id.
type IdsByUser = BTreeMap<Scope, BTreeSet<RecordId>>;

/// A preview while its records are read.
struct PreviewBuilder<'e> {
    curation: &'e Curation,
    sample: usize,
    /// The value that is replaced; `None` if records are deleted.
    redacted: Option<ValuePattern>,
    selected: IdsByUser,
    derived: IdsByUser,
    preview: ForgetPreview,
}

impl Curation {
    /// Returns the records that a deletion would remove now, and samples of at most this size.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid filter or a text that is too short; the store's error.
    pub async fn preview_forget(&self, scope: &Scope, target: Forget, sample: usize) -> Result<ForgetPreview> {
        let mut builder = PreviewBuilder {
            curation: self,
            sample,
            redacted: None,
            selected: IdsByUser::new(),
            derived: IdsByUser::new(),
            preview: ForgetPreview::default(),
        };
        match target {
            Forget::Ids(ids) => builder.select_ids(scope, &ids, LinkedTurns::Retract).await?,
            Forget::Linked { ids, turns } => builder.select_ids(scope, &ids, turns).await?,
            Forget::Matching(filter) => builder.select_matching(scope, Some(filter), None).await?,
            Forget::Text(text) => {
                let pattern = text.pattern()?;
                builder.select_matching(scope, None, Some(&pattern)).await?;
                builder.redacted = text.redact.then_some(pattern);
            }
            Forget::Everything => {
                builder.select_matching(scope, Some(everything()), None).await?;
                if *scope == scope.namespace() {
                    let store = self.synonyms().store();
                    builder.preview.synonyms =
                        store.list(scope).await?.len() as u64 + store.verdicts(scope).await?.len() as u64;
                }
            }
        }
        builder.finish().await
    }
}

impl PreviewBuilder<'_> {
    async fn select_ids(&mut self, scope: &Scope, ids: &[RecordId], linked_turns: LinkedTurns) -> Result<()> {
        for page in ids.chunks(PAGE_ROWS) {
            let filter = Filter::any_of(Field::Id, page.iter().map(|id| FilterValue::from(id.to_string())));
            let query = ScanQuery::oldest(usize::MAX).with_filter(filter);
            let records = self.curation.indexed_store().scan(scope, &query).await?.records;
            self.select(&records).await?;
        }
        let found: BTreeSet<RecordId> = self.selected.values().flatten().copied().collect();
        self.preview.not_found = ids.iter().filter(|id| !found.contains(id)).copied().collect();
        for (user, LinkedRecords { mut confirming, turns }) in self.curation.linked_records(scope, ids).await? {
            match linked_turns {
                LinkedTurns::Delete => confirming.extend(turns),
                LinkedTurns::Retract => {
                    let turns = self.curation.indexed_store().get_all(&user, &turns).await?;
                    for turn in turns.iter().flatten().filter(|turn| turn.state == State::Active) {
                        self.preview.retracted += 1;
                        add_sample(&mut self.preview.retracted_sample, turn, self.sample);
                    }
                }
                LinkedTurns::Keep => {}
            }
            let confirming = self.curation.indexed_store().get_all(&user, &confirming).await?;
            self.select(&confirming.into_iter().flatten().collect::<Vec<Record>>()).await?;
        }
        Ok(())
    }

    /// Selects the records that match a filter, or contain a value.
    async fn select_matching(
        &mut self,
        scope: &Scope,
        filter: Option<Filter>,
        value: Option<&ValuePattern>,
    ) -> Result<()> {
        let mut query = ScanQuery::oldest(PAGE_ROWS);
        query.filter = filter;
        let mut pages = self.curation.indexed_store().pages(scope, query);
        while let Some(mut page) = pages.next().await? {
            if let Some(value) = value {
                page.records.retain(|record| value.is_in(record));
            }
            self.select(&page.records).await?;
        }
        Ok(())
    }

    /// Adds selected records, and the ids of those derived from them.
    async fn select(&mut self, records: &[Record]) -> Result<()> {
        let mut ids_by_user: BTreeMap<Scope, Vec<RecordId>> = BTreeMap::new();
        for record in records {
            let user = record.scope.namespace();
            if self.selected.entry(user.clone()).or_default().insert(record.id) {
                count(&mut self.preview.selected, record);
                add_sample(&mut self.preview.selected_sample, record, self.sample);
                ids_by_user.entry(user).or_default().push(record.id);
            }
        }
        for (user, ids) in ids_by_user {
            let derived = self.curation.record_store().derived(&user, &ids).await?;
            self.derived.entry(user).or_default().extend(derived);
        }
        Ok(())
    }

    /// Reads the derived records that were not selected themselves.
    async fn finish(mut self) -> Result<ForgetPreview> {
        for (user, ids) in std::mem::take(&mut self.derived) {
            let is_selected = |id: &RecordId| self.selected.get(&user).is_some_and(|selected| selected.contains(id));
            let ids: Vec<RecordId> = ids.into_iter().filter(|id| !is_selected(id)).collect();
            for page in ids.chunks(PAGE_ROWS) {
                let derived = self.curation.indexed_store().get_all(&user, page).await?;
                let is_changed = |record: &&Record| self.redacted.as_ref().is_none_or(|value| value.is_in(record));
                for record in derived.iter().flatten().filter(is_changed) {
                    count(&mut self.preview.derived, record);
                    add_sample(&mut self.preview.derived_sample, record, self.sample);
                }
            }
        }
        Ok(self.preview)
    }
}

fn count(counts: &mut BTreeMap<String, u64>, record: &Record) {
    *counts.entry(record.kind.as_str().to_owned()).or_default() += 1;
}

/// Adds a record to a sample unless it is full.
fn add_sample(sample: &mut Vec<Record>, record: &Record, limit: usize) {
    if sample.len() < limit {
        sample.push(record.clone());
    }
}
