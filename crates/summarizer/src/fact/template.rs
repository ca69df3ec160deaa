//! The regular expressions of rule files.

use memory_engine_core::{Language, text::is_han};
use memory_engine_text::Macros;

/// Returns a regular expression with its macros expanded. `[A-Z]` matches an upper-case letter of any script, although
/// the rest of the expression ignores case.
pub(super) fn expanded(macros: &Macros, form: &str) -> String {
    macros
        .expanded(form)
        .replace('’', "'")
        .replace("(?-i:[A-Z])", "[A-Z]")
        .replace("[A-Z][a-z]+", "(?-i:[\\p{Lu}]\\p{Ll}+)")
        .replace("[A-Z]", "(?-i:\\p{Lu})")
}

/// Returns the language that a regular expression is written for.
pub(super) fn language_of(form: &str) -> Language {
    let chinese = form.chars().any(is_han) || form.contains("{zv}") || form.contains("{wo}");
    if chinese { Language::Chinese } else { Language::English }
}
