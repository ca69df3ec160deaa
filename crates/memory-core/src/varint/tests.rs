use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn numbers_of_any_size_round_trip(
        numbers in proptest::collection::vec(prop_oneof![0..300_u64, any::<u64>()], 0..20),
    ) {
        let mut bytes = Vec::new();
        numbers.iter().for_each(|number| push(&mut bytes, *number));
        let mut rest = &bytes[..];
        prop_assert_eq!(numbers.iter().map(|_| pull(&mut rest).unwrap()).collect::<Vec<_>>(), numbers);
        prop_assert_eq!(pull(&mut rest), None);
    }
}

#[test]
fn an_incomplete_number_is_none() {
    assert_eq!(pull(&mut &[0x80][..]), None);
    assert_eq!(pull(&mut &[0xff; 11][..]), None);
}
