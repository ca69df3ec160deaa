use serde::Deserialize;

use super::{load, read};
use crate::words::Words;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sample {
    words: Words,
    #[serde(default)]
    table: std::collections::BTreeMap<String, u8>,
}

#[test]
fn files_are_merged_by_key() {
    let sample: Sample = load(&["words = ['一', '一二']\ntable.a = 1", "words = ['one']\ntable.b = 2"]);
    assert_eq!(sample.words.iter().collect::<Vec<_>>(), ["一", "一二", "one"]);
    assert_eq!(sample.table.into_iter().collect::<Vec<_>>(), [("a".to_owned(), 1), ("b".to_owned(), 2)]);
    assert_eq!(sample.words.start_of("一二三"), Some("一"));
    assert_eq!(sample.words.end_of("no one"), Some("one"));
    assert!(sample.words.any_in("everyone") && !sample.words.contains("everyone"));
}

#[test]
fn invalid_files_are_errors() {
    for file in ["words = []\nmore = []", "table.a = 1", "words = [", "words = [1]"] {
        assert!(read::<Sample>(&[file]).is_err(), "{file}");
    }
}
