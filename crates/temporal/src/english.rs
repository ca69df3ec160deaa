//! Dates in English, and dates in digits.

use jiff::civil::Date;

use crate::{
    Exactness,
    calendar::{Count, Part, Reference, Stretch, Unit, nearest_weekday},
    english_words::{Month, month, part, season, weekday},
    holidays, numbers,
    scan::{Scan, is_latin},
    window::Read,
};

type Found = Option<(usize, Stretch)>;

/// The date that begins at the word at a place.
pub(crate) fn parse(scan: &Scan, begin: usize, reference: &Reference<'_>) -> Option<Read> {
    let reader = Reader { scan, reference, depth: 0 };
    let (end, stretch) = reader.date(begin)?;
    // "yesterdays" is no date, "yesterday's" and "2023-05-07T10:00" are.
    let ends = match scan.at(end) {
        Some('_') => false,
        Some('-' | '/') => !scan.at(end + 1).is_some_and(|c| c.is_ascii_digit()),
        Some('t') => scan.before(end).is_some_and(|c| c.is_ascii_digit()),
        Some(c) => !is_latin(c),
        None => true,
    };
    ends.then_some(Read { begin, end, stretch })
}

struct Reader<'s> {
    scan: &'s Scan,
    reference: &'s Reference<'s>,
    /// How many dates this one is counted from.
    depth: u8,
}

/// "Two days before the week before last Friday" is as far as it goes; whoever repeats it a thousand times means no date.
const MAX_DEPTH: u8 = 2;

