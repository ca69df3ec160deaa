use super::*;

#[test]
fn the_english_list_is_sorted_so_that_it_can_be_searched() {
    assert!(ENGLISH.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(is_english("the") && !is_english("allergic"));
    assert!(is_chinese("什么") && !is_chinese("海鲜"));
}
