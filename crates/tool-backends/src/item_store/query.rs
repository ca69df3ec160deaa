//! Queries of items and namespaces.

use serde::Deserialize;
use serde_json::{Map, Value};

/// A search for items.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default)]
pub struct ItemQuery {
    /// The labels that the namespace begins with. Default: none.
    pub namespace_prefix: Vec<String>,
    /// Conditions on fields of the value: a value that the field equals, an object with `$eq`, `$ne`, `$gt`, `$gte`,
    /// `$lt` or `$lte`, or conditions on the fields of an object. Default: none.
    pub filter: Option<Map<String, Value>>,
    /// Maximum number of items, at most [`MAX_LIMIT`](Self::MAX_LIMIT). Default: 10.
    pub limit: usize,
    /// Number of items to skip. Default: 0.
    pub offset: usize,
    /// A question or a few words. The best items come first; without it, those that were written last.
    pub query: Option<String>,
}

impl ItemQuery {
    /// The greatest limit of a search, and of a list of namespaces.
    pub const MAX_LIMIT: usize = 1000;
}

impl Default for ItemQuery {
    fn default() -> Self {
        Self { namespace_prefix: Vec::new(), filter: None, limit: 10, offset: 0, query: None }
    }
}

/// A list of namespaces.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct NamespaceQuery {
    /// The labels that the namespace begins with; `*` stands for any one. Default: none.
    pub prefix: Option<Vec<String>>,
    /// The labels that the namespace ends with; `*` stands for any one. Default: none.
    pub suffix: Option<Vec<String>>,
    /// Maximum number of labels; longer namespaces are cut. Default: no limit.
    pub max_depth: Option<usize>,
    /// Maximum number of namespaces, at most [`ItemQuery::MAX_LIMIT`]. Default: 100.
    pub limit: usize,
    /// Number of namespaces to skip. Default: 0.
    pub offset: usize,
}

impl Default for NamespaceQuery {
    fn default() -> Self {
        Self { prefix: None, suffix: None, max_depth: None, limit: 100, offset: 0 }
    }
}

impl NamespaceQuery {
    /// Returns true if the namespace begins and ends as the query says.
    pub(crate) fn matches(&self, namespace: &[String]) -> bool {
        let equal = |pattern: &[String], labels: &[String]| {
            pattern.len() == labels.len() && pattern.iter().zip(labels).all(|(p, label)| p == "*" || p == label)
        };
        let begins = |prefix: &Vec<String>| namespace.get(..prefix.len()).is_some_and(|labels| equal(prefix, labels));
        let ends = |suffix: &Vec<String>| {
            let start = namespace.len().checked_sub(suffix.len());
            start.is_some_and(|start| equal(suffix, &namespace[start..]))
        };
        self.prefix.as_ref().is_none_or(begins) && self.suffix.as_ref().is_none_or(ends)
    }
}
