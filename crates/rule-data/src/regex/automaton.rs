//! A lazy automaton that finds which expressions match a text, but not the positions.

use std::{
    error::Error,
    sync::{Mutex, MutexGuard, PoisonError},
};

use regex_automata::{
    Input, MatchKind, PatternSet,
    hybrid::dfa::{Cache, DFA},
    nfa::thompson::{Config, NFA, WhichCaptures, pikevm::PikeVM},
    util::{prefilter::Prefilter, syntax},
};

/// Expressions whose lazy automaton is shared by all threads.
///
/// It searches forwards only. A `meta::Regex` also holds automata for backward searches and for groups. When the cache
/// is full, this automaton clears it and continues. A `meta::Regex` then falls back to a slower engine.
#[derive(Debug)]
pub(super) struct ForwardAutomaton {
    dfa: DFA,
    /// The cached states. Allocated at the first search, because most processes use few of the patterns.
    cache: Mutex<Option<Cache>>,
    /// Searches texts that the automaton does not support: texts with non-ASCII characters, if an expression contains a
    /// Unicode word boundary.
    fallback: PikeVM,
}

impl ForwardAutomaton {
    /// Compiles the expressions.
    ///
    /// # Errors
    /// Describes the first expression that does not compile, or states that the set is too large.
    pub(super) fn new<S: AsRef<str>>(
        expressions: &[S],
        ignore_case: bool,
        max_bytes: usize,
        dfa_max_bytes: usize,
    ) -> Result<Self, String> {
        let syntax = syntax::Config::new().case_insensitive(ignore_case).utf8(false);
        let parse =
            |expression: &S| syntax::parse_with(expression.as_ref(), &syntax).map_err(|error| error.to_string());
        let parsed = expressions.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        // A prefilter is of use only to a search that ends at the first match of a single expression.
        let prefilter = match parsed.as_slice() {
            [expression] => Prefilter::from_hir_prefix(MatchKind::All, expression),
            _ => None,
        };
        // `WhichCaptures::None` leaves out the states that mark where a group begins and ends.
        let limits = Config::new().utf8(false).which_captures(WhichCaptures::None).nfa_size_limit(Some(max_bytes));
        let config = DFA::config()
            .match_kind(MatchKind::All)
            .unicode_word_boundary(true)
            .prefilter(prefilter)
            .cache_capacity(dfa_max_bytes)
            .skip_cache_capacity_check(true);
        let nfa = NFA::compiler().configure(limits).build_many_from_hir(&parsed);
        let nfa = nfa.map_err(|error| match error.size_limit() {
            Some(limit) => format!("the compiled expressions exceed {limit} bytes"),
            None => describe(&error),
        })?;
        let dfa = DFA::builder().configure(config).build_from_nfa(nfa).map_err(|error| describe(&error))?;
        let config = PikeVM::config().match_kind(MatchKind::All);
        let fallback = PikeVM::builder().configure(config).build_from_nfa(dfa.get_nfa().clone());
        let fallback = fallback.map_err(|error| describe(&error))?;
        Ok(Self { dfa, cache: Mutex::new(None), fallback })
    }

    /// Returns true if one of the expressions matches a part of the text.
    pub(super) fn is_match(&self, text: &str) -> bool {
        let input = Input::new(text).earliest(true);
        match self.with_cache(|cache| self.dfa.try_search_fwd(cache, &input)) {
            Ok(end) => end.is_some(),
            Err(_) => self.fallback.is_match(&mut self.fallback.create_cache(), input),
        }
    }

    /// Returns the indexes of the expressions that match a part of the text, in ascending order.
    pub(super) fn matches(&self, text: &str) -> Vec<usize> {
        let input = Input::new(text);
        let mut found = PatternSet::new(self.dfa.pattern_len());
        let result = self.with_cache(|cache| self.dfa.try_which_overlapping_matches(cache, &input, &mut found));
        if result.is_err() {
            found.clear();
            self.fallback.which_overlapping_matches(&mut self.fallback.create_cache(), &input, &mut found);
        }
        found.iter().map(|pattern| pattern.as_usize()).collect()
    }

    /// Returns the size of the states, in bytes. It is 0 before the first search.
    pub(super) fn cache_bytes(&self) -> usize {
        self.lock().as_ref().map_or(0, Cache::memory_usage)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Cache>> {
        self.cache.lock().unwrap_or_else(|poisoned| {
            // A search that panicked can leave an incomplete state.
            self.cache.clear_poison();
            let mut cache = PoisonError::into_inner(poisoned);
            *cache = None;
            cache
        })
    }

    fn with_cache<T>(&self, search: impl FnOnce(&mut Cache) -> T) -> T {
        search(self.lock().get_or_insert_with(|| self.dfa.create_cache()))
    }
}

/// Returns an error with its causes.
fn describe(error: &dyn Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", describe(cause)),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
