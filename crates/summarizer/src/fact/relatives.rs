//! Names of the speaker's relatives and animals, and the limits of statements about them.

use std::collections::BTreeMap;

use memory_engine_text::Words;

use crate::data::{DataPattern, data};

data! {
    DATA = "zh/relatives.toml", "en/relatives.toml";
    DataPattern: not_theirs, zh_not_theirs;
    BTreeMap<String, String>: one_name;
    Words: only_one, partners, any_partner;
}

/// Returns true if the Chinese words after a relative are about the relative alone.
pub(super) fn zh_is_about_relative(rest: &str) -> bool {
    !rest.is_empty() && !DATA.zh_not_theirs.is_match(rest)
}

/// Returns true if the English words after a relative are about the relative alone.
pub(super) fn en_is_about_relative(rest: &str) -> bool {
    !DATA.not_theirs.is_match(rest)
}

/// Returns the canonical name of a relative or an animal: `mother` for `mom`.
pub(crate) fn canonical_name(word: &str) -> &str {
    DATA.one_name.get(word).map_or(word, String::as_str)
}

/// Returns true if a person has at most one such relative, for example a mother.
pub(super) fn is_unique(kin: &str) -> bool {
    DATA.only_one.contains(kin) || kin.starts_with("fianc")
}

/// Returns true for the word that stands for any spouse or lover.
pub(crate) fn is_any_partner(kin: &str) -> bool {
    DATA.any_partner.contains(kin)
}

/// Returns true for a spouse or a lover.
pub(crate) fn is_partner(kin: &str) -> bool {
    DATA.partners.contains(kin) || kin.starts_with("fianc")
}
