//! Names that the texts give to one relation of the user: "my cat Luna", "our cat is called Moon", 我家猫叫团团.

use std::collections::BTreeMap;

use memory_engine_keyword_store::words;
use memory_engine_text::data;
use serde::Deserialize;

use super::{
    address::is_capitalised,
    corpus::{Corpus, WordId},
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Relations {
    en_relations: Vec<Vec<String>>,
    en_possessives: Vec<String>,
    /// Words between the noun and the name.
    en_naming: Vec<String>,
    zh_relations: Vec<Vec<String>>,
    zh_possessives: Vec<String>,
    zh_naming: Vec<String>,
    /// Words before the noun that say that there are several.
    zh_several: Vec<String>,
}

/// Minimum number of sentences that give one of the names to the relation.
const MIN_SENTENCES: u32 = 3;

data!(RELATIONS: Relations = "en/relations.toml", "zh/relations.toml");

/// Number of sentences that give each name to a relation.
type NameCounts = BTreeMap<WordId, u32>;

/// Returns the pairs of names that the texts give to one relation, if it has exactly these two. Each name is given at
/// least once, and no sentence says that there are several.
pub(super) fn names_of_one_relation(corpus: &Corpus<'_>, is_used: impl Fn(WordId) -> bool) -> Vec<(WordId, WordId)> {
    let mut by_relation: BTreeMap<(bool, usize), NameCounts> = BTreeMap::new();
    for (_, sentence) in &corpus.sentences {
        let mut add = |relation: (bool, usize), name: &str| {
            let id = corpus.id(name).filter(|id| corpus.usage(*id).is_name() || !name.is_ascii());
            if let Some(id) = id {
                *by_relation.entry(relation).or_default().entry(id).or_default() += 1;
            }
        };
        if sentence.is_ascii() {
            for_each_english(sentence, &mut |relation, name| add((true, relation), name));
        } else {
            for_each_chinese(sentence, &mut |relation, name| add((false, relation), name));
        }
    }
    let mut pairs = Vec::new();
    for ((is_english, relation), names) in by_relation {
        let names: Vec<(WordId, u32)> = names.into_iter().collect();
        if let [(a, count_a), (b, count_b)] = names[..]
            && count_a + count_b >= MIN_SENTENCES
            && is_used(a)
            && is_used(b)
            && !has_several(corpus, is_english, relation)
        {
            pairs.push((a, b));
        }
    }
    pairs
}

/// Returns true if a sentence says that the user has several of a relation: "my cats", 两只猫.
fn has_several(corpus: &Corpus<'_>, is_english: bool, relation: usize) -> bool {
    if is_english {
        let nouns = &RELATIONS.en_relations[relation];
        let plurals = nouns.iter().filter_map(|noun| corpus.id(noun).map(|id| (id, format!("{noun}s"))));
        return plurals.into_iter().any(|(id, plural)| corpus.usage(id).has_form(&plural));
    }
    let nouns = &RELATIONS.zh_relations[relation];
    let several = |sentence: &str| {
        RELATIONS.zh_several.iter().any(|number| nouns.iter().any(|noun| sentence.contains(&format!("{number}{noun}"))))
    };
    corpus.sentences.iter().any(|(_, sentence)| several(sentence))
}

fn for_each_english(sentence: &str, add: &mut impl FnMut(usize, &str)) {
    let tokens: Vec<&str> = sentence.split_whitespace().collect();
    let bare = |token: &str| token.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    for (at, pair) in tokens.windows(2).enumerate() {
        if !RELATIONS.en_possessives.contains(&bare(pair[0])) {
            continue;
        }
        let noun = bare(pair[1].strip_suffix("'s").unwrap_or(pair[1]));
        let Some(relation) = RELATIONS.en_relations.iter().position(|nouns| nouns.contains(&noun)) else { continue };
        let mut after = tokens[at + 2..].iter().skip_while(|token| RELATIONS.en_naming.contains(&bare(token)));
        let (Some(name), next) = (after.next(), after.next()) else { continue };
        let name_end = name.trim_end_matches(|c: char| !c.is_alphanumeric());
        let name_end = name_end.strip_suffix("'s").unwrap_or(name_end);
        // Two capitals in a row are a full name, or the beginning of another phrase.
        let continues = name_end.len() == name.len() && next.is_some_and(|next| is_capitalised(next));
        if is_capitalised(name_end) && name_end.len() > 1 && !continues {
            add(relation, name_end);
        }
    }
    // "Luna, my cat," and "Luna is my cat".
    for (at, window) in tokens.windows(3).enumerate() {
        let [name, link, noun_at] = [window[0], window[1], window[2]];
        let (name, possessive, noun) = if let Some(name) = name.strip_suffix(',') {
            (name, link, bare(noun_at))
        } else if link == "is" {
            (name, noun_at, tokens.get(at + 3).map(|noun| bare(noun)).unwrap_or_default())
        } else {
            continue;
        };
        if is_capitalised(name)
            && RELATIONS.en_possessives.contains(&bare(possessive))
            && let Some(relation) = RELATIONS.en_relations.iter().position(|nouns| nouns.contains(&noun))
        {
            add(relation, name);
        }
    }
}

fn for_each_chinese(sentence: &str, add: &mut impl FnMut(usize, &str)) {
    for naming in &RELATIONS.zh_naming {
        for (at, _) in sentence.match_indices(naming.as_str()) {
            let before = &sentence[..at];
            let nouns = RELATIONS.zh_relations.iter().enumerate();
            let nouns = nouns.flat_map(|(relation, nouns)| nouns.iter().map(move |noun| (relation, noun)));
            let Some((relation, noun)) =
                nouns.filter(|(_, noun)| before.ends_with(noun.as_str())).max_by_key(|(_, noun)| noun.len())
            else {
                continue;
            };
            let owner = &before[..before.len() - noun.len()];
            if !RELATIONS.zh_possessives.iter().any(|possessive| owner.ends_with(possessive.as_str())) {
                continue;
            }
            let after = sentence[at + naming.len()..].trim_start_matches(['“', '"', '「', '‘', ' ', '：']);
            let clause_end = after.find(|c: char| !c.is_alphanumeric()).unwrap_or(after.len());
            let clause = &after[..clause_end];
            let name =
                if clause.chars().count() <= 3 { Some(clause) } else { words(clause).first().map(|word| word.text) };
            if let Some(name) = name.filter(|name| name.chars().count() > 1 && clause.starts_with(name)) {
                add(relation, name);
            }
        }
    }
}
