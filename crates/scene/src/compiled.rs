//! Validated rules, compiled, and the rules that a message matches.

use std::{cell::LazyCell, sync::Arc};

use memory_engine_core::{Phrases, Result};

use crate::{
    daily_life::is_long_daily_life,
    message::{Message, MessagePart, Sentence},
    patterns::{PatternEffect, PatternSet, ScenePattern},
    rules::{SceneRule, SceneRules},
};

/// The rules of a detector.
#[derive(Debug)]
pub(crate) struct CompiledRules {
    pub(crate) default_scene: String,
    labels: Vec<(String, RuleList)>,
    scenes: Vec<CompiledScene>,
    patterns: Vec<ScenePattern>,
    set: Arc<PatternSet>,
}

/// A scene that a session enters and leaves.
#[derive(Debug)]
pub(crate) struct CompiledScene {
    pub(crate) name: String,
    enter: RuleList,
    exit: RuleList,
}

/// The words of one list, and the patterns with the same scene and effect.
#[derive(Debug)]
struct RuleList {
    words: Vec<Word>,
    /// Indexes and ids of patterns that need no word.
    patterns: Vec<(usize, String)>,
    /// Patterns that take effect together.
    evidence: Vec<Evidence>,
}

#[derive(Debug)]
struct Evidence {
    /// The index of the pattern.
    index: usize,
    id: String,
    weight: i32,
}

#[derive(Debug)]
struct Word {
    text: String,
    phrase: Phrases,
    /// Indexes of the patterns to which the word is limited. Empty: the word counts anywhere.
    patterns: Vec<usize>,
}

/// The sentences of a message, each with the indexes of the patterns that match it.
#[derive(Debug)]
pub(crate) struct Hits<'m> {
    sentences: Vec<(&'m Sentence, Vec<usize>)>,
}

impl CompiledRules {
    /// # Errors
    /// The errors of [`SceneRules::validate`], and `InvalidInput` for a regular expression that does not compile.
    pub(crate) fn of(rules: &SceneRules) -> Result<Self> {
        rules.validate()?;
        let list = |name: &str, effect, words: &[String]| RuleList::of(words, &rules.patterns, name, effect);
        let scene = |rule: &SceneRule| CompiledScene {
            name: rule.name.clone(),
            enter: list(&rule.name, PatternEffect::Enter, &rule.enter),
            exit: list(&rule.name, PatternEffect::Exit, &rule.exit),
        };
        let labels = rules.labels.iter();
        Ok(Self {
            default_scene: rules.default_scene.clone(),
            labels: labels
                .map(|rule| (rule.name.clone(), list(&rule.name, PatternEffect::Label, &rule.words)))
                .collect(),
            scenes: rules.scenes.iter().map(scene).collect(),
            patterns: rules.patterns.clone(),
            set: PatternSet::of(&rules.patterns)?,
        })
    }

    pub(crate) fn scene(&self, name: &str) -> Option<&CompiledScene> {
        self.scenes.iter().find(|scene| scene.name == name)
    }

    /// Returns the patterns that each sentence of a message matches, if the session is in the scene `current`.
    pub(crate) fn hits<'m>(&self, message: &'m Message, current: &str) -> Hits<'m> {
        let is_daily_life = LazyCell::new(|| is_long_daily_life(message));
        let sentences = message.sentences.iter().map(|sentence| {
            let mut patterns = self.set.matches(sentence);
            patterns.retain(|at| {
                let pattern = &self.patterns[*at];
                pattern.parts.contains(&sentence.part)
                    && pattern.within.as_ref().is_none_or(|scene| scene == current)
                    && pattern.outside.as_ref().is_none_or(|scene| scene != current)
                    && (!pattern.alone || message.sentences.len() == 1)
                    && (!pattern.long_daily_life || *is_daily_life)
            });
            (sentence, patterns)
        });
        Hits { sentences: sentences.collect() }
    }

    /// Returns the label of a message with the word or the id of the pattern.
    pub(crate) fn label<'r>(&'r self, hits: &Hits<'_>) -> Option<(&'r str, &'r str)> {
        self.labels.iter().find_map(|(name, list)| Some((name.as_str(), list.cause(hits)?)))
    }

    /// Returns the scene that a message enters with the word or the id of the pattern. The current scene takes
    /// precedence.
    pub(crate) fn entered<'r>(
        &'r self,
        hits: &Hits<'_>,
        current: Option<&'r CompiledScene>,
    ) -> Option<(&'r CompiledScene, &'r str)> {
        current
            .into_iter()
            .chain(&self.scenes)
            .filter(|scene| scene.exit(hits).is_none())
            .find_map(|scene| Some((scene, scene.enter.cause(hits)?)))
    }
}

impl CompiledScene {
    /// Returns the word or the id of the pattern by which a message leaves the scene.
    pub(crate) fn exit<'r>(&'r self, hits: &Hits<'_>) -> Option<&'r str> {
        self.exit.cause(hits)
    }
}

impl RuleList {
    fn of(words: &[String], patterns: &[ScenePattern], name: &str, effect: PatternEffect) -> Self {
        let own = || patterns.iter().enumerate().filter(|(_, own)| own.scene == name && own.effect == effect);
        let word = |text: &String| Word {
            text: text.clone(),
            phrase: Phrases::new([text]),
            patterns: own().filter(|(_, pattern)| pattern.words.contains(text)).map(|(at, _)| at).collect(),
        };
        let is_sufficient = |pattern: &ScenePattern| pattern.weight >= ScenePattern::FULL_WEIGHT;
        let patterns = own().filter(|(_, pattern)| pattern.words.is_empty() && is_sufficient(pattern));
        let evidence = own().filter(|(_, pattern)| !is_sufficient(pattern)).map(|(index, pattern)| Evidence {
            index,
            id: pattern.id.as_str().to_owned(),
            weight: pattern.weight,
        });
        Self {
            words: words.iter().map(word).collect(),
            patterns: patterns.map(|(at, pattern)| (at, pattern.id.as_str().to_owned())).collect(),
            evidence: evidence.collect(),
        }
    }

    /// Returns the first word that counts in one of the sentences, else the id of the first pattern that matches one,
    /// else that of the heaviest evidence if all evidence together is sufficient.
    fn cause(&self, hits: &Hits<'_>) -> Option<&str> {
        let word = self.words.iter().find(|word| hits.sentences.iter().any(|hit| word.counts_in(hit)));
        if let Some(word) = word {
            return Some(&word.text);
        }
        let is_hit = |at: &usize| hits.sentences.iter().any(|(_, patterns)| patterns.contains(at));
        let pattern = self.patterns.iter().find(|(at, _)| is_hit(at)).map(|(_, id)| id.as_str());
        pattern.or_else(|| {
            let evidence: Vec<&Evidence> = self.evidence.iter().filter(|evidence| is_hit(&evidence.index)).collect();
            let weight: i32 = evidence.iter().map(|evidence| evidence.weight).fold(0, i32::saturating_add);
            let heaviest = evidence.into_iter().max_by_key(|evidence| evidence.weight)?;
            (weight >= ScenePattern::FULL_WEIGHT).then_some(heaviest.id.as_str())
        })
    }
}

impl Word {
    fn counts_in(&self, (sentence, hits): &(&Sentence, Vec<usize>)) -> bool {
        let is_allowed = if self.patterns.is_empty() {
            sentence.part != MessagePart::Action
        } else {
            self.patterns.iter().any(|at| hits.contains(at))
        };
        is_allowed && self.phrase.find_folded(&sentence.text).is_some()
    }
}
