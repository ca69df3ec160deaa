//! An index of regular expressions. An expression is compiled when a text contains its required literals.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex_automata::{
    Input,
    nfa::thompson::{Config, NFA, backtrack::BoundedBacktracker, pikevm::PikeVM},
    util::{captures::Captures as Groups, iter::Searcher, syntax},
};

use super::{
    captures::Captures,
    error::RegexError,
    literals::{LiteralGroup, lower_case, required_literals},
};

/// Maximum number of idle search caches. If more threads search at once, the others allocate their own.
const MAX_CACHES: usize = 2;
/// Memory limit of the bitmap of visited states of the backtracker, in bytes. A text that needs more is searched by the
/// slower `PikeVM`.
const VISITED_MAX_BYTES: usize = 256 << 10;

/// Regular expressions, each with the literals that all its matches contain.
///
/// One automaton finds the literals of a text. The expressions whose literals occur are compiled. The most recently
/// used ones stay in memory.
pub struct RegexIndex {
    expressions: Vec<IndexedExpression>,
    literals: LiteralFinder,
    ignore_case: bool,
    max_bytes: usize,
    compiled: Mutex<CompiledExpressions>,
    caches: Mutex<Vec<SearchCache>>,
}

struct IndexedExpression {
    text: String,
    /// Indexes of the groups of literals. Every match contains a literal of each group.
    groups: Vec<usize>,
}

/// The buffers of a search. They fit every expression.
type SearchCache = regex_automata::nfa::thompson::backtrack::Cache;

impl fmt::Debug for RegexIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegexIndex").field("expressions", &self.expressions.len()).finish_non_exhaustive()
    }
}

impl RegexIndex {
    /// Creates an index. `max_bytes` limits each compiled expression, `kept_bytes` all those in memory. The last one
    /// used stays in memory even if it is larger.
    pub(super) fn new<S: AsRef<str>>(
        expressions: &[S],
        ignore_case: bool,
        max_bytes: usize,
        kept_bytes: usize,
    ) -> Result<Self, RegexError> {
        let mut groups = GroupIndexes::default();
        let mut indexed = Vec::with_capacity(expressions.len());
        for expression in expressions {
            let text = expression.as_ref();
            let required = required_literals(text).map_err(RegexError)?;
            let groups = required.into_iter().map(|group| groups.index_of(group)).collect();
            indexed.push(IndexedExpression { text: text.to_owned(), groups });
        }
        Ok(Self {
            expressions: indexed,
            literals: LiteralFinder::new(groups)?,
            ignore_case,
            max_bytes,
            compiled: Mutex::new(CompiledExpressions::new(kept_bytes)),
            caches: Mutex::default(),
        })
    }

    /// Returns the number of expressions.
    pub fn len(&self) -> usize {
        self.expressions.len()
    }

    /// Returns true if there are no expressions.
    pub fn is_empty(&self) -> bool {
        self.expressions.is_empty()
    }

    /// Returns the indexes of the expressions whose literals occur in a text, in ascending order. The other expressions
    /// do not match it.
    pub fn candidates(&self, text: &str) -> Vec<usize> {
        let found = self.literals.groups_in(&lower_case(text));
        let is_candidate = |expression: &IndexedExpression| expression.groups.iter().all(|group| found[*group]);
        let candidates = self.expressions.iter().enumerate().filter(|(_, expression)| is_candidate(expression));
        candidates.map(|(index, _)| index).collect()
    }

    /// Returns the indexes of the expressions that match a part of the text, in ascending order.
    pub fn matches(&self, text: &str) -> Vec<usize> {
        self.candidates(text).into_iter().filter(|index| self.is_match(*index, text)).collect()
    }

    /// Returns true if the expression with this index matches a part of the text.
    pub fn is_match(&self, index: usize, text: &str) -> bool {
        let input = Input::new(text).earliest(true);
        self.compiled(index).is_some_and(|expression| expression.search(self, &input, &mut []))
    }

    /// Returns the groups of the matches of the expression with this index, from left to right and without overlaps.
    pub fn captures_iter<'t>(&self, index: usize, text: &'t str) -> impl Iterator<Item = Captures<'t>> {
        let expression = self.compiled(index);
        let mut searcher = Searcher::new(Input::new(text));
        std::iter::from_fn(move || {
            let expression = expression.as_ref()?;
            let mut found = None;
            searcher.advance(|input| {
                let mut groups = Groups::all(expression.nfa().group_info().clone());
                groups.set_pattern(None);
                if expression.search(self, input, groups.slots_mut()) {
                    groups.set_pattern(Some(regex_automata::PatternID::ZERO));
                }
                let whole = groups.get_match();
                found = Some(groups);
                Ok(whole)
            })?;
            found.map(|groups| Captures::new(text, groups))
        })
    }

    /// Compiles each expression and drops it, for tests of the data files.
    ///
    /// # Errors
    /// [`RegexError`] of the first expression that is too large.
    pub fn check(&self) -> Result<(), RegexError> {
        self.expressions.iter().try_for_each(|expression| self.compile(&expression.text).map(drop))
    }

    /// Returns the size of the compiled expressions that are kept, in bytes.
    pub fn kept_bytes(&self) -> usize {
        lock(&self.compiled).bytes
    }

    /// Returns the compiled expression, or `None` if it does not compile, which [`RegexIndex::check`] reports.
    fn compiled(&self, index: usize) -> Option<CompiledExpression> {
        if let Some(expression) = lock(&self.compiled).get(index) {
            return Some(expression);
        }
        // Other threads can search while this one compiles.
        let expression = self.compile(&self.expressions.get(index)?.text).ok()?;
        lock(&self.compiled).insert(index, expression.clone());
        Some(expression)
    }

    fn compile(&self, expression: &str) -> Result<CompiledExpression, RegexError> {
        let syntax = syntax::Config::new().case_insensitive(self.ignore_case);
        let limits = Config::new().nfa_size_limit(Some(self.max_bytes));
        let nfa = NFA::compiler().syntax(syntax).configure(limits).build(expression);
        let nfa = nfa.map_err(|error| match error.size_limit() {
            Some(limit) => {
                RegexError(format!("the compiled expression exceeds {limit} bytes; shorten its repetitions"))
            }
            None => RegexError(error.to_string()),
        })?;
        let config = BoundedBacktracker::config().visited_capacity(VISITED_MAX_BYTES);
        let backtracker = BoundedBacktracker::builder().configure(config).build_from_nfa(nfa);
        let backtracker = backtracker.map_err(|error| RegexError(error.to_string()))?;
        Ok(CompiledExpression(Arc::new(backtracker)))
    }
}

