//! Packed segments in a snapshot. `docs/design/index-cache.md` describes the layout.

use std::io::{self, Read, Write};

use memory_engine_core::{
    RecordId,
    snapshot::{SnapshotReader, SnapshotWriter},
    varint,
};
use rustc_hash::FxHashMap;

use super::{document::Document, segment::Segment};
use crate::bm25::Bm25;

impl Segment {
    /// Writes the live documents and their postings.
    pub(super) fn save<W: Write>(&self, out: &mut SnapshotWriter<W>) -> io::Result<()> {
        if self.live < self.documents.len() {
            return self.compacted(&Bm25::default()).save(out);
        }
        let documents = &self.documents;
        out.array(&documents.iter().map(|document| document.id.as_u64_pair().into()).collect::<Vec<[u64; 2]>>())?;
        out.deltas(documents.iter().map(|document| document.number))?;
        out.deltas(documents.iter().map(|document| document.group))?;
        out.deltas(documents.iter().map(|document| i64::from(document.length)))?;
        out.deltas(self.terms.iter().map(|term| *term as i64))?;
        out.array(&self.pack_slots())?;
        // Nearly all frequencies are 1; only the others are written.
        let is_repeated = |posting: &u32| self.frequencies[*posting as usize] != 1;
        let repeated: Vec<u32> = (0..self.frequencies.len() as u32).filter(is_repeated).collect();
        out.deltas(repeated.iter().map(|posting| i64::from(*posting)))?;
        out.deltas(repeated.iter().map(|posting| i64::from(self.frequency(*posting))))?;
        let mut max_scores: Vec<(u32, f64)> = self.max_scores.iter().map(|(term, score)| (*term, *score)).collect();
        max_scores.sort_unstable_by_key(|(term, _)| *term);
        out.deltas(max_scores.iter().map(|(term, _)| i64::from(*term)))?;
        out.array(&max_scores.iter().map(|(_, score)| *score).collect::<Vec<f64>>())
    }

    /// Returns, for each term, the number of postings and the distance of each slot from the one before, as varints.
    fn pack_slots(&self) -> Vec<u8> {
        let mut packed = Vec::with_capacity(self.slots.len() * 2);
        for bounds in self.starts.windows(2) {
            let slots = &self.slots[bounds[0] as usize..bounds[1] as usize];
            varint::push(&mut packed, slots.len() as u64);
            let mut next = 0;
            for slot in slots {
                varint::push(&mut packed, u64::from(*slot) - next);
                next = u64::from(*slot) + 1;
            }
        }
        packed
    }

    /// Reads a segment that [`save`](Self::save) wrote. Corruption that is not detected here changes the checksum of
    /// the snapshot.
    pub(super) fn load<R: Read>(input: &mut SnapshotReader<R>) -> io::Result<Self> {
        let ids: Vec<[u64; 2]> = input.array()?;
        let numbers = input.deltas()?;
        let groups = input.deltas()?;
        let lengths = input.deltas()?;
        let terms: Vec<u64> = input.deltas()?.into_iter().map(|term| term as u64).collect();
        let (starts, slots) = unpack_slots(&input.array()?, terms.len())?;
        let mut frequencies = vec![1_u8; slots.len()];
        let mut large_frequencies = FxHashMap::default();
        for (posting, frequency) in input.deltas()?.into_iter().zip(input.deltas()?) {
            let packed = frequencies.get_mut(posting as usize).ok_or(io::ErrorKind::InvalidData)?;
            *packed = u8::try_from(frequency).unwrap_or(u8::MAX);
            if *packed == u8::MAX {
                large_frequencies.insert(posting as u32, frequency as u32);
            }
        }
        let max_score_terms = input.deltas()?;
        let max_scores: Vec<f64> = input.array()?;
        let mut documents = Vec::with_capacity(ids.len());
        for ((([high, low], number), group), length) in ids.into_iter().zip(numbers).zip(groups).zip(lengths) {
            let id = RecordId::from_u64_pair(high, low);
            documents.push(Document { id, number, group, length: length as u32, live: true });
        }
        let mut segment = Self {
            terms,
            starts,
            slots,
            frequencies,
            large_frequencies,
            max_scores: max_score_terms.into_iter().map(|term| term as u32).zip(max_scores).collect(),
            live: documents.len(),
            documents,
            groups: FxHashMap::default(),
        };
        segment.index_groups();
        Ok(segment)
    }
}

/// Returns the first posting of each term, and the slots of all postings.
fn unpack_slots(mut packed: &[u8], terms: usize) -> io::Result<(Vec<u32>, Vec<u16>)> {
    let mut starts = Vec::with_capacity(terms + 1);
    let mut slots: Vec<u16> = Vec::with_capacity(packed.len());
    for _ in 0..terms {
        starts.push(slots.len() as u32);
        let mut next = 0;
        for _ in 0..pull(&mut packed)? {
            let slot = next + pull(&mut packed)?;
            slots.push(u16::try_from(slot).map_err(|_| io::ErrorKind::InvalidData)?);
            next = slot + 1;
        }
    }
    starts.push(slots.len() as u32);
    Ok((starts, slots))
}

#[inline]
fn pull(bytes: &mut &[u8]) -> io::Result<u64> {
    varint::pull(bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
}
