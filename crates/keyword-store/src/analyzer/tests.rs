use proptest::prelude::*;

use super::*;

fn terms(text: &str) -> Vec<String> {
    TextAnalyzer.document(text).iter().map(|(term, _)| term.to_owned()).collect()
}

fn matches_document(query: &str, document: &str) -> bool {
    let document = TextAnalyzer.document(document);
    TextAnalyzer.query(query).iter().any(|clause| clause.terms.iter().any(|t| document.count(&t.term) > 0))
}

#[test]
fn english_is_stemmed_and_stop_words_are_dropped() {
    assert_eq!(terms("The cats were running"), ["cat", "run"]);
    assert_eq!(terms("Caroline's painting, don't"), ["carolin", "paint"]);
}

#[test]
fn a_sentence_of_two_languages_has_terms_of_both() {
    let found = terms("帮我看下 docker部署的问题");
    for term in ["docker", "部署", "问题"] {
        assert!(found.iter().any(|t| t == term), "{term} in {found:?}");
    }
}

#[test]
fn width_and_case_do_not_matter() {
    assert!(matches_document("MU747", "航班是ＭＵ７４７"));
}

#[test]
fn traditional_characters_match_only_with_the_feature() {
    assert_eq!(matches_document("过敏", "我對海鮮過敏"), cfg!(feature = "chinese"));
    assert_eq!(matches_document("臺北", "她住在台北"), cfg!(feature = "chinese"));
    assert!(matches_document("過敏", "我對海鮮過敏"));
}

#[test]
fn the_fingerprint_depends_on_the_dictionary() {
    let with_dictionary = "han-pairs-jieba-snowball-2/nfkc-lower-t2s-1";
    let without = "han-pairs-snowball-2/nfkc-lower-1";
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
fn without_a_dictionary_pairs_and_characters_are_terms() {
    assert_eq!(
        terms("我喜欢北京大学"),
        ["京", "京大", "北", "北京", "喜", "喜欢", "大", "大学", "学", "我喜", "欢", "欢北"]
    );
}

#[test]
fn a_word_outside_the_dictionary_is_found() {
    assert!(matches_document("团砚", "我的猫叫团砚，很乖"));
    assert!(matches_document("猫", "我的猫叫团子"));
    assert!(matches_document("北京", "她在北京大学读书"));
}

#[test]
fn numbers_and_dates_are_indexed_whole_and_split() {
    assert_eq!(terms("6,800"), ["6800"]);
    assert!(matches_document("2026-04-03", "booked for 2026-04-03"));
    assert!(matches_document("2026", "booked for 2026-04-03"));
    assert_eq!(terms("c++ c# 3.14"), ["14", "3", "3.14", "c#", "c++"]);
    assert!(matches_document("e5-small", "we use e5-small here"));
}

#[test]
fn a_query_of_stop_words_has_no_clauses() {
    for empty in ["", "  ", "?!…。", "what is it", "是什么吗"] {
        assert!(TextAnalyzer.query(empty).is_empty(), "{empty:?} gave {:?}", TextAnalyzer.query(empty));
    }
}

#[test]
fn user_text_is_never_query_syntax() {
    assert_eq!(terms("\"a\" NEAR(b*) OR col:x -y"), ["b", "col", "near", "x", "y"]);
}

#[test]
fn a_pasted_document_keeps_only_its_heaviest_terms() {
    let long: String = ('\u{4e00}'..'\u{6fff}').collect();
    let clauses = TextAnalyzer.query(&format!("docker {long}"));
    assert_eq!(clauses.len(), MAX_CLAUSES);
    assert_eq!(clauses[0], Clause::term("docker"));
}

#[test]
fn emoji_are_found_in_every_form() {
    assert!(matches_document("❤️", "❤ Rosa"));
    assert!(matches_document("👍🏽", "好的👍"));
    assert!(matches_document("👩‍💻", "she is a 👩🏻‍💻 now"));
    assert!(matches_document("🇵🇹", "🇵🇹 trip to Braga"));
    assert!(!matches_document("🇵🇹", "🇵🇱 trip to Gdansk"));
    assert!(terms("→ ✓ok").iter().all(|term| term != "→"));
}

#[test]
fn identifiers_are_found_with_other_separators() {
    for (query, document) in [
        ("13812345678", "我的电话是138 1234 5678"),
        ("138-1234-5678", "我的电话是13812345678"),
        ("912345678", "Call the plumber at +351 912-345-678"),
        ("SF1029384756", "快递单号 SF1029 3847 56"),
        ("B203", "门牌 B-203 室"),
        ("沪A12345", "车牌沪A·12345"),
        ("CA1837", "Flight CA 1837 seat 23A"),
        ("MU 5137", "航班 MU5137 座位 12C"),
    ] {
        let document_terms = TextAnalyzer.document(document);
        let joined =
            |term: &str| term.chars().filter(char::is_ascii_digit).count() > 2 && document_terms.count(term) > 0;
        let found =
            TextAnalyzer.query(query).into_iter().flat_map(|clause| clause.terms).any(|term| joined(&term.term));
        assert!(found, "{query} in {document}");
    }
}

#[test]
fn other_scripts_are_found_too() {
    assert!(matches_document("ラーメン", "昨日ラーメンを食べた"));
    assert!(matches_document("서울", "서울에 갔다"));
    assert!(matches_document("Москва", "москва хороша"));
}

proptest! {
    #[test]
    fn every_text_matches_itself(text in "\\PC{0,60}") {
        let document = TextAnalyzer.document(&text);
        for (term, count) in document.iter() {
            prop_assert!(!term.is_empty() && !term.chars().any(char::is_whitespace) && count > 0);
        }
        for clause in TextAnalyzer.query(&text) {
            prop_assert!(clause.weight > 0.0);
            // The clause of an irregular word also has its other forms.
            prop_assert!(clause.terms.iter().any(|t| document.count(&t.term) > 0));
        }
    }
}
