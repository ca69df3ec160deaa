//! The segmenter of jieba, whose dictionary is loaded in parts.

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use jieba_rs::Jieba;

use super::packed::PackedDictionary;

/// A word that occurs in no text. Its frequency is that of all words that are not loaded. Jieba divides frequencies by
/// their total, so the total must stay that of the whole dictionary.
const PLACEHOLDER: &str = "\0";

/// The part of speech of all words. It is not used, but jieba looks it up for each word. It is not empty, because
/// `memcmp` of glibc takes 200 ns for two empty Rust strings on a processor with AVX-512: their address is not mapped.
const TAG: &str = "x";

/// Loads the words that begin with a character when a text first contains this character. All words of a text begin
/// with one of its characters, so the text is cut as with the whole dictionary, most of which is never needed.
pub(super) struct Segmenter {
    dictionary: PackedDictionary<'static>,
    loaded: RwLock<LoadedWords>,
}

/// The loaded words.
struct LoadedWords {
    jieba: Jieba,
    /// True for each block of the dictionary that is loaded.
    is_loaded: Vec<bool>,
    /// Sum of the frequencies of the words that are not loaded.
    missing_frequency: usize,
}

impl Segmenter {
    /// Creates a segmenter without words. Returns `None` if the file does not have the format.
    pub(super) fn new(file: &'static [u8]) -> Option<Self> {
        let dictionary = PackedDictionary::new(file)?;
        let mut loaded = LoadedWords {
            jieba: Jieba::empty(),
            is_loaded: vec![false; dictionary.blocks().len()],
            missing_frequency: dictionary.total_frequency(),
        };
        loaded.update_placeholder();
        Some(Self { dictionary, loaded: RwLock::new(loaded) })
    }

    /// Loads the words that begin with one of these characters, and returns read access to jieba.
    pub(super) fn load_for(&self, characters: &[char]) -> JiebaGuard<'_> {
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
        let blocks = characters.iter().filter_map(|first| self.dictionary.block_of(*first));
        let missing: Vec<usize> = blocks.filter(|block| !loaded.is_loaded[*block]).collect();
        if missing.is_empty() {
            return JiebaGuard(loaded);
        }
        drop(loaded);
        let mut loading = self.loaded.write().unwrap_or_else(PoisonError::into_inner);
        missing.into_iter().for_each(|block| loading.load(&self.dictionary, block));
        loading.update_placeholder();
        drop(loading);
        // Blocks are never unloaded.
        JiebaGuard(self.loaded.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl LoadedWords {
    /// Loads a block, unless another thread has loaded it.
    fn load(&mut self, dictionary: &PackedDictionary<'_>, block: usize) {
        if std::mem::replace(&mut self.is_loaded[block], true) {
            return;
        }
        // A test reads every block of the bundled file, so this cannot fail.
        let _ = dictionary.for_each_word(block, |word, frequency| {
            self.jieba.add_word(word, Some(frequency), Some(TAG));
            self.missing_frequency -= frequency;
        });
    }

    fn update_placeholder(&mut self) {
        self.jieba.add_word(PLACEHOLDER, Some(self.missing_frequency), Some(TAG));
    }
}

/// Read access to jieba.
pub(super) struct JiebaGuard<'s>(RwLockReadGuard<'s, LoadedWords>);

impl std::ops::Deref for JiebaGuard<'_> {
    type Target = Jieba;

    fn deref(&self) -> &Jieba {
        &self.0.jieba
    }
}
