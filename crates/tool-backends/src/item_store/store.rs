//! The store.

use std::collections::BTreeSet;

use memory_engine::{
    Error, ErrorKind, Filter, MemoryEngine, RecallHit, RecallQuery, Record, Result, Scope, Trust,
    retry::{WRITE_ATTEMPTS, retry_on_conflict},
};
use serde_json::{Map, Value};

use super::{
    filter,
    item::{self, StoreItem},
    query::{ItemQuery, NamespaceQuery},
};
use crate::named_records::{NamedRecords, WriteOutcome};

const OPERATION: &str = "item_store";
/// Maximum size of a value, in bytes of JSON.
const MAX_VALUE_BYTES: usize = 200_000;
/// Maximum number of labels of a namespace.
const MAX_LABELS: usize = 16;
/// Maximum length of a label or a key, in bytes.
const MAX_NAME_BYTES: usize = 512;
/// Maximum number of items that a search with a query and a filter compares.
const MAX_CANDIDATES: usize = 1000;

/// LangGraph's store (`BaseStore`) of one user: values with a namespace and a key. Every item is a record, so that
/// recall finds the texts of its value.
#[derive(Debug, Clone)]
#[must_use]
pub struct ItemStore(NamedRecords);

/// The outcome of [`ItemStore::put`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemWrite {
    /// The item is written.
    Done,
    /// The item waits until a person accepts it.
    Waiting,
}

impl ItemStore {
    /// A store with the items at `scope`, usually that of a user.
    pub fn new(engine: MemoryEngine, scope: Scope) -> Self {
        Self(NamedRecords::new(engine, scope, item::NAME))
    }

    /// Returns the scope of the items.
    pub fn scope(&self) -> &Scope {
        &self.0.scope
    }

    /// Writes an item, in place of an earlier one with the same namespace and key. `indexed` are the fields of the
    /// value whose texts are searched, such as `person.name`: all if it is `None`, none if it is empty. If the review
    /// policy reviews [tools](memory_engine::review::ReviewSource::Tools), the item waits until a person accepts it,
    /// and the earlier one stays.
    ///
    /// # Errors
    /// `Unauthorized` if the policy rejects tools, or a person has rejected the same text; `InvalidInput` for an empty
    /// label, key or namespace, or one that is too long or has a full stop in a label, and for a value of more than
    /// 200 000 bytes; `Conflict` if others keep changing the item; the errors of the store.
    pub async fn put(
        &self,
        namespace: &[String],
        key: &str,
        value: &Map<String, Value>,
        indexed: Option<&[String]>,
    ) -> Result<ItemWrite> {
        check_names(namespace, key)?;
        let size = serde_json::to_string(value).map_or(0, |json| json.len());
        if size > MAX_VALUE_BYTES {
            let message = format!("the value has {size} bytes; at most {MAX_VALUE_BYTES} are allowed");
            return Err(Error::invalid(OPERATION, message));
        }
        let name = item::name(namespace, key);
        let fill = |record: &mut Record| {
            record.trust = Trust::Assistant;
            item::fill(record, namespace, key, value, indexed);
        };
        // A conflict means that another writer has changed the item since it was read.
        retry_on_conflict(WRITE_ATTEMPTS, || async {
            let outcome = match self.0.find(&name).await? {
                None => self.0.create(&name, fill).await?,
                Some(mut record) => {
                    fill(&mut record);
                    record.occurred_at = self.0.engine.settings().clock().now();
                    self.0.replace(record).await?
                }
            };
            match outcome {
                WriteOutcome::Done => Ok(ItemWrite::Done),
                WriteOutcome::Waiting => Ok(ItemWrite::Waiting),
                WriteOutcome::Conflict => {
                    Err(Error::new(ErrorKind::Conflict, OPERATION, "others keep changing the item; try again"))
                }
            }
        })
        .await
    }

