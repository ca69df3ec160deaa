//! Regular expressions with one search cache for the whole process.
//!
//! `regex::Regex` keeps a cache for each thread that searches. For the hundreds of patterns of the extraction rules,
//! that is several megabytes for each thread of a server. A [`SharedRegex`] has one cache, which is locked for one
//! search. Threads rarely wait for it, because a search takes microseconds and each pattern has its own lock. The
//! expressions of a [`RegexIndex`] are compiled only when a text contains their literals.

mod captures;
mod error;
mod index;
mod literals;

use std::{
    borrow::Cow,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

pub use captures::{Captures, Match};
pub use error::RegexError;
pub use index::RegexIndex;
use regex_automata::{
    Input,
    meta::{Cache, Config, Regex},
    util::{iter::Searcher, syntax},
};

/// Default memory limit of a compiled expression, in bytes.
const DEFAULT_MAX_BYTES: usize = 10 << 20;
/// Default memory limit of the lazy automaton of an expression, in bytes.
const DEFAULT_DFA_MAX_BYTES: usize = 2 << 20;

/// Options of a regular expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegexOptions {
    /// Ignores case. Default: false.
    pub ignore_case: bool,
    /// Memory limit of the compiled expression, in bytes. Default: 10 MiB.
    pub max_bytes: usize,
    /// Memory limit of the lazy automaton, in bytes. Default: 2 MiB.
    pub dfa_max_bytes: usize,
}

impl Default for RegexOptions {
    fn default() -> Self {
        Self { ignore_case: false, max_bytes: DEFAULT_MAX_BYTES, dfa_max_bytes: DEFAULT_DFA_MAX_BYTES }
    }
}

impl RegexOptions {
    /// Returns options that ignore case.
    #[must_use]
    pub fn ignoring_case() -> Self {
        Self { ignore_case: true, ..Self::default() }
    }

    /// Compiles an expression.
    ///
    /// # Errors
    /// [`RegexError`] if the expression is invalid or too large.
    pub fn compile(self, expression: &str) -> Result<SharedRegex, RegexError> {
        let config = Config::new().nfa_size_limit(Some(self.max_bytes)).hybrid_cache_capacity(self.dfa_max_bytes);
        let syntax = syntax::Config::new().case_insensitive(self.ignore_case);
        let regex = Regex::builder().configure(config).syntax(syntax).build(expression)?;
        Ok(SharedRegex(Arc::new(Compiled { regex, cache: Mutex::new(None) })))
    }

    /// Creates an index of expressions, which are compiled when a text contains their literals. `kept_bytes` is the
    /// memory limit of the compiled expressions that are kept.
    ///
    /// # Errors
    /// [`RegexError`] if an expression is invalid. [`RegexIndex::check`] reports expressions that are too large.
    pub fn index<S: AsRef<str>>(self, expressions: &[S], kept_bytes: usize) -> Result<RegexIndex, RegexError> {
        RegexIndex::new(expressions, self.ignore_case, self.max_bytes, kept_bytes)
    }
}

struct Compiled {
    regex: Regex,
    /// The cache. It is allocated at the first search, because most processes use few of the patterns.
    cache: Mutex<Option<Cache>>,
}

/// A regular expression whose search cache is shared by all threads.
#[derive(Clone)]
pub struct SharedRegex(Arc<Compiled>);

impl fmt::Debug for SharedRegex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedRegex").field("patterns", &self.0.regex.pattern_len()).finish_non_exhaustive()
    }
}

impl SharedRegex {
    /// Returns the size of the search cache of all threads, in bytes. It is 0 before the first search.
    pub fn cache_bytes(&self) -> usize {
        let cache = self.0.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.as_ref().map_or(0, Cache::memory_usage)
    }

    fn with_cache<T>(&self, search: impl FnOnce(&Regex, &mut Cache) -> T) -> T {
        let Compiled { regex, cache } = &*self.0;
        // A search that panics leaves a cache that the next search may still use: it only holds states.
        let mut cache: MutexGuard<'_, Option<Cache>> = cache.lock().unwrap_or_else(PoisonError::into_inner);
        search(regex, cache.get_or_insert_with(|| regex.create_cache()))
    }

    fn search(&self, input: &Input<'_>) -> Option<regex_automata::Match> {
        self.with_cache(|regex, cache| regex.search_with(cache, input))
    }

    /// Returns true if the expression matches a part of the text.
    pub fn is_match(&self, text: &str) -> bool {
        let input = Input::new(text).earliest(true);
        self.with_cache(|regex, cache| regex.search_half_with(cache, &input)).is_some()
    }

    /// Returns the first match.
    pub fn find<'t>(&self, text: &'t str) -> Option<Match<'t>> {
        self.search(&Input::new(text)).map(|found| Match::new(text, found.range()))
    }

    /// Returns the matches, from left to right and without overlaps.
    pub fn find_iter<'t>(&self, text: &'t str) -> impl Iterator<Item = Match<'t>> {
        let mut searcher = Searcher::new(Input::new(text));
        std::iter::from_fn(move || {
            searcher.advance(|input| Ok(self.search(input))).map(|found| Match::new(text, found.range()))
        })
    }

    /// Returns the groups of the first match.
    pub fn captures<'t>(&self, text: &'t str) -> Option<Captures<'t>> {
        self.search_captures(text, &Input::new(text))
    }

    fn search_captures<'t>(&self, text: &'t str, input: &Input<'_>) -> Option<Captures<'t>> {
        let mut groups = self.0.regex.create_captures();
        self.with_cache(|regex, cache| regex.search_captures_with(cache, input, &mut groups));
        groups.is_match().then(|| Captures::new(text, groups))
    }

    /// Returns the groups of the matches, from left to right and without overlaps.
    pub fn captures_iter<'t>(&self, text: &'t str) -> impl Iterator<Item = Captures<'t>> {
        let mut searcher = Searcher::new(Input::new(text));
        std::iter::from_fn(move || {
            let mut groups = None;
            searcher.advance(|input| {
                groups = self.search_captures(text, input);
                Ok(groups.as_ref().and_then(Captures::whole))
            })?;
            groups
        })
    }

    /// Returns the parts of the text between the matches.
    pub fn split<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let mut start = 0;
        let mut is_done = false;
        let mut matches = self.find_iter(text);
        std::iter::from_fn(move || {
            if is_done {
                return None;
            }
            let part = match matches.next() {
                Some(found) => &text[std::mem::replace(&mut start, found.end())..found.start()],
                None => {
                    is_done = true;
                    &text[start..]
                }
            };
            Some(part)
        })
    }

    /// Replaces the first match.
    pub fn replace<'t>(&self, text: &'t str, replacement: &str) -> Cow<'t, str> {
        match self.find(text) {
            Some(found) => Cow::Owned(format!("{}{replacement}{}", &text[..found.start()], &text[found.end()..])),
            None => Cow::Borrowed(text),
        }
    }

    /// Replaces all matches.
    pub fn replace_all<'t>(&self, text: &'t str, mut replacement: impl FnMut(&Captures<'t>) -> String) -> Cow<'t, str> {
        let mut replaced = String::new();
        let mut end = 0;
        for groups in self.captures_iter(text) {
            let Some(found) = groups.get(0) else { continue };
            replaced.push_str(&text[end..found.start()]);
            replaced.push_str(&replacement(&groups));
            end = found.end();
        }
        if end == 0 && replaced.is_empty() {
            return Cow::Borrowed(text);
        }
        replaced.push_str(&text[end..]);
        Cow::Owned(replaced)
    }
}
