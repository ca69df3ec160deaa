use proptest::prelude::*;

use super::*;

fn chunks(chunker: Chunker, text: &str) -> Vec<&str> {
    chunker.chunks(text).unwrap().into_iter().map(|range| &text[range]).collect()
}

#[test]
fn chunks_end_at_sentences_and_overlap() {
    let chunker = Chunker::default().with_max_chars(12);
    assert_eq!(chunks(chunker, "一二三四。五六七八。九十。"), ["一二三四。五六七八。", "五六七八。九十。"]);
    assert_eq!(chunks(chunker.with_overlap(0), "One two. Three. Four."), ["One two.", "Three. Four."]);
}

#[test]
fn long_sentences_are_split_before_words_or_between_characters() {
    let chunker = Chunker::default().with_max_chars(8).with_overlap(0);
    assert_eq!(chunks(chunker, "seven words and more"), ["seven", "words", "and more"]);
    assert_eq!(chunks(chunker, "一二三四五六七八九十"), ["一二三四五六七八", "九十"]);
}

#[test]
fn a_code_block_that_fits_is_one_chunk() {
    let text = "See:\n```\na. b\nc; d\n```\nDone.";
    let chunker = Chunker::default().with_max_chars(17).with_overlap(0);
    assert_eq!(chunks(chunker, text), ["See:", "```\na. b\nc; d\n```", "Done."]);
}

#[test]
fn sizes_of_zero_are_refused() {
    assert!(Chunker::default().with_max_chars(0).chunks("x").unwrap_err().message().contains("at least 1"));
    assert!(Chunker::default().chunks(" \n").unwrap().is_empty());
}

proptest! {
    #[test]
    fn chunks_are_ordered_limited_and_cover_the_text(
        text in "(\\PC|[。！？.!?\n ]|words |中文){0,120}",
        size in 1_usize..40,
        overlap in 0_usize..3,
        max_chunks in 1_usize..20,
    ) {
        let chunker = Chunker { max_chars: size, overlap, max_chunks };
        let chunks = chunker.chunks(&text).unwrap();
        prop_assert!(chunks.len() <= max_chunks);
        let mut covered = 0;
        for part in &chunks {
            let chunk = &text[part.clone()];
            prop_assert!(!chunk.trim().is_empty() && chunk.chars().count() <= size);
            let gap = text.get(covered..part.start.max(covered));
            prop_assert!(part.end > covered && gap.is_some_and(|gap| gap.trim().is_empty()));
            covered = part.end;
        }
        prop_assert!(chunks.windows(2).all(|pair| pair[0].start < pair[1].start));
        if chunks.len() < max_chunks {
            prop_assert!(text[covered..].trim().is_empty());
        }
    }
}
