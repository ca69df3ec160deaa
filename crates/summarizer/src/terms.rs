//! The words that a text is about, without a dictionary.

use std::{collections::BTreeMap, sync::LazyLock};

use memory_engine_core::text::{is_han, normalize};
use regex::Regex;

/// English words that say nothing by themselves.
const STOP: &str = " a about above actually after again against ago all almost already also although always am an and another any anyone anything anyway are aren't around as at away back be became because been before being believe best better between big bit both but by came can can't cannot come coming could couldn't day days definitely did didn't different do does doesn't doing don't done down during each either else even ever every everyone everything exactly far feel feeling felt few find first for found from fun get gets getting give glad go goes going gone gonna good got great guess guys had haha happy hard has hasn't have haven't having he he's hear heard hello help her here here's hers hey hi him his hope hopefully how i i'd i'll i'm i've if im in into is isn't it it's its itself just keep kind know last lately later least let let's life like little lol long look looking looks lot lots love made make makes making many may maybe me mean might mine more most much must my myself need never new next nice no nope nor not nothing now of off often oh ok okay old on once one ones only onto or other others our out over own part people perhaps please plus pretty probably put quite rather really recently right said same saw say saying see seem seems seen she she's should since so some someone something sometimes soon sounds still stuff such super sure take taking talk tell than thank thanks that that's the their them then there there's these they they're thing things think thinking this those though thought through time times to today together told tomorrow tonight too totally took true trying try two u under until up upon us use used using very via wait want wanted wants was wasn't way we we'll we're we've week weeks well went were what what's when where which while who why will wish with without won't wonderful work would wow yea yeah year years yep yes yesterday yet you you'd you'll you're you've your yours yourself awesome amazing interesting cool nice absolutely especially able wow whoa woah aww agree agreed image images shares photo says dont doesnt didnt cant im ive etc couple wanna gotta cause whatchya bye congrats pic pics sounds seeing awesome bring brings means mean care plan unless entirely totally dude tho bro ";

/// Chinese words that say nothing by themselves, the longer ones first where they begin alike.
const ZH_STOP: &str = "为什么|怎么样|怎么办|是不是|有没有|不知道|没关系|对不起|不好意思|差不多|的时候|什么时候|的话|一下|一点|一些|一个|一起|一样|一直|有点|有些|这个|那个|这些|那些|这样|那样|这么|那么|这里|那里|这边|那边|什么|怎么|多少|哪里|哪个|因为|所以|但是|不过|而且|然后|如果|虽然|还是|或者|就是|可是|只是|其实|已经|可以|可能|应该|需要|觉得|感觉|感到|觉得|知道|认为|希望|想要|现在|今天|明天|昨天|最近|刚才|刚刚|以前|以后|之前|之后|时候|我们|你们|他们|她们|它们|咱们|自己|大家|别人|真的|特别|非常|比较|有时|经常|总是|没有|不是|不会|不要|不能|不用|不想|起来|出来|下来|过来|过去|上去|回来|哈哈哈|哈哈|谢谢|你好|好的|好啊|是的|对了|的|了|吗|呢|吧|啊|呀|哦|嗯|嘛|啦|哎|唉|喔|哇|我|你|您|他|她|它|们|是|在|有|和|跟|与|或|就|都|也|还|又|很|太|更|最|不|没|别|这|那|哪|谁|把|被|给|对|从|向|往|而|但|却|若|要|想|去|让|叫|着|之|个|只|些|再|才|刚|等|呗|请|该|每|各|挺|超|真|啥|咋";

static ZH_SPLIT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(ZH_STOP).ok());

/// Whether an English word says nothing by itself.
pub(crate) fn is_stop(word: &str) -> bool {
    word.chars().count() < 2 || STOP.contains(&format!(" {word} "))
}

/// What the text is about, for comparing texts: its English words, cut to their stems, and the pairs of characters within
/// its Chinese phrases.
pub(crate) fn terms(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for phrase in phrases(text) {
        match phrase {
            Phrase::Words(words) => found.extend(words.iter().map(|word| stem(word))),
            Phrase::Han(phrase) => {
                let letters: Vec<char> = phrase.chars().collect();
                found.extend(letters.windows(2).map(|pair| pair.iter().collect::<String>()));
            }
        }
    }
    found
}

