#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use jieba_rs::Jieba;
use proptest::prelude::*;

use super::*;
use packed::PackedDictionary;

/// Number of words of the dictionary of jieba-rs 0.11.
const WORDS: usize = 349_045;
/// Sum of their frequencies.
const TOTAL_FREQUENCY: usize = 60_101_964;

/// All words of the bundled dictionary.
fn dictionary_words() -> Vec<(String, usize)> {
    let dictionary = PackedDictionary::new(packed::FILE).unwrap();
    let mut words = Vec::new();
    for block in 0..dictionary.blocks().len() {
        let mut first = None;
        let read = dictionary.for_each_word(block, |word, frequency| {
            first = first.or(word.chars().next());
            assert!(word.chars().next() == first, "{word} is in the block of {first:?}");
            words.push((word.to_owned(), frequency));
        });
        read.unwrap();
        assert_eq!(dictionary.block_of(first.unwrap()), Some(block));
    }
    words
}

static FULL_DICTIONARY: LazyLock<(Jieba, Vec<String>)> = LazyLock::new(|| {
    let words = dictionary_words();
    let mut jieba = Jieba::empty();
    for (word, frequency) in &words {
        jieba.add_word(word, Some(*frequency), None);
    }
    (jieba, words.into_iter().map(|(word, _)| word).collect())
});

fn words(jieba: &Jieba, text: &str) -> Vec<String> {
    let tokens = jieba.tokenize(text, TokenizeMode::Search, true);
    tokens.into_iter().map(|token| token.word.to_owned()).collect()
}

fn words_of_run(segmenter: &Segmenter, text: &str) -> Vec<String> {
    let run: Vec<char> = text.chars().collect();
    words(&segmenter.load_for(&run), text)
}

#[test]
fn every_word_of_the_dictionary_is_read() {
    let words = dictionary_words();
    assert_eq!(words.len(), WORDS);
    assert_eq!(words.iter().map(|(_, frequency)| frequency).sum::<usize>(), TOTAL_FREQUENCY);
    assert_eq!(PackedDictionary::new(packed::FILE).unwrap().total_frequency(), TOTAL_FREQUENCY);
    for word in ["1号店", "一", "一了百了", "北京大学", "中华人民共和国", "龟甲"] {
        assert!(words.iter().any(|(other, _)| other == word), "{word}");
    }
    assert!(words.iter().all(|(other, _)| other != "北京大学的"));
}

#[test]
fn text_is_cut_as_by_jieba() {
    let segmenter = Segmenter::new(packed::FILE).unwrap();
    for (text, expected) in [
        ("我们中出了一个叛徒", "我们 中出 了 一个 叛徒"),
        ("南京市长江大桥", "南京市 长江大桥"),
        ("我来到北京清华大学", "我 来到 北京 清华大学"),
        ("他来到了网易杭研大厦", "他 来到 了 网易 杭研 大厦"),
        ("小明硕士毕业于中国科学院计算所", "小明 硕士 毕业 于 中国科学院 计算所"),
    ] {
        let run: Vec<char> = text.chars().collect();
        let jieba = segmenter.load_for(&run);
        let words: Vec<&str> = jieba.cut(text, true).into_iter().map(|token| token.word).collect();
        assert_eq!(words.join(" "), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn texts_are_cut_as_with_the_whole_dictionary(
        texts in prop::collection::vec(prop::collection::vec(0..WORDS, 1..12), 1..6),
        names in prop::collection::vec("[\\u{4e00}-\\u{9fa5}]{1,12}", 0..4),
    ) {
        let (whole, all_words) = &*FULL_DICTIONARY;
        let segmenter = Segmenter::new(packed::FILE).unwrap();
        let of_words = texts.iter().map(|indexes| indexes.iter().map(|index| all_words[*index].as_str()).collect());
        for text in of_words.chain(names.iter().cloned()) {
            let text: String = text;
            prop_assert_eq!(words_of_run(&segmenter, &text), words(whole, &text));
        }
    }
}

#[test]
fn threads_that_load_at_the_same_time_cut_texts_alike() {
    let (whole, all_words) = &*FULL_DICTIONARY;
    let segmenter = Segmenter::new(packed::FILE).unwrap();
    let texts: Vec<String> = all_words.iter().step_by(331).cloned().collect();
    let texts: Vec<String> = texts.chunks(7).map(<[String]>::concat).collect();
    std::thread::scope(|scope| {
        for skipped in 0..4 {
            let (segmenter, texts) = (&segmenter, &texts);
            scope.spawn(move || {
                for text in texts.iter().cycle().skip(skipped * 37).take(texts.len()) {
                    assert_eq!(words_of_run(segmenter, text), words(whole, text), "{text}");
                }
            });
        }
    });
}

#[test]
fn a_file_that_is_cut_or_too_long_is_refused() {
    let table = b"MEDICT02\x01\0\0\0\x05\0\0\0\x01\0\0\0\x00\x4e\x01\0\x04\0\0\0";
    let file = [&table[..], b"\x00\x05\x00\x4e"].concat();
    assert!(PackedDictionary::new(&file).unwrap().for_each_word(0, |word, _| assert_eq!(word, "一")).is_some());
    for end in 0..file.len() {
        assert!(PackedDictionary::new(&file[..end]).is_none(), "{end}");
    }
    assert!(PackedDictionary::new(&[&file[..], b"\0"].concat()).is_none());
    let other_version = [b"MEDICT01", &file[8..]].concat();
    assert!(PackedDictionary::new(&other_version).is_none());
    let short_word = [&table[..], b"\x01\x05\x00\x4e"].concat();
    assert!(PackedDictionary::new(&short_word).unwrap().for_each_word(0, |_, _| {}).is_none());
}
