//! Lists in pages.

use axum::{
    extract::Query,
    http::{HeaderMap, Uri, header::HOST},
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::params::{Int, ParamGroup};

/// Characters that a query string cannot contain as they are.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Default number of entries per page.
const DEFAULT_PAGE_SIZE: usize = 100;

/// The page of a list. Query parameters take precedence over the body.
#[derive(Debug, Default, Clone, Copy, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct PageParams {
    /// The number of the page, from 1.
    page: Option<Int<1, 1_000_000>>,
    /// Maximum number of entries per page. Default: 100.
    page_size: Option<Int<1, 200>>,
    /// Maximum number of entries, for old clients.
    limit: Option<Int<1, 1000>>,
    /// Maximum number of entries, for old clients.
    top_k: Option<Int<1, 1000>>,
}

impl ParamGroup for PageParams {}

/// A page of a list, and the address of the list.
#[derive(Debug, Clone)]
pub(super) struct ListPage {
    number: usize,
    pub(super) size: usize,
    pub(super) is_requested: bool,
    /// The address of the list, up to its parameters.
    address: String,
    /// The parameters that all pages share, each followed by `&`.
    parameters: String,
}

/// The entries of a page, and the addresses of the pages before and after it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PageOf<T> {
    /// The number of entries on all pages.
    count: usize,
    next: Option<String>,
    previous: Option<String>,
    pub(super) results: Vec<T>,
}

impl PageParams {
    /// Fills missing parameters from `other`.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            page: self.page.or(other.page),
            page_size: self.page_size.or(other.page_size),
            limit: self.limit.or(other.limit),
            top_k: self.top_k.or(other.top_k),
        }
    }

    /// Returns the page of the list at a path. Its address uses the scheme and host by which the client reached the
    /// server.
    pub(super) fn page(self, path: &str, headers: &HeaderMap) -> ListPage {
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let scheme = header("x-forwarded-proto").filter(|scheme| matches!(*scheme, "http" | "https")).unwrap_or("http");
        let is_host_character = |c: char| c.is_ascii_alphanumeric() || ".-:[]_".contains(c);
        let host = header(HOST.as_str()).filter(|host| !host.is_empty() && host.chars().all(is_host_character));
        let old_size = self.limit.map(Int::get).or(self.top_k.map(Int::get));
        let size = self.page_size.map(Int::get).or(old_size).unwrap_or(DEFAULT_PAGE_SIZE);
        ListPage {
            number: self.page.map_or(1, Int::get),
            size,
            is_requested: self.page.is_some(),
            address: format!("{scheme}://{}{path}", host.unwrap_or("localhost")),
            parameters: String::new(),
        }
    }
}

impl ListPage {
    /// Returns the number of entries before this page.
    pub(super) fn skip(&self) -> usize {
        (self.number - 1) * self.size
    }

    /// Repeats the query parameters of a request in the addresses of the other pages.
    pub(super) fn with_parameters_of(mut self, uri: &Uri) -> Self {
        let pairs = Query::<Vec<(String, String)>>::try_from_uri(uri).map(|Query(pairs)| pairs).unwrap_or_default();
        let shared = pairs.iter().filter(|(name, _)| !matches!(name.as_str(), "page" | "page_size"));
        let escaped = |text| utf8_percent_encode(text, RESERVED);
        self.parameters = shared.map(|(name, value)| format!("{}={}&", escaped(name), escaped(value))).collect();
        self
    }

    /// Adds the addresses of the neighbouring pages to the entries of this page. `count` is the number on all pages.
    pub(super) fn with_results<T>(&self, results: Vec<T>, count: usize) -> PageOf<T> {
        let next = (self.number * self.size < count).then(|| self.address_of(self.number + 1));
        let last_page = count.div_ceil(self.size).max(1);
        let previous = (self.number > 1).then(|| self.address_of((self.number - 1).min(last_page)));
        PageOf { count, next, previous, results }
    }

    fn address_of(&self, page: usize) -> String {
        format!("{}?{}page={page}&page_size={}", self.address, self.parameters, self.size)
    }
}
