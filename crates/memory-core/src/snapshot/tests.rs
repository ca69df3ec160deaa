use proptest::prelude::*;

use super::*;

type Arrays = (Vec<f32>, u64, Vec<u16>, Vec<[u64; 2]>, Vec<i64>);

fn write((floats, number, shorts, pairs, similar): &Arrays) -> Vec<u8> {
    let mut writer = SnapshotWriter::new(Vec::new()).unwrap();
    writer.array(floats).unwrap();
    writer.number(*number).unwrap();
    writer.array(shorts).unwrap();
    writer.array(pairs).unwrap();
    writer.deltas(similar.iter().copied()).unwrap();
    writer.finish().unwrap()
}

fn read(bytes: &[u8]) -> io::Result<Arrays> {
    let mut reader = SnapshotReader::new(bytes, bytes.len() as u64)?;
    let arrays = (reader.array()?, reader.number()?, reader.array()?, reader.array()?, reader.deltas()?);
    reader.finish()?;
    Ok(arrays)
}

proptest! {
    #[test]
    fn snapshots_round_trip_and_damage_is_detected(
        floats in proptest::collection::vec(-1.0_f32..1.0, 0..40), number: u64,
        shorts in proptest::collection::vec(any::<u16>(), 0..40),
        pairs in proptest::collection::vec(any::<[u64; 2]>(), 0..9),
        similar in proptest::collection::vec(prop_oneof![-99..99_i64, any::<i64>()], 0..20),
        place: prop::sample::Index, bit in 0..8_u32,
    ) {
        let arrays = (floats, number, shorts, pairs, similar);
        let bytes = write(&arrays);
        prop_assert_eq!(read(&bytes).unwrap(), arrays);
        prop_assert!(read(&bytes[..place.index(bytes.len())]).is_err());
        let mut changed = bytes.clone();
        changed[place.index(bytes.len())] ^= 1_u8 << bit;
        prop_assert!(read(&changed).is_err());
        prop_assert!(read(&[bytes, vec![0]].concat()).is_err());
    }
}
