//! Tests of the unigram tokenizer with a small vocabulary.

use super::{
    Tokenizer, compositions,
    pieces::PieceTable,
    replacements::CharReplacements,
    unigram::{Normalizer, Unigram, UnigramOptions},
};
use crate::error::{ModelError, ModelErrorKind};

const PIECES: [(&str, f32); 12] = [
    ("<s>", 0.0),
    ("<pad>", 0.0),
    ("</s>", 0.0),
    ("<unk>", 0.0),
    ("\u{2581}", -3.0),
    ("\u{2581}a", -4.0),
    ("a", -5.0),
    ("b", -5.0),
    ("ab", -7.0),
    ("abc", -30.0),
    ("\u{e9}", -6.0),
    ("中文", -6.0),
];

fn table(pieces: &[&str]) -> Result<PieceTable, ModelError> {
    let mut offsets = vec![0];
    let text: String = pieces.concat();
    for piece in pieces {
        offsets.push(offsets[offsets.len() - 1] + piece.len() as u32);
    }
    PieceTable::new(text, offsets)
}

fn unigram(options: UnigramOptions) -> Unigram {
    let pieces = table(&PIECES.map(|(piece, _)| piece)).expect("a valid table");
    let scores = PIECES.map(|(_, score)| score).to_vec();
    let mut rules = CharReplacements::default();
    rules.push('\t', [' '].into_iter()).expect("in order");
    rules.push('\u{ad}', [].into_iter()).expect("in order");
    rules.push('ａ', ['a'].into_iter()).expect("in order");
    Unigram::new(Normalizer::Characters(rules), pieces, scores, options).expect("valid")
}

const OPTIONS: UnigramOptions =
    UnigramOptions { start: 0, end: 2, unknown: 3, merge_spaces: true, split_white_space: false };

#[test]
fn the_most_probable_segmentation_wins() {
    // ▁a + b (−9) beats ▁ + ab (−10) and ▁ + a + b (−13).
    assert_eq!(unigram(OPTIONS).encode("ab"), [5, 7]);
}

#[test]
fn spaces_are_merged_and_marked() {
    let unigram = unigram(OPTIONS);
    assert_eq!(unigram.encode("a   a"), [5, 5]);
    assert_eq!(unigram.encode(" a"), [5]);
    assert_eq!(unigram.encode("a "), [5, 4]);
    assert_eq!(unigram.encode("a\ta"), [5, 5]);
    assert!(unigram.encode("").is_empty());
    assert_eq!(unigram.encode("  "), [4]);
}

#[test]
fn white_space_can_be_dropped() {
    let unigram = unigram(UnigramOptions { split_white_space: true, ..OPTIONS });
    assert_eq!(unigram.encode(" a\n\u{3000}a "), [5, 5]);
}

#[test]
fn adjacent_unknown_characters_are_one_token() {
    let unigram = unigram(OPTIONS);
    assert_eq!(unigram.encode("xyz"), [4, 3]);
    assert_eq!(unigram.encode("xbz"), [4, 3, 7, 3]);
    assert_eq!(unigram.encode("x z"), [4, 3, 4, 3]);
}

#[test]
fn characters_are_replaced_dropped_and_composed() {
    let unigram = unigram(OPTIONS);
    assert_eq!(unigram.encode("ａ"), [5]);
    assert_eq!(unigram.encode("a\u{ad}b"), [5, 7]);
    assert_eq!(unigram.encode("中文e\u{301}"), [4, 11, 10]);
    assert_eq!(compositions::compose('\u{1eb9}', '\u{302}'), Some('\u{1ec7}'));
    assert_eq!(compositions::compose('x', '\u{302}'), None);
}

#[test]
fn rare_tokens_weigh_more() {
    let tokenizer = Tokenizer::Unigram(unigram(OPTIONS));
    let (common, rare) = (tokenizer.weight(4), tokenizer.weight(9));
    assert!(common < 0.01 && rare > 0.99, "{common} {rare}");
    assert!(tokenizer.weight(3) > 0.99);
}

#[test]
fn pieces_are_found_shortest_first() {
    let table = table(&PIECES.map(|(piece, _)| piece)).expect("a valid table");
    let mut found = Vec::new();
    table.for_each_prefix("abcd", |length, id| found.push((length, id)));
    assert_eq!(found, [(1, 6), (2, 8), (3, 9)]);
}

#[test]
fn bounds_inside_a_character_are_rejected() {
    let wrong = |offsets: Vec<u32>| PieceTable::new("é".to_owned(), offsets).err().map(|e| e.kind());
    assert_eq!(wrong(vec![0, 2]), None);
    assert_eq!(wrong(vec![0, 1, 2]), Some(ModelErrorKind::Corrupt));
    assert_eq!(wrong(vec![2, 0]), Some(ModelErrorKind::Corrupt));
    assert_eq!(wrong(vec![0, 9]), Some(ModelErrorKind::Corrupt));
}

#[test]
fn invalid_scores_and_special_ids_are_rejected() {
    let make = |scores: Vec<f32>, unknown: u32| {
        let pieces = table(&["a", "b"]).expect("a valid table");
        let rules = Normalizer::Characters(CharReplacements::default());
        let options = UnigramOptions { start: 0, end: 0, unknown, ..OPTIONS };
        Unigram::new(rules, pieces, scores, options).is_ok()
    };
    assert!(make(vec![0.0, 0.0], 1));
    assert!(!make(vec![0.0], 1));
    assert!(!make(vec![0.0, f32::NAN], 1));
    assert!(!make(vec![0.0, 0.0], 2));
}
