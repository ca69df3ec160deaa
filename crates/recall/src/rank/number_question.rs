//! Queries that ask for a number, and texts that name one.

use std::sync::LazyLock;

use memory_engine_core::Phrases;
use memory_engine_text::Words;
use serde::Deserialize;

memory_engine_text::data!(DATA: NumberQuestions = "number_questions.toml");

#[derive(Debug, Deserialize)]
struct NumberQuestions {
    questions: Words,
    numbers: Words,
    numerals: String,
}

static QUESTIONS: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(DATA.questions.iter()));

/// Returns true if a query asks how many, how much or which number.
pub(super) fn asks_for_a_number(query: &str) -> bool {
    QUESTIONS.find(query).is_some()
}

/// Returns true if a text has a digit or a numeral.
pub(super) fn names_a_number(text: &str) -> bool {
    let is_numeral = |word: &str| DATA.numbers.iter().any(|number| word.eq_ignore_ascii_case(number));
    text.contains(|c: char| c.is_ascii_digit() || DATA.numerals.contains(c))
        || text.split(|c: char| !c.is_alphabetic()).any(is_numeral)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_for_numbers_are_recognised_in_both_languages() {
        for query in
            ["How many cats does she have?", "how old is Ben", "房租多少钱？", "他家有几个孩子", "她的身高是？"]
        {
            assert!(asks_for_a_number(query), "{query}");
        }
        for query in ["How did she like it?", "Who has many cats?", "他喜欢什么"] {
            assert!(!asks_for_a_number(query), "{query}");
        }
    }

    #[test]
    fn digits_and_numerals_are_numbers() {
        for text in ["It was 12 euros", "Three of them", "养了两只猫"] {
            assert!(names_a_number(text), "{text}");
        }
        for text in ["None of them came", "phone", "没养猫"] {
            assert!(!names_a_number(text), "{text}");
        }
    }
}
