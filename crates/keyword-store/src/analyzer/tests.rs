use proptest::prelude::*;

use super::*;

fn terms(text: &str) -> Vec<String> {
    TextAnalyzer.document(text).iter().map(|(term, _)| term.to_owned()).collect()
}

fn shares(question: &str, document: &str) -> bool {
    let document = TextAnalyzer.document(document);
    TextAnalyzer.query(question).iter().any(|clause| clause.terms.iter().any(|t| document.count(&t.term) > 0))
}

#[test]
fn english_is_stemmed_and_stop_words_go() {
    assert_eq!(terms("The cats were running"), ["cat", "run"]);
    assert_eq!(terms("Caroline's painting, don't"), ["carolin", "paint"]);
}

#[test]
fn a_mixed_sentence_keeps_both_halves() {
    let found = terms("帮我看下 docker部署的问题");
    for wanted in ["docker", "部署", "问题"] {
        assert!(found.iter().any(|t| t == wanted), "{wanted} in {found:?}");
    }
}

#[test]
fn full_width_and_upper_case_find_their_plain_forms() {
    assert!(shares("MU747", "航班是ＭＵ７４７"));
}

#[test]
fn traditional_and_simplified_characters_match_only_with_the_feature() {
    assert_eq!(shares("过敏", "我對海鮮過敏"), cfg!(feature = "chinese"));
    assert_eq!(shares("臺北", "她住在台北"), cfg!(feature = "chinese"));
    assert!(shares("過敏", "我對海鮮過敏"));
}

#[test]
fn the_fingerprint_tells_the_builds_apart() {
    let with_dictionary = "han-pairs-jieba-snowball-1/nfkc-lower-t2s-1";
    let without = "han-pairs-snowball-1/nfkc-lower-1";
    let expected = if cfg!(feature = "chinese") { with_dictionary } else { without };
    assert_eq!(TextAnalyzer.fingerprint(), expected);
}

#[cfg(feature = "chinese")]
#[test]
fn a_dictionary_word_of_three_characters_is_a_term() {
    assert_eq!(
        terms("我喜欢北京大学"),
        ["京", "京大", "北", "北京", "北京大学", "喜", "喜欢", "大", "大学", "学", "我喜", "欢", "欢北"]
    );
}

#[cfg(not(feature = "chinese"))]
#[test]
fn without_the_dictionary_there_are_pairs_and_characters() {
    assert_eq!(
        terms("我喜欢北京大学"),
        ["京", "京大", "北", "北京", "喜", "喜欢", "大", "大学", "学", "我喜", "欢", "欢北"]
    );
}

#[test]
fn a_two_character_word_that_no_dictionary_knows_is_found() {
    assert!(shares("团砚", "我的猫叫团砚，很乖"));
    assert!(shares("猫", "我的猫叫团子"));
    assert!(shares("北京", "她在北京大学读书"));
}

#[test]
fn numbers_dates_and_versions_are_kept_whole_and_in_parts() {
    assert_eq!(terms("6,800"), ["6800"]);
    assert!(shares("2026-04-03", "booked for 2026-04-03"));
    assert!(shares("2026", "booked for 2026-04-03"));
    assert_eq!(terms("c++ c# 3.14"), ["14", "3", "3.14", "c#", "c++"]);
    assert!(shares("e5-small", "we use e5-small here"));
}

#[test]
fn a_question_of_stop_words_and_punctuation_looks_for_nothing() {
    for empty in ["", "  ", "?!…。", "what is it", "是什么吗"] {
        assert!(TextAnalyzer.query(empty).is_empty(), "{empty:?} gave {:?}", TextAnalyzer.query(empty));
    }
}

#[test]
fn user_text_is_never_query_syntax() {
    assert_eq!(terms("\"a\" NEAR(b*) OR col:x -y"), ["b", "col", "near", "x", "y"]);
}

#[test]
fn a_pasted_document_is_cut_to_its_heaviest_terms() {
    let long: String = ('\u{4e00}'..'\u{6fff}').collect();
    let clauses = TextAnalyzer.query(&format!("docker {long}"));
    assert_eq!(clauses.len(), MAX_CLAUSES);
    assert_eq!(clauses[0], Clause::term("docker"));
}

#[test]
fn other_scripts_are_found_too() {
    assert!(shares("ラーメン", "昨日ラーメンを食べた"));
    assert!(shares("서울", "서울에 갔다"));
    assert!(shares("Москва", "москва хороша"));
}

proptest! {
    #[test]
    fn any_text_gives_terms_without_white_space_and_finds_itself(text in "\\PC{0,60}") {
        let document = TextAnalyzer.document(&text);
        for (term, count) in document.iter() {
            prop_assert!(!term.is_empty() && !term.chars().any(char::is_whitespace) && count > 0);
        }
        for clause in TextAnalyzer.query(&text) {
            prop_assert!(clause.weight > 0.0 && clause.terms.iter().all(|t| document.count(&t.term) > 0));
        }
    }
}
