//! A value that a person wants to be gone: its occurrences in texts and records, however it is written.

use std::ops::Range;

use memory_engine_core::{
    ContentHash, Error, Record, RecordId, Result,
    residue::{Salt, SaltedHash},
    text::{FoldedCharacter, fold_characters, is_han, is_identifier_separator},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::masks::DELETED_MARK;

/// Minimum number of characters of a value. A shorter one is found by chance.
const MIN_CHARACTERS: usize = 3;
/// As [`MIN_CHARACTERS`], for a value of Chinese characters: names have two.
const MIN_HAN_CHARACTERS: usize = 2;
/// Maximum number of characters of a value.
const MAX_CHARACTERS: usize = 1000;
/// Minimum number of digits of a number that is found with other separators. The keyword index has the same limit.
const NUMBER_MIN_DIGITS: usize = 7;
/// Maximum number of letters of a group without a digit in a code, as in `GPT-4`.
const GROUP_MAX_LETTERS: usize = 4;
/// Maximum number of separators between two characters of a code.
const MAX_SEPARATORS: usize = 2;

/// A text as it is compared with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Form {
    /// Normalised, each run of white space as one blank.
    Words,
    /// Normalised, without the separators of numbers and codes.
    Code,
}

/// Finds the occurrences of a value, which begin and end where a word does. Upper and lower case, full-width and
/// traditional characters, the amount of white space, and in numbers and codes the separators make no difference:
/// `138-1234 5678` is found by `１３８１２３４５６７８`.
///
/// ```
/// use memory_engine_screening::ValuePattern;
///
/// let pattern = ValuePattern::new("13812345678")?;
/// let mut text = "打给138-1234 5678，谢谢".to_owned();
/// assert_eq!(pattern.mask(&mut text), 1);
/// assert_eq!(text, "打给[deleted]，谢谢");
/// # Ok::<(), memory_engine_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ValuePattern(Pattern);

/// A value, or the keyed hash of one: it finds the same occurrences, by the hash of each part of a text that has the
/// length of the value.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Pattern {
    form: Form,
    /// Number of characters.
    length: usize,
    value: PatternValue,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PatternValue {
    #[serde(skip)]
    Characters(Vec<char>),
    Hash {
        salt: Salt,
        hash: SaltedHash,
    },
}

impl PatternValue {
    fn is(&self, characters: impl Iterator<Item = char>) -> bool {
        match self {
            Self::Characters(value) => characters.eq(value.iter().copied()),
            Self::Hash { salt, hash } => salt.hash_text(&characters.collect::<String>()) == *hash,
        }
    }
}

impl std::fmt::Debug for ValuePattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ValuePattern").field("form", &self.0.form).finish_non_exhaustive()
    }
}

impl ValuePattern {
    /// Creates the pattern of a value.
    ///
    /// # Errors
    /// `InvalidInput` for a value of fewer than 3 characters (2 if all are Chinese) or more than 1000.
    pub fn new(value: &str) -> Result<Self> {
        let folded = fold_characters(value.trim());
        let form = if is_code(&folded) { Form::Code } else { Form::Words };
        let characters: Vec<char> = runs(&folded, form).into_iter().flatten().map(|folded| folded.character).collect();
        let invalid = |message: String| Err(Error::invalid("forget", message));
        let significant = || characters.iter().filter(|c| !c.is_whitespace() && !c.is_ascii_punctuation());
        let (count, is_chinese) = (significant().count(), significant().copied().all(is_han));
        let min = if is_chinese { MIN_HAN_CHARACTERS } else { MIN_CHARACTERS };
        if count < min {
            return invalid(format!(
                "the text has {count} characters without blanks and punctuation, which other texts have by chance; \
                 name at least {MIN_CHARACTERS} ({MIN_HAN_CHARACTERS} if all are Chinese), or delete the records by \
                 their ids"
            ));
        }
        if count > MAX_CHARACTERS {
            let reason = format!("the text has {count} characters, and at most {MAX_CHARACTERS} are searched for");
            return invalid(format!("{reason}; name a part of it, or delete the records by their ids"));
        }
        let length = characters.len();
        Ok(Self(Pattern { form, length, value: PatternValue::Characters(characters) }))
    }

