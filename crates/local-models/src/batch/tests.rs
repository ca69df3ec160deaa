use super::*;

#[test]
fn groups_cover_all_sequences_in_order() {
    let texts: Vec<Vec<u32>> = (0..50).map(|n| vec![0; n * 13 % 400]).collect();
    let sequences: Vec<&[u32]> = texts.iter().map(Vec::as_slice).collect();
    for threads in 0..5 {
        let groups = group(&sequences, threads);
        let all: Vec<usize> = groups.iter().flat_map(|&(from, to)| from..to).collect();
        assert_eq!(all, (0..50).collect::<Vec<_>>());
    }
}

#[test]
fn a_small_batch_is_shared_by_the_threads() {
    let texts = vec![vec![0u32; 10]; 4];
    let sequences: Vec<&[u32]> = texts.iter().map(Vec::as_slice).collect();
    assert_eq!(group(&sequences, 2), vec![(0, 2), (2, 4)]);
    assert_eq!(group(&[], 2), vec![]);
}
