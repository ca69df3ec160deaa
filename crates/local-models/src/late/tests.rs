use super::*;

fn tokens(rows: &[[f32; 2]]) -> TokenVectors {
    TokenVectors::new(2, rows.concat(), vec![1.0; rows.len()]).expect("lengths that fit")
}

#[test]
fn the_shorter_side_is_averaged() {
    let short = tokens(&[[1.0, 0.0]]);
    let long = tokens(&[[2.0, 0.0], [0.0, 5.0]]);
    assert_eq!(maxsim(&short, &long), 1.0);
    assert_eq!(maxsim(&long, &short), 1.0);
    assert_eq!(maxsim(&long, &tokens(&[[1.0, 0.0], [1.0, 0.0]])), 0.5);
}

#[test]
fn empty_or_incompatible_sides_score_zero() {
    assert_eq!(maxsim(&tokens(&[]), &tokens(&[[1.0, 0.0]])), 0.0);
    assert_eq!(maxsim(&tokens(&[[0.0, 0.0]]), &tokens(&[[1.0, 0.0]])), 0.0);
    let wide = TokenVectors::new(3, vec![1.0; 3], vec![1.0]).expect("lengths that fit");
    assert_eq!(maxsim(&wide, &tokens(&[[1.0, 0.0]])), 0.0);
}

#[test]
fn weights_apply_to_the_shorter_side() {
    let query = TokenVectors::new(2, vec![1.0, 0.0, 0.0, 1.0], vec![3.0, 1.0]).expect("fits");
    let passage = tokens(&[[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]);
    assert_eq!(maxsim(&query, &passage), 0.5);
    assert_eq!(weighted_maxsim(&query, &passage), 0.75);
}

#[test]
fn centring_removes_the_common_direction() {
    let mut mean = TokenMean::new();
    assert_eq!(mean.mean(), None);
    mean.add(&tokens(&[[10.0, 1.0], [10.0, -1.0]])).expect("one width");
    let mean = mean.mean().expect("two vectors");
    assert_eq!(mean, [10.0, 0.0]);
    let centre = |rows: &[[f32; 2]]| tokens(rows).centred(Some(&mean)).expect("one width");
    assert!(maxsim(&tokens(&[[10.0, 1.0]]), &tokens(&[[10.0, -1.0]])) > 0.9);
    assert_eq!(maxsim(&centre(&[[10.0, 1.0]]), &centre(&[[10.0, -1.0]])), -1.0);
    assert_eq!(centre(&[[10.0, 0.0]]).values(), ndarray::arr2(&[[0.0, 0.0]]));
}

#[test]
fn inconsistent_lengths_are_rejected() {
    let kind = |result: Result<_, ModelError>| result.map(|_: TokenVectors| ()).err().map(|e| e.kind());
    let wrong = Some(ModelErrorKind::InvalidInput);
    assert_eq!(kind(TokenVectors::new(2, vec![1.0; 3], vec![1.0])), wrong);
    assert_eq!(kind(TokenVectors::new(0, vec![], vec![])), wrong);
    assert_eq!(kind(tokens(&[[1.0, 0.0]]).centred(Some(&[1.0]))), wrong);
}