impl Reader<'_> {
    fn date(&self, at: usize) -> Found {
        let readings: [fn(&Self, usize) -> Found; 9] = [
            Self::in_digits,
            Self::before_or_after,
            Self::ago,
            Self::near_day,
            Self::last_or_next,
            Self::rolling,
            Self::month,
            Self::year_or_season,
            Self::lately,
        ];
        readings.iter().filter_map(|read| read(self, at)).max_by_key(|(end, _)| *end)
    }

    /// The word at a place, and the place after it.
    fn word(&self, at: usize) -> Option<(String, usize)> {
        let mut end = at;
        while self.scan.at(end).is_some_and(|c| is_latin(c) && !c.is_numeric()) {
            end += 1;
        }
        let word: String = (at..end).filter_map(|place| self.scan.at(place)).collect();
        (!word.is_empty()).then_some((word, end))
    }

    /// The place of the next word after white space.
    fn next(&self, end: usize) -> Option<usize> {
        let mut next = end;
        while self.scan.at(next).is_some_and(char::is_whitespace) {
            next += 1;
        }
        (next > end && next < self.scan.len()).then_some(next)
    }

    /// The next word, when it is one of these; with the place after it.
    fn then(&self, end: usize, words: &[&str]) -> Option<(String, usize)> {
        let (word, end) = self.word(self.next(end)?)?;
        words.contains(&word.as_str()).then_some((word, end))
    }

    /// The place after words that follow one another, the first of them at `at`.
    fn phrase(&self, at: usize, words: &[&str]) -> Option<usize> {
        let (first, rest) = words.split_first()?;
        let (word, mut end) = self.word(at)?;
        if word != *first {
            return None;
        }
        for word in rest {
            end = self.then(end, &[word])?.1;
        }
        Some(end)
    }

    /// `2023-05-07`, `2023/5/7`, `2023.5.7`.
    fn in_digits(&self, at: usize) -> Found {
        let (end, year) = numbers::digits(self.scan, at)?;
        let sign = self.scan.at(end).filter(|c| matches!(c, '-' | '/' | '.'))?;
        let (next, month) = numbers::digits(self.scan, end + 1)?;
        if !numbers::is_year(year) || self.scan.at(next) != Some(sign) {
            return None;
        }
        let (last, day) = numbers::digits(self.scan, next + 1)?;
        let more = self.scan.at(last) == Some(sign) && self.scan.at(last + 1).is_some_and(is_latin);
        let date = Date::new(i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?;
        (!more).then_some((last, Stretch::day(date)?.named()))
    }

    /// A number, in digits or as a word, or "a few"; with the place after it.
    fn count(&self, at: usize) -> Option<(usize, Count)> {
        if let Some((end, value)) = numbers::digits(self.scan, at) {
            return self.next(end).map(|_| (end, Count::Exactly(value)));
        }
        let (word, end) = self.word(at)?;
        let few = |word: &str| matches!(word, "few" | "several");
        match word.as_str() {
            "a" => {
                if let Some((next, end)) = self.then(end, &["few", "couple", "dozen"]) {
                    let end = self.then(end, &["of"]).map_or(end, |(_, end)| end);
                    let count = match next.as_str() {
                        "few" => Count::Few,
                        "couple" => Count::Exactly(2),
                        _ => Count::Exactly(12),
                    };
                    return Some((end, count));
                }
                Some((end, Count::Exactly(1)))
            }
            "half" => self.then(end, &["a", "an"]).map(|(_, end)| (end, Count::Half)),
            "couple" => Some((self.then(end, &["of"]).map_or(end, |(_, end)| end), Count::Exactly(2))),
            word if few(word) => Some((end, Count::Few)),
            word => Some((end, Count::Exactly(numbers::english(word)?))),
        }
    }

    fn unit(&self, end: usize) -> Option<(usize, Unit)> {
        const UNITS: &[(&[&str], Unit)] = &[
            (&["minute", "minutes", "min", "mins"], Unit::Minute),
            (&["hour", "hours"], Unit::Hour),
            (&["day", "days", "night", "nights"], Unit::Day),
            (&["week", "weeks"], Unit::Week),
            (&["month", "months"], Unit::Month),
            (&["year", "years"], Unit::Year),
        ];
        UNITS.iter().find_map(|(words, unit)| Some((self.then(end, words)?.1, *unit)))
    }

    /// `three weeks ago`.
    fn ago(&self, at: usize) -> Found {
        let (end, count) = self.count(at)?;
        let (end, unit) = self.unit(end)?;
        let (_, end) = self.then(end, &["ago"])?;
        Some((end, self.reference.ago(count, unit)?))
    }

    /// `two days before May 7`, `the Friday before 15 July 2023`, `the day before yesterday`.
    fn before_or_after(&self, at: usize) -> Found {
        if self.depth == MAX_DEPTH {
            return None;
        }
        let inner = Reader { depth: self.depth + 1, ..*self };
        let (first, end) = self.word(at).unwrap_or_default();
        let start = if first == "the" { self.next(end)? } else { at };
        for (words, offset) in [(["day", "before", "yesterday"], -2), (["day", "after", "tomorrow"], 2)] {
            if let Some(end) = self.phrase(start, &words) {
                return Some((end, self.reference.day(offset)?));
            }
        }
        let direction = |end: usize| self.then(end, &["before", "after"]).map(|(word, end)| (end, word == "after"));
        let (word, after_word) = self.word(start).unwrap_or_default();
        if let Some(weekday) = weekday(&word) {
            let (end, later) = direction(after_word)?;
            let (end, stretch) = inner.date(self.next(end)?)?;
            let from = if later { stretch.until.date().yesterday().ok()? } else { stretch.from.date() };
            let day = Stretch::day(nearest_weekday(from, weekday, later)?)?;
            return Some((end, Stretch { relative: stretch.relative, ..day }));
        }
        let (end, count) = match word.as_str() {
            "day" | "week" | "month" | "year" if start > at => (self.unit(start.checked_sub(1)?)?, Count::Exactly(1)),
            _ => {
                let (end, count) = self.count(start)?;
                (self.unit(end)?, count)
            }
        };
        let (end, unit) = end;
        let (end, later) = direction(end)?;
        let (end, stretch) = inner.date(self.next(end)?)?;
        Some((end, stretch.shifted(count, unit, later)?))
    }

    /// `yesterday evening`, `tonight`, `this morning`, `last night`.
    fn near_day(&self, at: usize) -> Found {
        let (word, end) = self.word(at)?;
        let day = |offset| self.reference.day(offset);
        match word.as_str() {
            "yesterday" => self.part(end, day(-1)?),
            "today" => Some((end, day(0)?)),
            "tomorrow" => self.part(end, day(1)?),
            "tonight" => Some((end, day(0)?.part(Part::Night)?)),
            "this" => {
                let (word, end) = self.then(end, &["morning", "afternoon", "evening"])?;
                Some((end, day(0)?.part(part(&word)?)?))
            }
            "last" => {
                let (word, end) = self.then(end, &["night", "evening"])?;
                Some((end, day(-1)?.part(part(&word)?)?))
            }
            _ => None,
        }
    }

    /// A day with the part of it that may follow.
    fn part(&self, end: usize, day: Stretch) -> Found {
        match self.then(end, &["morning", "afternoon", "evening", "night"]) {
            Some((word, end)) => Some((end, day.part(part(&word)?)?)),
            None => Some((end, day)),
        }
    }

    /// `last week`, `this past weekend`, `next Friday`, `last May`, `last summer`, `over the weekend`.
    fn last_or_next(&self, at: usize) -> Found {
        if let Some(end) = self.phrase(at, &["over", "the", "weekend"]) {
            return Some((end, self.reference.past_weekend(false)?.with(Exactness::About)));
        }
        let (word, end) = self.word(at)?;
        let (offset, end) = match word.as_str() {
            "last" | "previous" => (-1, end),
            "next" => (1, end),
            "this" => match self.then(end, &["past"]) {
                Some((_, end)) => (-1, end),
                None => (0, end),
            },
            _ => return None,
        };
        let start = self.next(end)?;
        let (word, end) = self.word(start)?;
        let of = self.then(end, &["of"]).is_some();
        match word.as_str() {
            // "the last week of May" is not last week.
            "week" | "month" | "year" if of => None,
            "week" => Some((end, self.reference.week(offset)?)),
            "month" => Some((end, self.reference.month(offset)?)),
            "year" => Some((end, Stretch::year(self.reference.year(i16::try_from(offset).ok()?))?)),
            "weekend" if offset < 0 => Some((end, self.reference.past_weekend(true)?)),
            "weekend" => Some((end, self.reference.weekend(offset)?)),
            word => {
                if let Some(weekday) = weekday(word) {
                    let day = match offset {
                        0 => self.reference.weekday(0, i64::from(weekday.to_monday_zero_offset()))?,
                        _ => self.reference.nearest_weekday(weekday, offset > 0)?,
                    };
                    return self.part(end, if offset > 0 { day.with(Exactness::About) } else { day });
                }
                if let Some(season) = season(word) {
                    return Some((end, self.reference.season(i16::try_from(offset).ok()?, season)?));
                }
                if let Some(month) = month(word).filter(|m| m.full && (!m.verb || self.scan.is_upper(start))) {
                    return self.month_near(end, offset, month.number);
                }
                let year = self.reference.year(if offset < 0 { -1 } else { 0 });
                let (end, holiday) = holidays::of_year(self.scan, start, year)?;
                // Christmas of this year may be over: then it is the last one.
                let running = holidays::of_year(self.scan, start, self.reference.year(0))?.1;
                let over = offset < 0 && running.until <= self.reference.now;
                Some((end, if over { running } else { holiday }))
            }
        }
    }

    /// Such a month before, in or after this year, as "last" and "next" mean it.
    fn month_near(&self, end: usize, offset: i64, month: i8) -> Found {
        let this = self.reference.today().month();
        let years = match offset {
            0 => 0,
            _ if offset < 0 => i16::from(month < this) - 1,
            _ => i16::from(month <= this),
        };
        Some((end, Stretch::month(self.reference.year(years), month)?.with(Exactness::About)))
    }

    /// `the past three days`, `in the last few weeks`.
    fn rolling(&self, at: usize) -> Found {
        let (word, end) = self.word(at)?;
        let (word, end) = if word == "the" { self.word(self.next(end)?)? } else { (word, end) };
        if word != "past" && word != "last" {
            return None;
        }
        if word == "past"
            && let Some((end, unit)) = self.unit(end)
        {
            return Some((end, self.reference.last(Count::Exactly(1), unit)?));
        }
        let (end, count) = self.count(self.next(end)?)?;
        let (end, unit) = self.unit(end)?;
        // "the last two weeks of May" are in May.
        let of = self.then(end, &["of"]).is_some();
        (!of && count != Count::Exactly(0)).then_some((end, self.reference.last(count, unit)?))
    }

    /// `May 7`, `May 7th, 2023`, `7 May 2023`, `the 7th of May`, `May 2023`, `in May`.
    fn month(&self, at: usize) -> Found {
        if let Some((end, day)) = numbers::digits(self.scan, at) {
            let end = self.ordinal(end);
            let end = self.then(end, &["of"]).map_or(end, |(_, end)| end);
            let start = self.next(end)?;
            let (word, end) = self.word(start)?;
            let month = month(&word).filter(|m| !m.verb || self.scan.is_upper(start))?;
            return self.of_year(self.dot(end, month), month.number, Some(day));
        }
        const BEFORE_MONTHS: &[&str] = &["in", "since", "during", "until", "till", "by", "early", "mid", "late"];
        let (word, end) = self.word(at)?;
        if BEFORE_MONTHS.contains(&word.as_str()) {
            let word_before = word;
            let start = self.next(end)?;
            let (word, end) = self.word(start)?;
            let month =
                month(&word).filter(|m| m.full && (!m.verb || at_month(self, at) || self.scan.is_upper(start)))?;
            let dated = self.month(start);
            let (end, stretch) = dated.or_else(|| Some((end, self.reference.latest_month(month.number)?)))?;
            return Some((end, self.reaching(&word_before, stretch)));
        }
        let found = month(&word)?;
        let lower = found.verb && !self.scan.is_upper(at);
        let end = self.dot(end, found);
        if let Some(next) = self.next(end)
            && let Some((last, day)) = numbers::digits(self.scan, next)
        {
            if (1..=31).contains(&day) && last - next <= 2 {
                let after = self.ordinal(last);
                // "may 7 people" and "march 5 miles" count something else.
                let counts = found.verb && after == last && !self.ends_sentence(last);
                let part_of_number = matches!(self.scan.at(after), Some('.' | ',' | ':' | '%' | '/' | '-'))
                    && self.scan.at(after + 1).is_some_and(|c| c.is_ascii_digit());
                if counts || part_of_number || (lower && after == last) {
                    return self.verb_with_year(after, found.number, day);
                }
                return self.of_year(after, found.number, Some(day));
            }
            if last - next == 4 && numbers::is_year(day) {
                return Some((last, Stretch::month(i16::try_from(day).ok()?, found.number)?.named()));
            }
        }
        let (_, end) = self.then(end, &["of"])?;
        let next = self.next(end)?;
        let (last, year) = numbers::digits(self.scan, next)?;
        let year = numbers::is_year(year).then_some(year)?;
        Some((last, Stretch::month(i16::try_from(year).ok()?, found.number)?.named()))
    }

    /// A day that is one for certain because a year follows it.
    fn verb_with_year(&self, end: usize, month: i8, day: i64) -> Found {
        let (end, stretch) = self.of_year(end, month, Some(day))?;
        (!stretch.relative).then_some((end, stretch))
    }

    /// What begins then and goes on until now, after "since".
    fn reaching(&self, word: &str, stretch: Stretch) -> Stretch {
        let until = if word == "since" { stretch.until.max(self.reference.now) } else { stretch.until };
        Stretch { until, ..stretch }
    }

    /// The day of a month, with the year if it follows.
    fn of_year(&self, end: usize, month: i8, day: Option<i64>) -> Found {
        let day = i8::try_from(day?).ok()?;
        let comma = if self.scan.at(end) == Some(',') { end + 1 } else { end };
        let start = self.next(comma);
        if let Some((last, year)) = start.and_then(|start| numbers::digits(self.scan, start))
            && numbers::is_year(year)
        {
            return Some((last, Stretch::day(Date::new(i16::try_from(year).ok()?, month, day).ok()?)?.named()));
        }
        Some((end, self.reference.latest_day(month, day)?))
    }

    /// Whether nothing follows that could be counted: the end, a sign, or a word of grammar.
    fn ends_sentence(&self, end: usize) -> bool {
        const GRAMMAR: &[&str] = &[
            "a", "about", "and", "as", "at", "because", "but", "by", "for", "from", "i", "in", "is", "it", "on", "or",
            "she", "he", "so", "that", "the", "they", "this", "to", "until", "was", "we", "were", "when", "where",
            "which", "with", "you", "my", "our",
        ];
        match self.next(end).and_then(|next| self.word(next)) {
            Some((word, _)) => GRAMMAR.contains(&word.as_str()),
            None => self.next(end).is_none_or(|next| !self.scan.at(next).is_some_and(|c| c.is_alphanumeric())),
        }
    }

    fn ordinal(&self, end: usize) -> usize {
        self.scan.one_of(end, &["st", "nd", "rd", "th"]).map_or(end, |(end, _)| end)
    }

    /// The dot of an abbreviation.
    fn dot(&self, end: usize, month: Month) -> usize {
        if !month.full && self.scan.at(end) == Some('.') { end + 1 } else { end }
    }

    /// `in 2023`, `the summer of 2022`, `Christmas 2022`.
    fn year_or_season(&self, at: usize) -> Found {
        let (word, end) = self.word(at)?;
        let year = |end: usize| -> Option<(usize, i16)> {
            let (last, year) = numbers::digits(self.scan, self.next(end)?)?;
            (numbers::is_year(year) && last >= 4).then_some((last, i16::try_from(year).ok()?))
        };
        if let Some(season) = season(&word) {
            let end = self.then(end, &["of"]).map_or(end, |(_, end)| end);
            let (end, year) = year(end)?;
            return Some((end, Stretch::season(year, season)?.named()));
        }
        if matches!(word.as_str(), "in" | "since" | "during" | "early" | "late" | "mid" | "throughout") {
            let (end, year) = year(end)?;
            let number = match self.scan.at(end) {
                Some('.' | ',' | ':' | '%' | '-' | '/') => self.scan.at(end + 1).is_some_and(|c| c.is_ascii_digit()),
                _ => false,
            };
            const COUNTED: &[&str] = &[
                "years",
                "days",
                "hours",
                "people",
                "dollars",
                "words",
                "tokens",
                "steps",
                "miles",
                "pieces",
                "lines",
                "items",
                "square",
                "meters",
                "more",
                "different",
                "other",
            ];
            let stretch = self.reaching(&word, Stretch::year(year)?.named());
            return (!number && self.then(end, COUNTED).is_none()).then_some((end, stretch));
        }
        let (end, _) = holidays::of_year(self.scan, at, self.reference.year(0))?;
        let end = self.then(end, &["of", "in"]).map_or(end, |(_, end)| end);
        let (last, year) = year(end)?;
        Some((last, holidays::of_year(self.scan, at, year)?.1.named()))
    }

    /// `recently`, `just now`, `the other day`.
    fn lately(&self, at: usize) -> Found {
        const PHRASES: [(&[&str], i64, Unit); 5] = [
            (&["recently"], 30, Unit::Day),
            (&["lately"], 30, Unit::Day),
            (&["these", "days"], 30, Unit::Day),
            (&["the", "other", "day"], 7, Unit::Day),
            (&["just", "now"], 1, Unit::Hour),
        ];
        PHRASES.iter().find_map(|(words, count, unit)| {
            let end = self.phrase(at, words)?;
            Some((end, self.reference.last(Count::Exactly(*count), *unit)?.with(Exactness::Rough)))
        })
    }
}

/// Whether the word before a month can only stand before a date: "in may" is the month, "by march" is.
fn at_month(reader: &Reader<'_>, at: usize) -> bool {
    reader
        .word(at)
        .is_some_and(|(word, _)| matches!(word.as_str(), "in" | "since" | "during" | "early" | "mid" | "late"))
}