    /// Returns the pattern with a keyed hash in place of the value, to be stored. Returns itself if it has a hash.
    #[must_use]
    pub fn hashed(&self) -> Self {
        let PatternValue::Characters(characters) = &self.0.value else { return self.clone() };
        let salt = Salt::random();
        let hash = salt.hash_text(&characters.iter().collect::<String>());
        Self(Pattern { value: PatternValue::Hash { salt, hash }, ..self.0 })
    }

    /// Returns true if this is the pattern of the same value. `other` has the value itself.
    pub fn is_same(&self, other: &Self) -> bool {
        let PatternValue::Characters(characters) = &other.0.value else { return false };
        (self.0.form, self.0.length) == (other.0.form, other.0.length) && self.0.value.is(characters.iter().copied())
    }

    /// Returns the number of characters of the value.
    pub fn length(&self) -> usize {
        self.0.length
    }

    /// Returns the bytes of each occurrence in a text, sorted and without overlaps.
    pub fn find(&self, text: &str) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        let length = self.0.length.max(1);
        for run in runs(&fold_characters(text), self.0.form) {
            for (start, window) in run.windows(length).enumerate() {
                let (Some(first), Some(last)) = (window.first(), window.last()) else { continue };
                let is_after = found.last().is_none_or(|range| range.end <= first.range.start);
                // No value begins with a blank, and a code has a digit.
                let is_possible = match self.0.form {
                    Form::Words => first.character != ' ',
                    Form::Code => window.iter().any(|folded| folded.character.is_ascii_digit()),
                };
                let is_of_word = is_inside_word(&run, start) || is_inside_word(&run, start + length);
                if is_after
                    && is_possible
                    && !is_of_word
                    && self.0.value.is(window.iter().map(|folded| folded.character))
                {
                    found.push(with_parenthesis(text, first.range.start..last.range.end));
                }
            }
        }
        found
    }

    /// Replaces the occurrences in a text by `[deleted]`. Returns their number.
    pub fn mask(&self, text: &mut String) -> usize {
        self.mask_text(text, &mut |_, _| ())
    }

    fn mask_text(&self, text: &mut String, on_found: &mut dyn FnMut(&str, Range<usize>)) -> usize {
        let found = self.find(text);
        found.iter().for_each(|range| on_found(text, range.clone()));
        for range in found.iter().rev() {
            text.replace_range(range.clone(), DELETED_MARK);
        }
        found.len()
    }

    /// Returns true if a record contains the value where [`mask_record`](Self::mask_record) would replace it.
    pub fn is_in(&self, record: &Record) -> bool {
        self.mask_record(&mut record.clone(), &mut |_, _| ()) > 0
    }

    /// Replaces the occurrences in a record by `[deleted]`: in its text, speaker, topic, entities, tags and metadata,
    /// with its former texts. Returns their number.
    ///
    /// Ids, scopes, and the keys and [terms](Record::is_term) of the metadata are not searched. Calls `on_found`
    /// before, with each text and the bytes of each occurrence.
    pub fn mask_record(&self, record: &mut Record, on_found: &mut dyn FnMut(&str, Range<usize>)) -> usize {
        let mut count = 0;
        for_each_string(record, &mut |text| count += self.mask_text(text, on_found));
        let terms: Vec<bool> = record.metadata.keys().map(|key| record.is_term(key)).collect();
        let values = record.metadata.iter_mut().zip(terms).filter(|(_, is_term)| !is_term);
        count += values.map(|((_, value), _)| self.mask_value(value, on_found)).sum::<usize>();
        if count > 0 {
            self.mask_parts(record);
        }
        count
    }

    /// Replaces labels, and elements of a topic, that are a part of the value: they are often words of the text.
    fn mask_parts(&self, record: &mut Record) {
        let PatternValue::Characters(value) = &self.0.value else { return };
        for label in record.topic.iter_mut().chain(&mut record.entities).chain(&mut record.tags) {
            let parts = label.split(", ").map(|part| if self.is_part(value, part) { DELETED_MARK } else { part });
            *label = parts.collect::<Vec<&str>>().join(", ");
        }
    }

    fn is_part(&self, value: &[char], text: &str) -> bool {
        let folded = runs(&fold_characters(text), self.0.form).concat();
        let part: Vec<char> = folded.into_iter().map(|folded| folded.character).collect();
        let min = if part.iter().copied().all(is_han) { MIN_HAN_CHARACTERS } else { MIN_CHARACTERS };
        let is_of_code = self.0.form == Form::Words || part.iter().any(char::is_ascii_digit);
        part.len() >= min && is_of_code && value.windows(part.len()).any(|window| window == part)
    }

    fn mask_value(&self, value: &mut Value, on_found: &mut dyn FnMut(&str, Range<usize>)) -> usize {
        match value {
            Value::String(text) if is_reference(text) => 0,
            Value::String(text) => self.mask_text(text, on_found),
            Value::Number(number) => {
                let mut text = number.to_string();
                let is_whole = self.mask(&mut text) == 1 && text == DELETED_MARK;
                if is_whole {
                    *value = text.into();
                }
                usize::from(is_whole)
            }
            Value::Array(values) => values.iter_mut().map(|value| self.mask_value(value, on_found)).sum(),
            Value::Object(map) => map.iter_mut().map(|(_, value)| self.mask_value(value, on_found)).sum(),
            Value::Null | Value::Bool(_) => 0,
        }
    }
}

