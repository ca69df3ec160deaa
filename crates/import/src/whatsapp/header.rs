//! The beginning of a message: date, time and speaker.

use jiff::civil::DateTime;

use super::words::{DayPart, WORDS, take_word};

/// Years of the Buddhist calendar are larger by this number.
const BUDDHIST_YEARS: i16 = 543;
/// The first year that is one of the Buddhist calendar.
const FIRST_BUDDHIST_YEAR: i16 = 2500;
/// Number of characters in which the date and the time of a message are.
const HEADER_CHARS: usize = 60;
/// Maximum number of characters of a name.
const NAME_MAX_CHARS: usize = 100;

/// The beginning of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    /// The three numbers of the date, as they are written.
    date: [i16; 3],
    clock: [i8; 3],
    /// True if month and day may be in the order of the United States: `3/4/24, 10:00 AM`.
    is_american: bool,
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

impl Header {
    /// Parses `31/12/2024, 23:59 - Name: text` or `[12/31/24, 11:59:59 PM] Name: text`, and their variants.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let line = without_marks(line);
        let in_brackets = line.starts_with('[');
        let mut rest = line.strip_prefix('[').unwrap_or(&line).trim_start();
        let numbers = rest;
        let date = date(&mut rest)?;
        let is_padded =
            numbers[..numbers.len() - rest.len()].split(['/', '.', '-']).any(|part| part.starts_with(['0', '٠']));
        rest = rest.trim_start();
        while take_word(&mut rest, &WORDS.joiners) {
            rest = rest.trim_start();
        }
        let before = WORDS.day_parts.take(&mut rest);
        rest = rest.trim_start();
        let clock = clock(&mut rest)?;
        rest = rest.trim_start();
        let after_time = rest;
        let part = before.or_else(|| WORDS.day_parts.take(&mut rest));
        if part.is_none() && take_word(&mut rest, &WORDS.after_time) {
            rest = rest.trim_start();
        }
        let rest = rest.trim_start();
        let rest = if in_brackets {
            rest.strip_prefix(']')?
        } else {
            // Older versions write a colon after the seconds.
            ["- ", "– ", "— ", ": "].iter().find_map(|dash| rest.strip_prefix(dash))?
        };
        let is_american = !is_padded && (after_time.starts_with("AM") || after_time.starts_with("PM"));
        let hour = part.map_or(clock[0], |part: DayPart| part.hour(clock[0]));
        let (speaker, text) = speaker_and_text(rest.trim_start());
        Some(Self {
            date,
            clock: [hour, clock[1], clock[2]],
            is_american,
            speaker: speaker.map(str::to_owned),
            text: text.to_owned(),
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
        let year = match year {
            ..100 => year + 2000,
            FIRST_BUDDHIST_YEAR.. => year - BUDDHIST_YEARS,
            _ => year,
        };
        let [hour, minute, second] = self.clock;
        DateTime::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?, hour, minute, second, 0).ok()
    }
}

impl DateOrder {
    /// Returns the order that is possible for all messages. If several are, it is the one in which fewer messages are
    /// older than the one before, and then that of the United States if the times are written as there.
    pub(super) fn of(headers: &[&Header]) -> Self {
        if headers.iter().any(|header| header.date[0] > 31) {
            return Self::YearMonthDay;
        }
        if headers.iter().any(|header| header.date[0] > 12) {
            return Self::DayMonthYear;
        }
        if headers.iter().any(|header| header.date[1] > 12) {
            return Self::MonthDayYear;
        }
        let steps_back = |order: Self| {
            let times: Vec<Option<DateTime>> = headers.iter().map(|header| header.time(order)).collect();
            times.windows(2).filter(|pair| pair[1] < pair[0]).count()
        };
        let (day_first, month_first) = (steps_back(Self::DayMonthYear), steps_back(Self::MonthDayYear));
        let is_american = headers.iter().any(|header| header.is_american);
        if month_first < day_first || (month_first == day_first && is_american) {
            Self::MonthDayYear
        } else {
            Self::DayMonthYear
        }
    }
}

/// Returns true if a line looks like the beginning of a message: a date and a time before a bracket, or before a dash
/// and a colon.
pub(super) fn is_like_header(line: &str) -> bool {
    let line = without_marks(line);
    let start: String = line.chars().take(HEADER_CHARS).collect();
    let in_brackets = start.starts_with('[');
    let end = if in_brackets { start.find(']') } else { start.find(" - ").filter(|at| line[*at..].contains(": ")) };
    let Some(end) = end else { return false };
    let mut rest = start[..end].trim_start_matches('[').trim_start();
    if date(&mut rest).is_none() {
        return false;
    }
    // A time follows. Words of any language may stand before and after it, such as half-day words.
    let digits = rest.char_indices().filter(|(at, c)| is_digit(*c) && !rest[..*at].ends_with(is_digit));
    digits.map(|(at, _)| &rest[at..]).any(|mut time| clock(&mut time).is_some())
}

