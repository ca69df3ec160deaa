//! A growable array. A large one has a memory mapping with huge pages.

use std::{
    fmt,
    marker::PhantomData,
    ops::{Deref, DerefMut},
};

use bytemuck::Pod;
use memmap2::MmapMut;

/// Minimum size in bytes of an array with a memory mapping of its own.
const MAPPED_MIN_BYTES: usize = 4 << 20;
/// Size in bytes of the huge pages of most processors. Mappings are multiples of it.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Elements in one piece of memory, as in a `Vec`.
///
/// An array of at least 4 MiB has a memory mapping of its own, for which Linux is asked to use huge pages: filling it
/// causes fewer page faults, and reading rows that are far apart causes fewer misses of the TLB, the processor's cache of
/// page addresses. If the system has no huge pages, or no memory for a mapping, everything works as with a `Vec`.
///
/// While it grows, the old and the new memory exist together.
pub(crate) struct LargeBuffer<T> {
    memory: Memory<T>,
}

enum Memory<T> {
    Heap(Vec<T>),
    /// The elements, and then zeros up to the end of the mapping.
    Mapped {
        map: MmapMut,
        length: usize,
        element: PhantomData<T>,
    },
}

impl<T: Pod> LargeBuffer<T> {
    /// Returns the number of elements for which there is memory.
    fn capacity(&self) -> usize {
        match &self.memory {
            Memory::Heap(elements) => elements.capacity(),
            Memory::Mapped { map, .. } => map.len() / size_of::<T>(),
        }
    }

    /// Reserves memory for this many more elements.
    pub(crate) fn reserve(&mut self, additional: usize) {
        let length = self.len() + additional;
        if length <= self.capacity() {
            return;
        }
        let Some(mut map) = map_elements::<T>(length) else {
            self.move_to_heap(additional);
            return;
        };
        map[..size_of_val(&**self)].copy_from_slice(bytemuck::cast_slice(self));
        self.memory = Memory::Mapped { map, length: self.len(), element: PhantomData };
    }

    fn move_to_heap(&mut self, additional: usize) {
        match &mut self.memory {
            Memory::Heap(elements) => elements.reserve(additional),
            Memory::Mapped { .. } => {
                let mut elements = Vec::with_capacity(self.len() + additional);
                elements.extend_from_slice(self);
                self.memory = Memory::Heap(elements);
            }
        }
    }

    /// Appends this many zeros, and returns them.
    pub(crate) fn grow(&mut self, count: usize) -> &mut [T] {
        let before = self.len();
        if before + count > self.capacity() {
            self.reserve(count.max(before / 2));
        }
        match &mut self.memory {
            Memory::Heap(elements) => elements.resize(before + count, T::zeroed()),
            Memory::Mapped { length, .. } => *length += count,
        }
        &mut self[before..]
    }

    /// Appends these elements.
    pub(crate) fn extend_from_slice(&mut self, elements: &[T]) {
        self.grow(elements.len()).copy_from_slice(elements);
    }

    /// Removes the elements after the first `length`.
    pub(crate) fn truncate(&mut self, length: usize) {
        if length >= self.len() {
            return;
        }
        // In a mapping, `grow` relies on zeros after the last element.
        self[length..].fill(T::zeroed());
        match &mut self.memory {
            Memory::Heap(elements) => elements.truncate(length),
            Memory::Mapped { length: mapped, .. } => *mapped = length,
        }
    }
}

/// Returns a mapping for this many elements; `None` if they are few, or if there is no memory for it.
fn map_elements<T>(elements: usize) -> Option<MmapMut> {
    let bytes = elements.checked_mul(size_of::<T>())?;
    if bytes < MAPPED_MIN_BYTES {
        return None;
    }
    let map = MmapMut::map_anon(bytes.checked_next_multiple_of(HUGE_PAGE_BYTES)?).ok()?;
    // A kernel without huge pages refuses, and the mapping has small ones.
    #[cfg(target_os = "linux")]
    let _ = map.advise(memmap2::Advice::HugePage);
    Some(map)
}

impl<T> Default for LargeBuffer<T> {
    fn default() -> Self {
        Self { memory: Memory::Heap(Vec::new()) }
    }
}

impl<T: Pod> Deref for LargeBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.memory {
            Memory::Heap(elements) => elements,
            Memory::Mapped { map, length, .. } => bytemuck::cast_slice(&map[..length * size_of::<T>()]),
        }
    }
}

impl<T: Pod> DerefMut for LargeBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.memory {
            Memory::Heap(elements) => elements,
            Memory::Mapped { map, length, .. } => bytemuck::cast_slice_mut(&mut map[..*length * size_of::<T>()]),
        }
    }
}

impl<T: Pod> Clone for LargeBuffer<T> {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.extend_from_slice(self);
        copy
    }
}

impl<T: Pod> fmt::Debug for LargeBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LargeBuffer").field("length", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Enough elements for a mapping, which grows several times.
    const STEPS: usize = 3000;
    const STEP: usize = 1000;

    #[test]
    fn elements_survive_the_move_to_a_mapping_and_its_growth() {
        let mut buffer: LargeBuffer<u32> = LargeBuffer::default();
        let mut expected: Vec<u32> = Vec::new();
        for step in 0..STEPS {
            let elements: Vec<u32> = (0..STEP).map(|n| (step * STEP + n) as u32).collect();
            buffer.extend_from_slice(&elements);
            expected.extend(elements);
        }
        assert!(matches!(buffer.memory, Memory::Mapped { .. }));
        assert!(*buffer == expected[..]);
        assert!(*buffer.clone() == expected[..]);
        buffer.truncate(7);
        assert_eq!(*buffer, expected[..7]);
        assert_eq!(buffer.grow(5), [0; 5], "grown elements are zero, also where others were");
    }

    #[test]
    fn a_small_array_has_no_mapping() {
        let mut buffer: LargeBuffer<i8> = LargeBuffer::default();
        buffer.reserve(100);
        buffer.extend_from_slice(&[1, 2, 3]);
        assert!(matches!(buffer.memory, Memory::Heap(_)));
        buffer.truncate(1);
        buffer.truncate(9);
        assert_eq!(*buffer, [1]);
    }
}
