use proptest::prelude::*;

use super::*;

fn same(groups: &Groups<&str>, a: &'static str, b: &'static str) -> bool {
    groups.root(&a) == groups.root(&b)
}

#[test]
fn aliases_belong_to_their_only_claimant() {
    let groups = Groups::of([("anna", "red"), ("red", "scarlet"), ("bob", "captain"), ("carl", "captain")]);
    assert!(same(&groups, "anna", "red") && same(&groups, "anna", "scarlet"));
    assert!(!same(&groups, "bob", "captain") && !same(&groups, "bob", "carl"));
    assert_eq!(groups.claimants(&"captain").collect::<Vec<_>>(), [&"bob", &"carl"]);
    assert!(groups.is_claimed(&"red") && !groups.is_claimed(&"anna") && !groups.is_claimed(&"captain"));
}

#[test]
fn aliases_of_united_names_belong_to_them() {
    let groups = Groups::of([("anna", "red"), ("dr anna", "red"), ("dr anna", "anna")]);
    assert!(same(&groups, "anna", "red") && same(&groups, "dr anna", "red"));
}

proptest! {
    #[test]
    fn the_order_of_the_pairs_does_not_matter(pairs in proptest::collection::vec((0_u8..8, 0_u8..8), 0..12)) {
        let forward = Groups::of(pairs.clone());
        let reversed = Groups::of(pairs.into_iter().rev());
        for name in 0..8 {
            prop_assert_eq!(forward.root(&name), reversed.root(&name));
        }
    }
}