/// Splits a message into its speaker and its text. A notice has no speaker.
fn speaker_and_text(message: &str) -> (Option<&str>, &str) {
    let colon = message.char_indices().find(|(at, c)| {
        let after = &message[at + c.len_utf8()..];
        let is_in_time = message[..*at].ends_with(is_digit) && after.starts_with(is_digit);
        matches!(c, ':' | '：') && !is_in_time && !after.starts_with("//")
    });
    let Some((at, colon)) = colon else { return (None, message) };
    let name = message[..at].trim();
    let folded = name.to_lowercase();
    let has_open_quote = name.matches(['"', '“', '”', '„', '«', '»', '「', '」', '『', '』']).count() % 2 == 1;
    let is_notice = WORDS.notices.parts.iter().any(|part| folded.contains(part.as_str()));
    if name.is_empty() || has_open_quote || is_notice || name.chars().count() > NAME_MAX_CHARS {
        return (None, message);
    }
    (Some(name), message[at + colon.len_utf8()..].trim_start())
}

/// Returns a text without the invisible marks of direction, and with ordinary spaces.
pub(super) fn without_marks(text: &str) -> String {
    let is_direction = |c| ('\u{202a}'..='\u{202e}').contains(&c) || ('\u{2066}'..='\u{2069}').contains(&c);
    let is_mark = |c: &char| is_direction(*c) || matches!(c, '\u{200e}' | '\u{200f}' | '\u{feff}');
    let space = |c: char| if matches!(c, '\u{202f}' | '\u{a0}' | '\u{2009}') { ' ' } else { c };
    text.chars().filter(|c| !is_mark(c)).map(space).collect()
}

/// Returns the ASCII digit of an Arabic, Persian, Devanagari, Bengali or full-width digit. Other characters are
/// unchanged.
fn ascii_digit(c: char) -> char {
    let zeros = ['\u{660}', '\u{6f0}', '\u{966}', '\u{9e6}', '\u{ff10}'];
    let value = zeros.iter().find_map(|zero| (c as u32).checked_sub(*zero as u32).filter(|value| *value < 10));
    value.and_then(|value| char::from_digit(value, 10)).unwrap_or(c)
}

/// Takes the three numbers of a date from the beginning: `5/3/2026`, `2026. 3. 5.`, `2026年3月5日`.
fn date(text: &mut &str) -> Option<[i16; 3]> {
    let mut rest = *text;
    let first = number(&mut rest)?;
    let separator = one_of(&mut rest, "/.-年년")?;
    let second = number_after_space(&mut rest)?;
    match separator {
        '年' | '년' => one_of(&mut rest, "月월")?,
        _ => one_of(&mut rest, &separator.to_string())?,
    };
    let third = number_after_space(&mut rest)?;
    *text = rest.trim_start_matches(['日', '일']);
    Some([first, second, third])
}

/// Takes hour, minute and perhaps second from the beginning: `14:05`, `14.05.01`, `14 h 05`.
fn clock(text: &mut &str) -> Option<[i8; 3]> {
    let mut rest = *text;
    let hour = i8::try_from(number(&mut rest)?).ok().filter(|hour| *hour < 25)?;
    let after_hour = rest.trim_start_matches(' ');
    let is_letter = after_hour.starts_with(['h', '時', '시', '点']);
    rest = if is_letter { after_hour } else { rest };
    one_of(&mut rest, ":.h：時시点")?;
    let minute = i8::try_from(number_after_space(&mut rest)?).ok().filter(|minute| *minute < 60)?;
    rest = rest.trim_start_matches(['分', '분']);
    let mut second = 0;
    let mut after = rest;
    if one_of(&mut after, ":.：").is_some()
        && let Some(found) = number(&mut after)
    {
        second = i8::try_from(found).ok().filter(|second| *second < 61)?;
        rest = after;
    }
    *text = rest;
    Some([hour, minute, second])
}

fn number_after_space(text: &mut &str) -> Option<i16> {
    *text = text.trim_start_matches(' ');
    number(text)
}

/// Takes a number of at most four digits from the beginning.
fn number(text: &mut &str) -> Option<i16> {
    let end = text.find(|c| !is_digit(c)).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let digits: String = digits.chars().map(ascii_digit).collect();
    if digits.len() > 4 {
        return None;
    }
    *text = rest;
    digits.parse().ok()
}

/// Returns true for a digit of any script that [`ascii_digit`] reads.
fn is_digit(c: char) -> bool {
    ascii_digit(c).is_ascii_digit()
}

/// Takes one of these characters from the beginning.
fn one_of(text: &mut &str, characters: &str) -> Option<char> {
    let first = text.chars().next().filter(|c| characters.contains(*c))?;
    *text = &text[first.len_utf8()..];
    Some(first)
}
