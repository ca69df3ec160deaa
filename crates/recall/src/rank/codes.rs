//! Codes of the query, which a text either contains or not: order numbers, flights, telephone numbers, versions.

use memory_engine_core::text::is_code;
use memory_engine_keyword_store::Clause;
use memory_engine_reranker::TermSet;

/// Returns the codes among the words of a query, each as the terms by which a text contains it. The analyzer joins the
/// groups of a code, so the groups themselves are left out.
pub(super) fn codes(words: &[Clause]) -> Vec<TermSet> {
    let terms = words.iter().flat_map(|word| word.terms.first()).map(|term| term.term.as_str());
    let codes: Vec<&str> = terms.filter(|term| is_code(term)).collect();
    let is_group = |code: &&&str| codes.iter().any(|other| other.len() > code.len() && other.contains(**code));
    codes.iter().filter(|code| !is_group(code)).map(|code| std::iter::once(*code).collect()).collect()
}

#[cfg(test)]
mod tests {
    use memory_engine_keyword_store::{Analyzer, TextAnalyzer};

    use super::*;

    fn codes_of(query: &str) -> Vec<TermSet> {
        codes(&TextAnalyzer.query(query))
    }

    #[test]
    fn a_code_is_found_with_any_separators() {
        let pairs = [
            ("Where is parcel LK-3305?", "包裹 LK3305 到了"),
            ("我的电话 139 2222 0101 还能打吗", "the new number is 13922220101"),
            ("When does TU 6042 land?", "TU6042 lands at nine"),
            ("工单7716解决了吗", "ticket 7716 is closed"),
            ("Did 4.11.2 fix it?", "装了4.11.2，好了"),
        ];
        for (query, text) in pairs {
            let codes = codes_of(query);
            let terms = TextAnalyzer.document(text);
            let text: TermSet = terms.iter().map(|(term, _)| term).collect();
            assert!(codes.len() == 1 && text.has_any_of(&codes[0]), "{query}: {codes:?}");
        }
    }

    #[test]
    fn years_days_and_measures_are_no_codes() {
        let queries = [
            "What happened in 2019?",
            "2024-05-01那天去了哪里",
            "1.5.2024",
            "20240501的聚会",
            "a 5km run at 6pm",
            "12个人",
        ];
        for query in queries {
            assert!(codes_of(query).is_empty(), "{query}");
        }
    }
}