    /// Returns an item.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn get(&self, namespace: &[String], key: &str) -> Result<Option<StoreItem>> {
        Ok(self.0.find(&item::name(namespace, key)).await?.as_ref().and_then(StoreItem::of))
    }

    /// Deletes an item for good. Returns false if there is none.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn delete(&self, namespace: &[String], key: &str) -> Result<bool> {
        let Some(record) = self.0.find(&item::name(namespace, key)).await? else { return Ok(false) };
        self.0.delete(vec![record.id]).await?;
        Ok(true)
    }

    /// Returns the items that match, best first, or those written last if there is no query. Of a search with a query,
    /// at most 1000 items are compared with the filter.
    ///
    /// # Errors
    /// `InvalidInput` for a limit above 1000 or an unknown operator; the errors of the store.
    pub async fn search(&self, query: &ItemQuery) -> Result<Vec<StoreItem>> {
        check_limit(query.limit)?;
        let conditions = query.filter.clone().unwrap_or_default();
        filter::check(&conditions)?;
        let labels = query.namespace_prefix.iter().enumerate();
        let in_namespace =
            Filter::And(labels.map(|(level, label)| Filter::meta(item::label_key(level), label.as_str())).collect());
        let text = query.query.as_deref().map(str::trim).filter(|text| !text.is_empty());
        let items = match text {
            Some(text) => self.found(text, in_namespace).await?,
            None => {
                let mut items: Vec<StoreItem> =
                    self.0.matching(in_namespace).await?.iter().filter_map(StoreItem::of).collect();
                items.sort_by_key(|item| std::cmp::Reverse(item.updated_at));
                items
            }
        };
        let matching = items.into_iter().filter(|item| filter::matches(&conditions, &item.value));
        Ok(matching.skip(query.offset).take(query.limit).collect())
    }

    /// Returns the items that a recall finds.
    async fn found(&self, text: &str, in_namespace: Filter) -> Result<Vec<StoreItem>> {
        let query = RecallQuery::new(text).with_limit(MAX_CANDIDATES).with_filter(self.0.filter().and(in_namespace));
        let recall = self.0.engine.recall(&self.0.scope, query).await?;
        let item = |hit: &RecallHit| Some(StoreItem { score: Some(hit.score.value()), ..StoreItem::of(&hit.record)? });
        Ok(recall.hits.iter().filter_map(item).collect())
    }

    /// Returns the namespaces of all items, in order.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn namespaces(&self, query: &NamespaceQuery) -> Result<Vec<Vec<String>>> {
        check_limit(query.limit)?;
        let records = self.0.all().await?;
        let namespaces = records.iter().filter_map(StoreItem::of).map(|item| item.namespace);
        let mut found: BTreeSet<Vec<String>> = BTreeSet::new();
        for mut namespace in namespaces.filter(|namespace| query.matches(namespace)) {
            namespace.truncate(query.max_depth.unwrap_or(usize::MAX));
            found.insert(namespace);
        }
        Ok(found.into_iter().skip(query.offset).take(query.limit).collect())
    }
}

fn check_limit(limit: usize) -> Result<()> {
    let max = ItemQuery::MAX_LIMIT;
    if limit > max {
        return Err(Error::invalid(OPERATION, format!("limit is {limit}; at most {max} is allowed")));
    }
    Ok(())
}

fn check_names(namespace: &[String], key: &str) -> Result<()> {
    let invalid = |message: String| Err(Error::invalid(OPERATION, message));
    if namespace.is_empty() || namespace.len() > MAX_LABELS {
        return invalid(format!("the namespace has {} labels; it needs 1 to {MAX_LABELS}", namespace.len()));
    }
    if let Some(label) = namespace.iter().find(|label| label.is_empty() || label.contains('.')) {
        return invalid(format!("the label {label:?} of the namespace is empty or contains a full stop"));
    }
    if key.is_empty() {
        return invalid("the key is empty".into());
    }
    match namespace.iter().map(String::as_str).chain([key]).find(|name| name.len() > MAX_NAME_BYTES) {
        Some(name) => invalid(format!("a name has {} bytes; at most {MAX_NAME_BYTES} are allowed", name.len())),
        None => Ok(()),
    }
}