fn stem(word: &str) -> String {
    let cut = ["ing", "ies", "es", "ed", "ly", "s"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
    let cut = if cut.chars().count() < 3 { word } else { cut };
    cut.trim_end_matches('e').to_owned()
}

/// A run of words between words that say nothing.
#[derive(Debug, PartialEq)]
enum Phrase {
    Words(Vec<String>),
    Han(String),
}

fn phrases(text: &str) -> Vec<Phrase> {
    let folded = normalize(text).replace('’', "'");
    let (mut found, mut words) = (Vec::new(), Vec::new());
    let mut rest = folded.as_str();
    while let Some(c) = rest.chars().next() {
        let end = |inside: fn(char) -> bool| rest.find(|c| !inside(c)).unwrap_or(rest.len());
        let length = if is_han(c) {
            let end = end(is_han);
            flush(&mut words, &mut found);
            let cut = ZH_SPLIT.as_ref().map(|split| split.split(&rest[..end]).collect::<Vec<_>>()).unwrap_or_default();
            found.extend(
                cut.into_iter().filter(|part| part.chars().count() > 1).map(|part| Phrase::Han(part.to_owned())),
            );
            end
        } else if c.is_alphanumeric() {
            let end = end(|c| (c.is_alphanumeric() && !is_han(c)) || matches!(c, '\'' | '-'));
            let word = rest[..end].trim_matches(['\'', '-']);
            let word = word.strip_suffix("'s").unwrap_or(word);
            let number = word.chars().all(|c| c.is_ascii_digit());
            if is_stop(word) || number {
                flush(&mut words, &mut found)
            } else {
                words.push(word.to_owned())
            }
            end
        } else {
            if !c.is_whitespace() {
                flush(&mut words, &mut found);
            }
            c.len_utf8()
        };
        rest = &rest[length..];
    }
    flush(&mut words, &mut found);
    found
}

fn flush(words: &mut Vec<String>, found: &mut Vec<Phrase>) {
    if !words.is_empty() {
        found.push(Phrase::Words(std::mem::take(words)));
    }
}

/// The phrases that say most of what a text is about, the best first: those that stand between words which say nothing,
/// weighed by how often their words come and how long they are (as in RAKE, Rose et al. 2010, with the length damped).
pub(crate) fn key_phrases(text: &str, limit: usize) -> Vec<String> {
    let candidates: Vec<String> = phrases(text)
        .into_iter()
        .filter_map(|phrase| match phrase {
            Phrase::Words(words) => (words.len() <= 3).then(|| words.join(" ")).or_else(|| words.last().cloned()),
            Phrase::Han(phrase) => Some(phrase),
        })
        .collect();
    // Without a dictionary a long run of Chinese characters is no phrase; where there is nothing else it is better than none.
    let short = |phrase: &String| !phrase.chars().all(is_han) || phrase.chars().count() <= 6;
    let candidates: Vec<String> = match candidates.iter().any(short) {
        true => candidates.into_iter().filter(short).collect(),
        false => candidates.into_iter().map(|phrase| phrase.chars().take(10).collect()).collect(),
    };
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for term in terms(text) {
        *counts.entry(term).or_default() += 1;
    }
    let weight = |phrase: &str| {
        let terms = terms(phrase);
        let sum: usize = terms.iter().map(|term| counts.get(term).copied().unwrap_or(0)).sum();
        sum as f64 / (terms.len().max(1) as f64).sqrt()
    };
    let mut ranked: Vec<(f64, usize, String)> = Vec::new();
    for (place, phrase) in candidates.into_iter().enumerate() {
        if !ranked.iter().any(|(_, _, known)| *known == phrase) {
            ranked.push((weight(&phrase), place, phrase));
        }
    }
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut kept: Vec<String> = Vec::new();
    for (_, _, phrase) in ranked {
        if kept.len() < limit && !kept.iter().any(|known| known.contains(&phrase) || phrase.contains(known.as_str())) {
            kept.push(phrase);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_stand_between_words_that_say_nothing() {
        assert_eq!(
            key_phrases("I have been learning Italian cooking with my friends", 2),
            ["learning italian cooking", "friends"]
        );
        assert_eq!(key_phrases("我最近在准备考研英语，考研真的好难", 2)[0], "准备考研英语");
        assert!(key_phrases("嗯嗯 ok, I think so", 3).is_empty());
    }

    #[test]
    fn terms_of_the_same_word_are_the_same() {
        assert_eq!(terms("hiking hikes hiked"), ["hik", "hik", "hik"]);
        assert_eq!(terms("我对海鲜过敏"), ["海鲜", "鲜过", "过敏"]);
    }
}
