//! Reads the parts of English dates: words, counts and units.

use super::words::{Month, WORDS, month};
use crate::{
    calendar::{Count, Stretch, Unit},
    date_starts::{DateStart, first_words},
    numbers,
    reading::{DateReader, FoundDate},
};

/// The article before a counted unit.
const ARTICLE: &str = "the";
const FORTNIGHT: [&str; 2] = ["fortnight", "fortnights"];

/// Words that begin a count and are no numbers, or more than a number.
const COUNT_WORDS: [(&str, CountWord); 5] = [
    ("a", CountWord::A),
    ("half", CountWord::Half),
    ("couple", CountWord::Couple),
    ("few", CountWord::Few),
    ("several", CountWord::Few),
];

#[derive(Clone, Copy)]
enum CountWord {
    A,
    Half,
    Couple,
    Few,
}

/// Returns the starts of a count.
pub(super) fn count_starts() -> Vec<DateStart> {
    let words = COUNT_WORDS.iter().map(|(word, _)| *word).chain(WORDS.numbers.keys().map(String::as_str));
    [numbers::digit_starts(), first_words(words)].concat()
}

/// Returns these starts and the article, which may precede them.
pub(super) fn with_article(starts: Vec<DateStart>) -> Vec<DateStart> {
    [starts, first_words([ARTICLE])].concat()
}

impl<'s> DateReader<'s> {
    /// Reads a word: the word and the index after it.
    pub(super) fn word(&self, at: usize) -> Option<(&'s str, usize)> {
        self.scan.letters(at)
    }

    /// Returns the index after the white space that follows, where the next word starts.
    pub(super) fn next_word_start(&self, end: usize) -> Option<usize> {
        let mut start = end;
        while self.scan.at(start).is_some_and(char::is_whitespace) {
            start += 1;
        }
        (start > end && start < self.scan.len()).then_some(start)
    }

    /// Reads the word after white space.
    pub(super) fn next_word(&self, end: usize) -> Option<(&'s str, usize)> {
        self.word(self.next_word_start(end)?)
    }

    /// Reads the next word if it is one of these.
    pub(super) fn next_word_in(&self, end: usize, words: &[&str]) -> Option<(&'s str, usize)> {
        self.next_word(end).filter(|(word, _)| words.contains(word))
    }

    /// Returns the index after the next word if it is "of", else `end`.
    pub(super) fn skip_of(&self, end: usize) -> usize {
        self.next_word_in(end, &["of"]).map_or(end, |(_, end)| end)
    }

    /// Returns the index of the word after "the", or `at` if the word there is another one.
    pub(super) fn skip_the(&self, at: usize) -> Option<usize> {
        match self.word(at) {
            Some((ARTICLE, end)) => self.next_word_start(end),
            _ => Some(at),
        }
    }

    /// Returns the index after a phrase that starts at `at`.
    pub(super) fn phrase<'w>(&self, at: usize, words: impl IntoIterator<Item = &'w str>) -> Option<usize> {
        let mut words = words.into_iter();
        let first = words.next()?;
        let (_, end) = self.word(at).filter(|(word, _)| *word == first)?;
        words.try_fold(end, |end, word| self.next_word_in(end, &[word]).map(|(_, end)| end))
    }

    /// Reads a number, in digits or as a word, or "a few".
    pub(super) fn count(&self, at: usize) -> Option<(usize, Count)> {
        if let Some((end, value)) = numbers::digits(self.scan, at) {
            return self.next_word_start(end).map(|_| (end, Count::Exactly(value)));
        }
        let (word, end) = self.word(at)?;
        let Some((_, count_word)) = COUNT_WORDS.iter().find(|(listed, _)| *listed == word) else {
            return Some((end, Count::Exactly(*WORDS.numbers.get(word)?)));
        };
        match count_word {
            CountWord::A => match self.next_word_in(end, &["few", "couple", "dozen"]) {
                Some(("few", end)) => Some((self.skip_of(end), Count::Few)),
                Some(("couple", end)) => Some((self.skip_of(end), Count::Exactly(2))),
                Some((_, end)) => Some((self.skip_of(end), Count::Exactly(12))),
                None => Some((end, Count::Exactly(1))),
            },
            CountWord::Half => self.next_word_in(end, &["a", "an"]).map(|(_, end)| (end, Count::Half)),
            CountWord::Couple => Some((self.skip_of(end), Count::Exactly(2))),
            CountWord::Few => Some((end, Count::Few)),
        }
    }

    /// Reads the unit of time that is the next word.
    pub(super) fn unit(&self, end: usize) -> Option<(usize, Unit)> {
        let (word, end) = self.next_word(end)?;
        let row = WORDS.units.iter().find(|row| row.words.contains(word))?;
        Some((end, row.unit))
    }

    /// Reads the unit of a count. A fortnight is two weeks.
    pub(super) fn counted_unit(&self, end: usize, count: Count) -> Option<(usize, Count, Unit)> {
        if let (Count::Exactly(count), Some((_, end))) = (count, self.next_word_in(end, &FORTNIGHT)) {
            return Some((end, Count::Exactly(2 * count), Unit::Week));
        }
        let (end, unit) = self.unit(end)?;
        Some((end, count, unit))
    }

    /// Reads the part of a day that may follow the day.
    pub(super) fn part(&self, end: usize, day: Stretch) -> FoundDate {
        match self.next_word(end).and_then(|(word, end)| Some((end, WORDS.parts.get(word)?))) {
            Some((end, part)) => Some((end, day.part(*part)?)),
            None => Some((end, day)),
        }
    }

    /// Reads the name of a month: the month and the index after it. A name that is also a verb must have a
    /// capital letter, unless `allow_verb` is set.
    pub(super) fn month_name(&self, at: usize, allow_verb: bool) -> Option<(Month, usize)> {
        let (word, end) = self.word(at)?;
        let month = month(word)?;
        (!month.verb || allow_verb || self.scan.is_upper(at)).then_some((month, end))
    }

    /// Reads a year in digits that is the next word.
    pub(super) fn year(&self, end: usize) -> Option<(usize, i16)> {
        let (end, year) = numbers::digits(self.scan, self.next_word_start(end)?)?;
        numbers::is_year(year).then_some((end, i16::try_from(year).ok()?))
    }

    /// Returns the stretch, extended until now if the word before it is "since".
    pub(super) fn extended_by_since(&self, word: &str, stretch: Stretch) -> Stretch {
        let until = if word == "since" { stretch.until.max(self.reference.now) } else { stretch.until };
        Stretch { until, ..stretch }
    }

    /// Returns true if one of the signs and a digit follow.
    pub(super) fn is_followed_by_digit(&self, end: usize, signs: &str) -> bool {
        self.scan.has_any(end, signs) && self.scan.at(end + 1).is_some_and(|c| c.is_ascii_digit())
    }
}
