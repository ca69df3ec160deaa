//! A text, character by character.

use std::ops::Range;

use crate::numbers::is_numeral;

/// The characters of a text, folded one by one so that their places stay: lower case, half width, and simplified as far as
/// dates are written with them.
#[derive(Debug)]
pub(crate) struct Scan {
    folded: Vec<char>,
    given: Vec<char>,
    starts: Vec<usize>,
}

/// Traditional characters of dates, each with its simplified form.
const TRADITIONAL: &[(char, char)] = &[
    ('週', '周'),
    ('個', '个'),
    ('號', '号'),
    ('後', '后'),
    ('這', '这'),
    ('禮', '礼'),
    ('幾', '几'),
    ('兩', '两'),
    ('過', '过'),
    ('剛', '刚'),
    ('時', '时'),
    ('鐘', '钟'),
    ('鍾', '钟'),
    ('間', '间'),
    ('陣', '阵'),
    ('節', '节'),
    ('聖', '圣'),
    ('誕', '诞'),
    ('國', '国'),
    ('慶', '庆'),
    ('頭', '头'),
    ('裡', '里'),
    ('裏', '里'),
    ('點', '点'),
    ('當', '当'),
    ('現', '现'),
    ('從', '从'),
    ('聰', '聪'),
    ('發', '发'),
    ('證', '证'),
    ('聲', '声'),
    ('圍', '围'),
    ('邊', '边'),
    ('網', '网'),
    ('馬', '马'),
    ('氣', '气'),
    ('來', '来'),
];

impl Scan {
    pub(crate) fn new(text: &str) -> Self {
        let mut starts: Vec<usize> = text.char_indices().map(|(start, _)| start).collect();
        starts.push(text.len());
        let given: Vec<char> = text.chars().collect();
        Self { folded: given.iter().map(|c| fold(*c)).collect(), given, starts }
    }

    pub(crate) fn len(&self) -> usize {
        self.folded.len()
    }

    /// The folded character at a place.
    pub(crate) fn at(&self, place: usize) -> Option<char> {
        self.folded.get(place).copied()
    }

    /// The folded character before a place.
    pub(crate) fn before(&self, place: usize) -> Option<char> {
        place.checked_sub(1).and_then(|place| self.at(place))
    }

    /// Whether the character at a place was given in upper case.
    pub(crate) fn is_upper(&self, place: usize) -> bool {
        self.given.get(place).is_some_and(|c| c.is_uppercase())
    }

    /// The bytes from one character to before another.
    pub(crate) fn bytes(&self, begin: usize, end: usize) -> Range<usize> {
        self.starts[begin]..self.starts[end]
    }

    /// The place after `word`, if it stands at `place`.
    pub(crate) fn word(&self, place: usize, word: &str) -> Option<usize> {
        let mut end = place;
        for c in word.chars() {
            if self.at(end) != Some(c) {
                return None;
            }
            end += 1;
        }
        Some(end)
    }

    /// The first of the words that stands at `place`, with the place after it and its number in the list.
    pub(crate) fn one_of(&self, place: usize, words: &[&str]) -> Option<(usize, usize)> {
        words.iter().enumerate().find_map(|(n, word)| Some((self.word(place, word)?, n)))
    }

    /// Whether a word or a number begins at a place.
    pub(crate) fn begins_word(&self, place: usize) -> bool {
        let joined = |c: char| is_latin(c) || matches!(c, '_' | '\'' | '’' | '-' | '/' | '.' | '@' | '#' | '$');
        let begins = self.at(place).is_some_and(is_latin);
        begins
            && match self.before(place) {
                None => true,
                Some('.' | '-' | '/') => {
                    // The end of a sentence or a dash is no part of a word; "v1.2" and "x/y" are one.
                    place.checked_sub(2).and_then(|p| self.at(p)).is_none_or(|c| !is_latin(c)) && !self.is_digit(place)
                }
                Some(c) => !joined(c),
            }
    }

    /// Whether what begins at a place goes on a number: "2,023" and "三十" have one that begins before it.
    pub(crate) fn is_inside_number(&self, place: usize) -> bool {
        self.before(place).is_some_and(|c| {
            is_numeral(c) || (matches!(c, '.' | '-' | '/' | ',') && place > 1 && self.is_digit(place - 2))
        })
    }

    fn is_digit(&self, place: usize) -> bool {
        self.at(place).is_some_and(|c| c.is_ascii_digit())
    }

    /// The next place where something may begin: not inside a number.
    pub(crate) fn next(&self, place: usize) -> usize {
        let mut next = place + 1;
        while self.is_digit(place) && self.is_digit(next) {
            next += 1;
        }
        next
    }
}

/// A letter or digit of a script that parts its words by blanks.
pub(crate) fn is_latin(c: char) -> bool {
    c.is_alphanumeric() && u32::from(c) < 0x2e80
}

fn fold(c: char) -> char {
    let half = match u32::from(c) {
        code @ 0xff01..=0xff5e => char::from_u32(code - 0xfee0).unwrap_or(c),
        0x3000 => ' ',
        _ => c,
    };
    let lower = half.to_ascii_lowercase();
    if lower.is_ascii() {
        return lower;
    }
    TRADITIONAL.iter().find(|(traditional, _)| *traditional == lower).map_or(lower, |(_, simplified)| *simplified)
}