/// Calls a function with each string of a record outside of its metadata.
fn for_each_string(record: &mut Record, change: &mut impl FnMut(&mut String)) {
    let Record { text, speaker, topic, entities, tags, .. } = record;
    let labels = speaker.iter_mut().chain(topic).chain(entities).chain(tags);
    [text].into_iter().chain(labels).for_each(change);
}

/// Returns true for an id or a hash, which may contain the digits of a value by chance.
fn is_reference(text: &str) -> bool {
    text.parse::<RecordId>().is_ok() || text.parse::<ContentHash>().is_ok()
}

/// Returns true if a word continues at this index of a text: "Ann" is no part of "Annual". The words of scripts without
/// blanks have no such limits.
fn is_inside_word(run: &[FoldedCharacter], index: usize) -> bool {
    let is_letter = |folded: &FoldedCharacter| {
        let c = folded.character;
        c.is_alphabetic() && (c < '\u{590}' || ('\u{1e00}'..'\u{2000}').contains(&c))
    };
    let before = index.checked_sub(1).and_then(|before| run.get(before));
    // The separators of a code are not in its run.
    before
        .zip(run.get(index))
        .is_some_and(|(before, after)| before.range.end == after.range.start && is_letter(before) && is_letter(after))
}

/// Returns true for a number or code whose separators are written in several ways.
fn is_code(folded: &[FoldedCharacter]) -> bool {
    let characters: Vec<char> = folded.iter().map(|folded| folded.character).collect();
    let is_made_of_groups = characters.iter().all(|c| c.is_alphanumeric() || is_identifier_separator(*c));
    let mut groups = characters.split(|c| is_identifier_separator(*c));
    let is_group = |group: &[char]| group.len() <= GROUP_MAX_LETTERS || group.iter().any(char::is_ascii_digit);
    let digits = characters.iter().filter(|c| c.is_ascii_digit()).count();
    let has_letter = characters.iter().any(|c| c.is_alphabetic());
    is_made_of_groups && groups.all(is_group) && (digits >= NUMBER_MIN_DIGITS || (digits > 0 && has_letter))
}

