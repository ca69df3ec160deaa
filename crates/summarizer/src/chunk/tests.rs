use proptest::prelude::*;

use super::*;

fn parts(chunker: Chunker, text: &str) -> Vec<&str> {
    chunker.chunks(text).unwrap().into_iter().map(|range| &text[range]).collect()
}

#[test]
fn sentences_are_kept_whole_and_repeated_where_parts_meet() {
    let chunker = Chunker::default().with_max_chars(12);
    assert_eq!(parts(chunker, "一二三四。五六七八。九十。"), ["一二三四。五六七八。", "五六七八。九十。"]);
    assert_eq!(parts(chunker.with_overlap(0), "One two. Three. Four."), ["One two.", "Three. Four."]);
}

#[test]
fn a_long_sentence_is_cut_before_a_word_or_between_characters() {
    let chunker = Chunker::default().with_max_chars(8).with_overlap(0);
    assert_eq!(parts(chunker, "seven words and more"), ["seven", "words", "and more"]);
    assert_eq!(parts(chunker, "一二三四五六七八九十"), ["一二三四五六七八", "九十"]);
}

#[test]
fn code_stays_together_where_it_fits() {
    let text = "See:\n```\na. b\nc; d\n```\nDone.";
    let chunker = Chunker::default().with_max_chars(17).with_overlap(0);
    assert_eq!(parts(chunker, text), ["See:", "```\na. b\nc; d\n```", "Done."]);
}

#[test]
fn sizes_of_zero_are_refused() {
    assert!(Chunker::default().with_max_chars(0).chunks("x").unwrap_err().message().contains("at least 1"));
    assert!(Chunker::default().chunks(" \n").unwrap().is_empty());
}

proptest! {
    #[test]
    fn parts_are_in_order_within_their_size_and_cover_the_text(
        text in "(\\PC|[。！？.!?\n ]|words |中文){0,120}",
        size in 1_usize..40,
        overlap in 0_usize..3,
        max_chunks in 1_usize..20,
    ) {
        let chunker = Chunker { max_chars: size, overlap, max_chunks };
        let parts = chunker.chunks(&text).unwrap();
        prop_assert!(parts.len() <= max_chunks);
        let mut covered = 0;
        for part in &parts {
            let chunk = &text[part.clone()];
            prop_assert!(!chunk.trim().is_empty() && chunk.chars().count() <= size);
            let gap = text.get(covered..part.start.max(covered));
            prop_assert!(part.end > covered && gap.is_some_and(|gap| gap.trim().is_empty()));
            covered = part.end;
        }
        prop_assert!(parts.windows(2).all(|pair| pair[0].start < pair[1].start));
        if parts.len() < max_chunks {
            prop_assert!(text[covered..].trim().is_empty());
        }
    }
}
