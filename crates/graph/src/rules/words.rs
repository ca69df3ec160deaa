//! Common words, and what belongs to a word.

/// English words that are no name by themselves, even with a capital at the beginning of a sentence.
const COMMON: &str = "a about above after again against all almost along already also although always am among an and \
    another any anyone anything are around as ask asked at away back be because been before behind being below between both \
    but by call called came can cannot come could day did do does doing done down during each either else end even ever \
    every everyone everything few find first for found from gave get give given go goes going gone got had has \
    have having he hello her here hers herself hey hi him himself his how however i i'd i'll i'm i've if in inside instead \
    into is it it's its itself just keep knew know known last later least leave left less let like look looked \
    made make many may maybe me meet met might mine more most much must my myself near never next no nobody none nor \
    not nothing now of off oh ok okay on once one only onto or other our ours out outside over own people perhaps \
    please put rather really said same saw say second see seen several shall she should since so some someone something \
    soon still such take taken tell than thank thanks that that's the their theirs them themselves then there there's these \
    they they're thing things think this those though three through thus time to today together told tomorrow tonight too \
    took toward towards two under until up upon us use used very want wanted was way we well went were what what's when \
    where where's whether which while who who's whom whose why will with within without work would yes yesterday yet you \
    you're your yours yourself monday tuesday wednesday thursday friday saturday sunday january february march april june \
    july august september october november december morning evening night afternoon spring summer autumn winter year \
    month week finally suddenly meanwhile according during despite dear sorry sure";

/// Whether a lower-case English word is a common one.
pub(crate) fn is_common(word: &str) -> bool {
    // A few hundred words; a walk through them is shorter than making a set of them would be for most texts.
    let word = word.replace('’', "'");
    word.chars().count() < 2 && !word.chars().any(|c| c.is_ascii_digit()) && word.is_ascii()
        || COMMON.split_whitespace().any(|common| common == word)
}

/// A word without the full stop, the hyphens and the `'s` at its end, unless the full stop is a title's or an initial's.
pub(crate) fn plain(word: &str) -> &str {
    let word = word.trim_end_matches(['\'', '’', '-']);
    let word = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word);
    let bare = word.trim_end_matches('.');
    let abbreviated = super::titles::is_before(bare) || bare.chars().count() == 1 || bare.contains('.');
    if abbreviated && word.len() == bare.len() + 1 { word } else { bare }
}