/// Adds the opening parenthesis directly before a range that contains the closing one, as in `(021) 5566`.
fn with_parenthesis(text: &str, range: Range<usize>) -> Range<usize> {
    let inside = &text[range.clone()];
    let before = text[..range.start].strip_suffix(['(', '（']);
    match before.filter(|_| inside.contains([')', '）']) && !inside.contains(['(', '（'])) {
        Some(before) => before.len()..range.end,
        None => range,
    }
}

/// Returns the parts of a text in which a value of this form is searched for.
fn runs(folded: &[FoldedCharacter], form: Form) -> Vec<Vec<FoldedCharacter>> {
    let mut runs = vec![Vec::new()];
    let mut skipped = 0;
    for next in folded {
        let is_skipped = match form {
            Form::Words => next.character.is_whitespace() && skipped > 0,
            Form::Code => is_identifier_separator(next.character) && skipped < MAX_SEPARATORS,
        };
        let is_separator = match form {
            Form::Words => next.character.is_whitespace(),
            Form::Code => is_skipped,
        };
        skipped = if is_separator { skipped + 1 } else { 0 };
        if is_skipped {
            continue;
        }
        if form == Form::Code && !next.character.is_alphanumeric() {
            runs.push(Vec::new());
        } else if let Some(run) = runs.last_mut() {
            let character = if next.character.is_whitespace() { ' ' } else { next.character };
            run.push(FoldedCharacter { character, range: next.range.clone() });
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use memory_engine_core::{Kind, Scope, SystemClock, text::FOLDS_TRADITIONAL};
    use serde_json::json;

    use super::*;

    fn masked(value: &str, text: &str) -> String {
        let mut text = text.to_owned();
        ValuePattern::new(value).unwrap().mask(&mut text);
        text
    }

    #[test]
    fn a_value_is_found_however_it_is_written() {
        for (value, text, expected) in [
            ("Quinn Okafor", "QUINN  okafor and quinn\nOkafor's", "[deleted] and [deleted]'s"),
            ("(021) 5566-7788", "office:02155667788; ０２１－５５６６　７７８８", "office:[deleted]; [deleted]"),
            ("02155667788", "（021）5566-7788 (or (021) 5566-7788)", "[deleted] (or [deleted])"),
            ("zx-90-kappa7", "ZX90kappa7, zx 90 KAPPA7", "[deleted], [deleted]"),
            ("陈晓琳", "陈晓琳说，陈 晓琳", "[deleted]说，陈 晓琳"),
            ("粤B·73K21", "车牌是粤b73k21。", "车牌是[deleted]。"),
            ("E\u{301}milie", "Émilie", "[deleted]"),
            ("ab ab", "ab ab ab", "[deleted] ab"),
            (
                "Ann",
                "Annual plans of Ann and Hannah, Ann's and Ann2",
                "Annual plans of [deleted] and Hannah, [deleted]'s and [deleted]2",
            ),
            ("Ірина", "Ірина, Іринаа", "[deleted], Іринаа"),
            ("KX4471B", "it is KX-4471-B by the gate, not XKX4471B", "it is [deleted] by the gate, not XKX4471B"),
            ("小安", "大小安全，小安说", "大[deleted]全，[deleted]说"),
            ("Ann", "找Ann吃饭", "找[deleted]吃饭"),
            ("3317", "33-17 and 3317", "33-17 and [deleted]"),
        ] {
            assert_eq!(masked(value, text), expected, "{value}");
        }
        let expected = if FOLDS_TRADITIONAL { "[deleted]说" } else { "陈晓琳说" };
        assert_eq!(masked("陳曉琳", "陈晓琳说"), expected);
    }

    #[test]
    fn a_stored_pattern_has_no_value_and_finds_the_same() {
        for (value, text) in [
            ("Quinn Okafor", "with QUINN  okafor and quinn"),
            ("(021) 5566-7788", "office:02155667788，０２１－５５６６　７７８８"),
            ("陈晓琳", "陈晓琳说陈晓琳"),
        ] {
            let pattern = ValuePattern::new(value).unwrap();
            let stored = serde_json::to_string(&pattern.hashed()).unwrap();
            assert!(!stored.contains("Quinn") && !stored.contains("5566") && !stored.contains('晓'), "{stored}");
            let read: ValuePattern = serde_json::from_str(&stored).unwrap();
            assert_eq!(read.find(text), pattern.find(text));
            assert!(!pattern.find(text).is_empty() && read.is_same(&pattern) && read.length() == pattern.length());
            assert!(!read.is_same(&ValuePattern::new("another one").unwrap()));
            let other_salt = serde_json::to_string(&pattern.hashed()).unwrap();
            assert_ne!(stored, other_salt);
        }
        assert!(serde_json::to_string(&ValuePattern::new("a secret").unwrap()).is_err(), "only a hash is stored");
    }

    #[test]
    fn groups_that_are_far_apart_are_no_number() {
        for text in ["2155, 6677 and 88", "021 - - 55667788", "0215566\n7789", "021556677"] {
            assert_eq!(masked("02155667788", text), text);
        }
    }

    #[test]
    fn short_and_long_values_are_refused_with_a_reason() {
        for value in ["", " a b ", "龙", "龙7", "ok", "--"] {
            let error = ValuePattern::new(value).unwrap_err();
            assert!(error.to_string().contains("at least 3 (2 if all are Chinese)"), "{value}: {error}");
        }
        assert!(ValuePattern::new("龙飞").is_ok() && ValuePattern::new("abc").is_ok());
        assert!(ValuePattern::new(&"ab ".repeat(501)).unwrap_err().to_string().contains("at most 1000"));
    }

    #[test]
    fn every_field_of_a_record_is_masked_except_terms_and_ids() {
        let mut record = Record::new(Scope::user("lin").unwrap(), Kind::FACT, "Lin likes positive", &SystemClock);
        record.speaker = Some("positive Pia".to_owned());
        record.tags = vec!["positive".to_owned()];
        let id = RecordId::new().to_string();
        let metadata = json!({
            "polarity": "positive", "value": "so positive", "superseded_by": id,
            "edits": [{ "text": "Positive", "until": 7 }],
            "positive": 1, "slot": "plan.positive",
        });
        record.metadata = metadata.as_object().unwrap().clone();
        assert_eq!(ValuePattern::new("positive").unwrap().mask_record(&mut record, &mut |_, _| ()), 6);
        assert_eq!(record.text, "Lin likes [deleted]");
        assert_eq!((record.speaker.as_deref(), &*record.tags[0]), (Some("[deleted] Pia"), "[deleted]"));
        let expected = json!({
            "polarity": "positive", "value": "so [deleted]", "superseded_by": id, "positive": 1,
            "slot": "plan.[deleted]",
            "edits": [{ "text": "[deleted]", "until": 7 }],
        });
        assert_eq!(Value::Object(record.metadata.clone()), expected);
        record.metadata = json!({ "phone": 5_550_147_733_u64, "id": id }).as_object().unwrap().clone();
        assert_eq!(ValuePattern::new("555 014 7733").unwrap().mask_record(&mut record, &mut |_, _| ()), 1);
        record.text = "the line is (021) 5566-7788".to_owned();
        record.topic = Some("line, 5566-7788".to_owned());
        record.entities = vec!["5566".to_owned(), "66".to_owned(), "021-9".to_owned()];
        ValuePattern::new("02155667788").unwrap().mask_record(&mut record, &mut |_, _| ());
        assert_eq!(record.topic.as_deref(), Some("line, [deleted]"));
        assert_eq!(record.entities, ["[deleted]", "66", "021-9"]);
        assert_eq!(
            ValuePattern::new(&id[..8]).unwrap().mask_record(&mut record, &mut |_, _| ()),
            0,
            "an id is a reference"
        );
    }
}
