use super::*;

#[test]
fn each_mismatch_has_its_reconciliation() {
    let (old, new) = (EmbeddingSpace::cosine("old", 2), EmbeddingSpace::cosine("new", 2));
    let mut options = StoreOptions::new(new.clone(), "words-2");
    let metadata = IndexMetadata::new(&options);
    let cases = [
        (Mismatch::Refuse, Reconciliation::Refuse, Reconciliation::Refuse),
        (Mismatch::Leave, Reconciliation::Keep, Reconciliation::Keep),
        (Mismatch::Refill, Reconciliation::Rebuild, Reconciliation::Refill),
        (Mismatch::Rebuild, Reconciliation::Rebuild, Reconciliation::Rebuild),
    ];
    let old = old.to_string();
    for (mismatch, keywords, embedding) in cases {
        assert_eq!(metadata.reconcile(Index::Keywords, Some("words-1"), mismatch), keywords);
        assert_eq!(metadata.reconcile(Index::Embedding, Some(&old), mismatch), embedding);
        assert_eq!(metadata.reconcile(Index::Embedding, Some(&new.to_string()), mismatch), Reconciliation::Keep);
        assert_eq!(metadata.reconcile(Index::Embedding, None, mismatch), Reconciliation::Record);
    }
    options.replaced = Some(EmbeddingSpace::cosine("old", 2));
    let replacing = IndexMetadata::new(&options);
    assert_eq!(replacing.reconcile(Index::Embedding, Some(&old), Mismatch::Refuse), Reconciliation::Refill);
}
