use super::*;

#[test]
fn a_short_text_is_one_sequence() {
    let windows = Windows::cut(&[5, 6, 7], 1, (0, 2), 8);
    assert_eq!(windows, Windows { sequences: vec![vec![0, 5, 6, 7, 2]], skip: 2 });
}

#[test]
fn an_empty_text_has_only_special_tokens() {
    let windows = Windows::cut(&[], 0, (0, 2), 8);
    assert_eq!(windows, Windows { sequences: vec![vec![0, 2]], skip: 1 });
}

#[test]
fn a_long_text_has_even_windows_with_prefix() {
    let ids: Vec<u32> = (100..111).collect();
    let windows = Windows::cut(&ids, 1, (0, 2), 8);
    let expected = vec![vec![0, 100, 101, 102, 103, 104, 105, 2], vec![0, 100, 106, 107, 108, 109, 110, 2]];
    assert_eq!(windows.sequences, expected);
}

#[test]
fn windows_respect_the_limit_and_keep_all_tokens() {
    for length in 0..60 {
        for prefix in 0..4 {
            let ids: Vec<u32> = (10..10 + length).collect();
            let windows = Windows::cut(&ids, prefix, (0, 2), 9);
            let front = windows.skip;
            assert!(windows.sequences.iter().all(|sequence| sequence.len() <= 9));
            let body = windows.sequences.iter().flat_map(|s| &s[front..s.len() - 1]);
            let all: Vec<u32> = ids[..front - 1].iter().chain(body).copied().collect();
            assert_eq!(all, ids);
        }
    }
}
