//! Compares two sets of postings, to check a stored one.

use memory_engine_core::RecordId;
use rustc_hash::FxHashMap;

use super::{
    SegmentedPostings,
    document::{Document, PackedPosting},
};

/// The content of a document: its group, its id, its length, and its terms with their frequencies, ascending.
#[derive(Debug, PartialEq, Eq)]
struct Content {
    group: i64,
    id: RecordId,
    length: u32,
    terms: Vec<(u64, u32)>,
}

impl SegmentedPostings {
    /// Returns the number of documents of `sample` that are not here with the same group, id, length and terms.
    pub fn count_differences(&self, sample: &Self) -> usize {
        let expected = sample.contents(|_| true);
        let mut found = self.contents(|number| expected.contains_key(&number));
        expected.into_iter().filter(|(number, content)| found.remove(number).as_ref() != Some(content)).count()
    }

    /// Returns the contents of the documents whose number passes `is_wanted`.
    fn contents(&self, is_wanted: impl Fn(i64) -> bool) -> FxHashMap<i64, Content> {
        let mut contents = FxHashMap::default();
        let (documents, postings) = self.open.unpack();
        collect(documents, &postings, &is_wanted, &mut contents);
        for segment in &self.segments {
            let (mut documents, mut postings) = (Vec::new(), Vec::new());
            segment.unpack(&mut documents, &mut postings);
            collect(documents, &postings, &is_wanted, &mut contents);
        }
        contents.values_mut().for_each(|content| content.terms.sort_unstable());
        contents
    }
}

fn collect(
    documents: Vec<Document>,
    postings: &[PackedPosting],
    is_wanted: impl Fn(i64) -> bool,
    contents: &mut FxHashMap<i64, Content>,
) {
    for document in documents.iter().filter(|document| is_wanted(document.number)) {
        let Document { id, number, group, length, .. } = *document;
        contents.insert(number, Content { group, id, length, terms: Vec::new() });
    }
    for (term, slot, frequency) in postings {
        let document = &documents[usize::from(*slot)];
        if let Some(content) = contents.get_mut(&document.number) {
            content.terms.push((*term, *frequency));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number, group, and terms with their frequencies.
    type Document<'t> = (i64, i64, &'t [(&'t str, u32)]);

    fn postings(documents: &[Document<'_>]) -> SegmentedPostings {
        let mut postings = SegmentedPostings::default();
        for (number, group, terms) in documents {
            let length = terms.iter().map(|(_, frequency)| frequency).sum();
            let id = RecordId::from_bytes([*number as u8; 16]);
            postings.insert(*number, id, *group, length, terms.iter().copied());
        }
        postings
    }

    #[test]
    fn missing_moved_and_changed_documents_are_counted() {
        let mut stored =
            postings(&[(1, 1, &[("tea", 1), ("green", 2)]), (2, 1, &[("cat", 1)]), (3, 2, &[("dog", 300)])]);
        for _ in 0..2 {
            assert_eq!(stored.count_differences(&postings(&[(1, 1, &[("green", 2), ("tea", 1)])])), 0);
            assert_eq!(stored.count_differences(&postings(&[(3, 2, &[("dog", 300)])])), 0);
            assert_eq!(stored.count_differences(&postings(&[(4, 1, &[("cat", 1)])])), 1, "missing");
            assert_eq!(stored.count_differences(&postings(&[(2, 2, &[("cat", 1)])])), 1, "in another group");
            assert_eq!(stored.count_differences(&postings(&[(1, 1, &[("tea", 2), ("green", 1)])])), 1, "frequencies");
            assert_eq!(stored.count_differences(&postings(&[(2, 1, &[("hat", 1)])])), 1, "another term");
            // The same in packed segments.
            stored.merge();
        }
    }
}