/// A compiled expression.
#[derive(Clone)]
struct CompiledExpression(Arc<BoundedBacktracker>);

impl CompiledExpression {
    fn nfa(&self) -> &NFA {
        self.0.get_nfa()
    }

    fn bytes(&self) -> usize {
        self.nfa().memory_usage()
    }

    /// Returns true if there is a match, and fills the slots with the positions of its groups.
    fn search(
        &self,
        index: &RegexIndex,
        input: &Input<'_>,
        slots: &mut [Option<regex_automata::util::primitives::NonMaxUsize>],
    ) -> bool {
        let mut cache = lock(&index.caches).pop().unwrap_or_else(|| self.0.create_cache());
        self.0.reset_cache(&mut cache);
        let found = self.0.try_search_slots(&mut cache, input, slots);
        let mut caches = lock(&index.caches);
        if caches.len() < MAX_CACHES {
            caches.push(cache);
        }
        drop(caches);
        found.map_or_else(|_| self.search_long(input, slots), |pattern| pattern.is_some())
    }

    /// Searches a text that is too long for the list of visited states.
    fn search_long(
        &self,
        input: &Input<'_>,
        slots: &mut [Option<regex_automata::util::primitives::NonMaxUsize>],
    ) -> bool {
        let Ok(regex) = PikeVM::new_from_nfa(self.nfa().clone()) else { return false };
        regex.search_slots(&mut regex.create_cache(), input, slots).is_some()
    }
}

/// The most recently used compiled expressions.
struct CompiledExpressions {
    /// The expressions, each with the time of its last use.
    kept: BTreeMap<usize, (u64, CompiledExpression)>,
    clock: u64,
    bytes: usize,
    max_bytes: usize,
}

impl CompiledExpressions {
    const fn new(max_bytes: usize) -> Self {
        Self { kept: BTreeMap::new(), clock: 0, bytes: 0, max_bytes }
    }

    fn get(&mut self, index: usize) -> Option<CompiledExpression> {
        self.clock += 1;
        let (used_at, expression) = self.kept.get_mut(&index)?;
        *used_at = self.clock;
        Some(expression.clone())
    }

    /// Adds an expression, and evicts the least recently used ones above the memory limit.
    fn insert(&mut self, index: usize, expression: CompiledExpression) {
        self.clock += 1;
        self.bytes += expression.bytes();
        if let Some((_, replaced)) = self.kept.insert(index, (self.clock, expression)) {
            self.bytes -= replaced.bytes();
        }
        while self.bytes > self.max_bytes && self.kept.len() > 1 {
            let oldest = self.kept.iter().min_by_key(|(_, (used_at, _))| *used_at).map(|(index, _)| *index);
            let Some((_, removed)) = oldest.and_then(|index| self.kept.remove(&index)) else { return };
            self.bytes -= removed.bytes();
        }
    }
}

/// The distinct groups of literals, with their indexes.
#[derive(Default)]
struct GroupIndexes(BTreeMap<LiteralGroup, usize>);

impl GroupIndexes {
    fn index_of(&mut self, group: LiteralGroup) -> usize {
        let next = self.0.len();
        *self.0.entry(group).or_insert(next)
    }
}

/// Finds the literals of all expressions at the same time.
struct LiteralFinder {
    automaton: AhoCorasick,
    /// The groups of each literal.
    groups: Vec<Vec<usize>>,
    group_count: usize,
}

impl LiteralFinder {
    fn new(groups: GroupIndexes) -> Result<Self, RegexError> {
        let GroupIndexes(groups) = groups;
        let group_count = groups.len();
        let mut literals: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
        for (group, index) in groups {
            for literal in group {
                literals.entry(literal).or_default().insert(index);
            }
        }
        let automaton = AhoCorasick::builder().kind(Some(AhoCorasickKind::ContiguousNFA)).build(literals.keys());
        let automaton = automaton.map_err(|error| RegexError(error.to_string()))?;
        let groups = literals.into_values().map(|groups| groups.into_iter().collect()).collect();
        Ok(Self { automaton, groups, group_count })
    }

    /// Returns for each group whether one of its literals occurs in a text in lower case.
    fn groups_in(&self, text: &str) -> Vec<bool> {
        let mut found = vec![false; self.group_count];
        for literal in self.automaton.find_overlapping_iter(text) {
            for group in &self.groups[literal.pattern().as_usize()] {
                found[*group] = true;
            }
        }
        found
    }
}

/// Locks a value, also after a panic of another thread. At worst, a count of bytes is then too high, and expressions
/// are evicted earlier.
fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
