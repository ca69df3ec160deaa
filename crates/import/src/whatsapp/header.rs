//! The beginning of a message: date, time and speaker.

use jiff::civil::DateTime;

/// The beginning of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    /// The three numbers of the date, as they are written.
    date: [i16; 3],
    clock: [i8; 3],
    /// True if the time has a half of the day (AM, PM).
    has_half: bool,
    /// The speaker; `None` for a notice of WhatsApp.
    pub(super) speaker: Option<String>,
    /// The text on the first line.
    pub(super) text: String,
}

/// The order of day, month and year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DateOrder {
    DayMonthYear,
    MonthDayYear,
    YearMonthDay,
}

/// The beginnings of the half of a day, and true for the second half.
const HALVES_BEFORE: [(&str, bool); 4] = [("上午", false), ("凌晨", false), ("下午", true), ("晚上", true)];
const HALVES_AFTER: [(&str, bool); 6] =
    [("am", false), ("a.m.", false), ("a. m.", false), ("pm", true), ("p.m.", true), ("p. m.", true)];

impl Header {
    /// Parses `31/12/2024, 23:59 - Name: text` or `[12/31/24, 11:59:59 PM] Name: text`, and their variants.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let line = without_marks(line);
        let (in_brackets, rest) = match line.strip_prefix('[') {
            Some(rest) => (true, rest),
            None => (false, line.as_str()),
        };
        let mut rest = rest;
        let first = number(&mut rest)?;
        let separator = one_of(&mut rest, "/.-")?;
        let second = number(&mut rest)?;
        one_of(&mut rest, &separator.to_string())?;
        let third = number(&mut rest)?;
        rest = rest.trim_start_matches([',', '.']).trim_start();
        let half_before = strip_half(&mut rest, &HALVES_BEFORE);
        rest = rest.trim_start();
        let hour = i8::try_from(number(&mut rest)?).ok()?;
        one_of(&mut rest, ":.")?;
        let minute = i8::try_from(number(&mut rest)?).ok()?;
        let mut second_of_minute = 0;
        if rest.starts_with([':', '.']) && rest[1..].starts_with(|c: char| c.is_ascii_digit()) {
            rest = &rest[1..];
            second_of_minute = i8::try_from(number(&mut rest)?).ok()?;
        }
        rest = rest.trim_start();
        let half = half_before.or_else(|| strip_half(&mut rest, &HALVES_AFTER));
        let rest = rest.trim_start();
        let rest = if in_brackets { rest.strip_prefix(']')? } else { rest.strip_prefix("- ")? };
        let hour = match half {
            Some(true) if hour < 12 => hour + 12,
            Some(false) if hour == 12 => 0,
            _ => hour,
        };
        let (speaker, text) = match rest.trim_start().split_once(':') {
            Some((speaker, text)) if text.is_empty() || text.starts_with(' ') => {
                (Some(speaker.trim().to_owned()), text)
            }
            _ => (None, rest),
        };
        Some(Self {
            date: [first, second, third],
            clock: [hour, minute, second_of_minute],
            has_half: half.is_some(),
            speaker,
            text: text.trim_start().to_owned(),
        })
    }

    /// Returns the time. `None` if there is no such day or time.
    pub(super) fn time(&self, order: DateOrder) -> Option<DateTime> {
        let [first, second, third] = self.date;
        let (year, month, day) = match order {
            DateOrder::DayMonthYear => (third, second, first),
            DateOrder::MonthDayYear => (third, first, second),
            DateOrder::YearMonthDay => (first, second, third),
        };
        let year = if year < 100 { year + 2000 } else { year };
        let [hour, minute, second] = self.clock;
        DateTime::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?, hour, minute, second, 0).ok()
    }
}

impl DateOrder {
    /// Returns the order that is possible for all messages. If several are, the month is first where times have AM and
    /// PM, as in the United States, and the day otherwise.
    pub(super) fn of<'h>(headers: impl Iterator<Item = &'h Header> + Clone) -> Self {
        if headers.clone().any(|header| header.date[0] > 31) {
            return Self::YearMonthDay;
        }
        if headers.clone().any(|header| header.date[0] > 12) {
            return Self::DayMonthYear;
        }
        let mut headers = headers;
        if headers.any(|header| header.date[1] > 12 || header.has_half) {
            Self::MonthDayYear
        } else {
            Self::DayMonthYear
        }
    }
}

/// Returns a text without the invisible marks of direction, and with ordinary spaces.
pub(super) fn without_marks(text: &str) -> String {
    let is_mark = |c: &char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{feff}');
    let space = |c: char| if matches!(c, '\u{202f}' | '\u{a0}') { ' ' } else { c };
    text.chars().filter(|c| !is_mark(c)).map(space).collect()
}

/// Takes a number of at most four digits from the beginning.
fn number(text: &mut &str) -> Option<i16> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    if length == 0 || length > 4 {
        return None;
    }
    let (digits, rest) = text.split_at(length);
    *text = rest;
    digits.parse().ok()
}

/// Takes one of these characters from the beginning.
fn one_of(text: &mut &str, characters: &str) -> Option<char> {
    let first = text.chars().next().filter(|c| characters.contains(*c))?;
    *text = &text[first.len_utf8()..];
    Some(first)
}

/// Takes the half of a day from the beginning. Returns true for the second half.
fn strip_half(text: &mut &str, halves: &[(&str, bool)]) -> Option<bool> {
    let starts_with = |name: &str| text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    let (name, is_second) = halves.iter().find(|(name, _)| starts_with(name))?;
    *text = &text[name.len()..];
    Some(*is_second)
}
