use memory_engine_core::EmbeddingSpace;

use super::*;
use crate::options::StoreOptions;

fn metadata(name: &str) -> IndexMetadata {
    IndexMetadata::new(&StoreOptions::new(EmbeddingSpace::cosine(name, 2), "words"))
}

#[test]
fn the_rows_of_the_table_decide_the_role_of_each_space() {
    let [old, new, other] = ["old", "new", "other"].map(metadata);
    let mut versions = StoredEmbeddingVersions::default();
    versions.read_part(SERVING_PART, old.space().into());
    assert_eq!(versions.table_for_new_records(&old), Some(VectorTable::First));
    assert_eq!(versions.begin(&new).unwrap(), Begin::Create);
    versions.read_part(SECOND_PART, new.space().into());
    versions.read_part(TABLE_PART, "secondary_vectors".into());
    assert_eq!(versions.role(&old, "test").unwrap(), (EmbeddingVersionRole::Serving, VectorTable::Second));
    assert_eq!(versions.role(&new, "test").unwrap(), (EmbeddingVersionRole::Second, VectorTable::First));
    assert_eq!(versions.table_for_new_records(&old), None);
    assert_eq!((versions.begin(&old).unwrap(), versions.begin(&new).unwrap()), (Begin::Serving, Begin::Resume));
    assert!(versions.serving_table(&new, "test").unwrap_err().message().contains("are being made"));
    assert!(versions.role(&other, "test").unwrap_err().message().contains("Mismatch::Refill"));
    assert!(versions.begin(&other).unwrap_err().message().contains("drop_second_embedding_version"));
}
