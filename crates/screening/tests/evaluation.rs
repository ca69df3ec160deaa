//! Precision and recall on generated values in sentences of chats, notes and logs that were written before the rules.
//! `cargo test -p memory-engine-screening --test evaluation -- --nocapture` prints the figures.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "evaluation/values.rs"]
mod values;

use std::collections::BTreeMap;

use memory_engine_screening::{Screener, ScreeningAction, ScreeningPolicy};
use serde::Deserialize;
use values::Values;

/// Number of values for each sentence.
const ROUNDS: u64 = 5;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sentences {
    positives: BTreeMap<String, Vec<String>>,
    texts: Texts,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Texts {
    negatives: Vec<String>,
}

fn sentences(language: &str) -> Sentences {
    let file = match language {
        "en" => include_str!("evaluation/en.toml"),
        _ => include_str!("evaluation/zh.toml"),
    };
    toml::from_str(file).unwrap()
}

/// Returns a sentence with its values, and the values.
fn filled(template: &str, values: &mut Values) -> (String, Vec<String>) {
    let mut text = String::new();
    let mut secrets = Vec::new();
    let mut rest = template;
    while let Some(start) = rest.find('{') {
        let name_end = rest[start..].find('}').map_or(rest.len(), |end| start + end);
        match values.of(&rest[start + 1..name_end]) {
            Some(value) => {
                text.push_str(&rest[..start]);
                text.push_str(&value);
                secrets.push(Values::secret_of(&value));
                rest = &rest[name_end + 1..];
            }
            None => {
                text.push_str(&rest[..=start]);
                rest = &rest[start + 1..];
            }
        }
    }
    (text + rest, secrets)
}

#[test]
fn precision_and_recall() {
    let screener = Screener::new(ScreeningPolicy::uniform(ScreeningAction::Mask));
    for (language, min_recall) in [("en", 0.9), ("zh", 0.9)] {
        let sentences = sentences(language);
        let mut found_values = 0;
        let mut all_values = 0;
        let mut additional = 0;
        for (category, templates) in &sentences.positives {
            let mut found = 0;
            let mut all = 0;
            let mut missed = BTreeMap::new();
            for (index, template) in templates.iter().enumerate() {
                for round in 0..ROUNDS {
                    let (text, secrets) = filled(template, &mut Values::new(100 * round + index as u64 + 1));
                    let masked = screener.screen(&text);
                    all += secrets.len();
                    let is_gone = |secret: &&String| !masked.text.contains(secret.as_str());
                    let gone = secrets.iter().filter(is_gone).count();
                    found += gone;
                    if gone < secrets.len() {
                        missed.insert(template, masked.text.clone().into_owned());
                    }
                    additional += masked.findings.len().saturating_sub(secrets.len());
                }
            }
            println!("{language} {category:17} recall {found}/{all}");
            for (template, masked) in missed {
                println!("    missed: {template:?} -> {masked:?}");
            }
            found_values += found;
            all_values += all;
        }
        let mut false_positives = 0;
        for text in &sentences.texts.negatives {
            let screened = screener.screen(text);
            false_positives += screened.findings.len();
            if !screened.findings.is_empty() {
                println!("    false positive: {}", screened.text);
            }
        }
        let recall = found_values as f64 / all_values as f64;
        let wrong = false_positives + additional;
        let precision = found_values as f64 / (found_values + wrong) as f64;
        let negatives = sentences.texts.negatives.len();
        println!(
            "{language} recall {recall:.3} ({found_values}/{all_values}), precision {precision:.3}, \
             {false_positives} false positives in {negatives} sentences without secrets"
        );
        assert!(recall >= min_recall, "{language}: {recall}");
        assert!(false_positives * 20 <= negatives, "{language}: {false_positives} false positives");
    }
}
