//! A model: tokenizer, encoder and pooling.

use std::{fs::File, path::Path};

use memory_engine_core::{CodeBits, Embedding, Kernel, Result as EngineResult};
use memory_engine_embedder::TextEncoding;
use ndarray::{Array2, ArrayView1, ArrayView2, s};

#[cfg(feature = "hf")]
use crate::hf;
use crate::{
    batch, e5s1,
    error::ModelError,
    matrix,
    options::ModelOptions,
    parts::ModelParts,
    pooling::{Pooling, join_windows},
    prefixes::{E5_PREFIXES, Prefixes, prefixes_of},
    projection::TokenProjection,
    token_vectors::TokenVectors,
    window::Windows,
};

/// The file of an E5S1 model in its directory.
const E5S1_FILE: &str = "e5-small-q4.bin";

/// A text embedding model in memory.
///
/// It is immutable, so threads can share it in an `Arc`. Calls compute on the calling thread and, if
/// requested, on more threads. On an async runtime, call it from a blocking thread.
#[derive(Debug)]
pub struct Model {
    id: String,
    parts: ModelParts,
    /// The texts before queries and documents.
    own_prefixes: Prefixes,
    /// The ids of each known prefix, longest first.
    prefixes: Vec<Vec<u32>>,
}

impl Model {
    /// Opens a model: an E5S1 file, a directory with `e5-small-q4.bin` in it, or, with the
    /// feature `hf`, a Hugging Face directory.
    ///
    /// # Errors
    /// `NotFound` if the file does not exist, `Corrupt` if it is damaged, `Unsupported` for another
    /// kind of model.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ModelError> {
        Self::open_with(path, &ModelOptions::default())
    }

    /// Opens a model with options.
    ///
    /// # Errors
    /// The errors of [`Self::open`]; also `Unsupported` if the machine lacks the requested kernel.
    pub fn open_with(path: impl AsRef<Path>, options: &ModelOptions) -> Result<Self, ModelError> {
        let path = path.as_ref();
        Self::open_at(path, options).map_err(|error| error.in_context(path.display()))
    }

    fn open_at(path: &Path, options: &ModelOptions) -> Result<Self, ModelError> {
        let (kernel, integer) = options.resolve()?;
        let file = if path.is_dir() { path.join(E5S1_FILE) } else { path.to_owned() };
        let name = file.file_stem().map(|name| name.to_string_lossy().into_owned());
        let (parts, id, own_prefixes) = if path.is_dir() && !file.exists() {
            let name = path.canonicalize().ok();
            let name = name.as_ref().and_then(|path| path.file_name());
            let id = name.map(|name| name.to_string_lossy().into_owned());
            let own_prefixes = id.as_deref().map_or(["", ""], prefixes_of);
            (open_directory(path, kernel, integer)?, id, own_prefixes)
        } else {
            let file = File::open(&file)?;
            let (encoder, tokenizer) = e5s1::open(file, kernel, integer)?;
            let parts = ModelParts { encoder, tokenizer, pooling: Pooling::Mean, max_tokens: None };
            (parts, name, E5_PREFIXES)
        };
        let prefixes = match &options.prefixes {
            Some(prefixes) => prefixes.clone(),
            None => own_prefixes.iter().map(|&prefix| prefix.to_owned()).collect(),
        };
        let model = Self::assemble(id.unwrap_or_else(|| "model".to_owned()), parts, &prefixes)?;
        Ok(Self { own_prefixes, ..model })
    }

    /// Checks that the parts fit together and builds the model.
    pub(crate) fn assemble(id: String, parts: ModelParts, prefixes: &[String]) -> Result<Self, ModelError> {
        let (size, rows) = (parts.tokenizer.size(), parts.encoder.vocabulary());
        if size > rows {
            let message = format!("the tokenizer has {size} tokens, but the encoder only {rows} word vectors");
            return Err(ModelError::corrupt(message));
        }
        // The space after a prefix is a part of the first piece of the next word.
        let tokenize = |prefix: &String| parts.tokenizer.encode(prefix.trim_end());
        let mut prefixes: Vec<Vec<u32>> = prefixes.iter().map(tokenize).collect();
        prefixes.retain(|prefix| !prefix.is_empty());
        prefixes.sort_by_key(|prefix| std::cmp::Reverse(prefix.len()));
        Ok(Self { id, parts, own_prefixes: ["", ""], prefixes })
    }

    /// Returns the prefixes of queries and documents that the model's name determines; empty ones if it does not.
    pub(crate) fn own_prefixes(&self) -> Prefixes {
        self.own_prefixes
    }

    /// Returns true for a model of the e5 family.
    pub(crate) fn is_e5(&self) -> bool {
        self.own_prefixes == E5_PREFIXES
    }

    /// Returns the name of the model: that of its file or directory.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the length of the vectors.
    pub fn dimensions(&self) -> usize {
        self.parts.encoder.hidden()
    }

    /// Returns the maximum length of a window in tokens, including special tokens. Longer texts are split into windows.
    pub fn max_tokens(&self) -> usize {
        let encoder_limit = self.parts.encoder.max_tokens();
        self.parts.max_tokens.unwrap_or(encoder_limit).min(encoder_limit)
    }

    /// Returns the ids of a text with start and end tokens. The text is not truncated.
    pub fn tokenize(&self, text: &str) -> Vec<u32> {
        let (start, end) = self.parts.tokenizer.ends();
        let mut ids = vec![start];
        ids.extend(self.parts.tokenizer.encode(text));
        ids.push(end);
        ids
    }

    /// Returns a row of length 1 for each text. The texts must have their prefixes already.
    ///
    /// A text longer than a window gets the mean of its windows' vectors, scaled to length 1
    /// again. An empty text gets the vector of the special tokens. Up to `threads` threads are used
    /// (0 counts as 1); the result does not depend on their number.
    pub fn embed<S: AsRef<str> + Sync>(&self, texts: &[S], threads: usize) -> Array2<f32> {
        let mut rows = Vec::with_capacity(texts.len() * self.dimensions());
        for (_, pooled) in self.encode(texts, threads, |_, hidden| self.parts.pooling.pool(hidden)) {
            rows.extend(join_windows(pooled));
        }
        matrix::from_rows(rows, self.dimensions())
    }

    /// Returns the vector and the token vectors of a text, from one forward pass. The token vectors are the last hidden
    /// state, without prefix and special tokens.
    pub fn embed_with_tokens(&self, text: &str) -> (Vec<f32>, TokenVectors) {
        let mut all = self.embed_all_with_tokens(&[text], 1);
        all.pop().unwrap_or_else(|| (Vec::new(), self.token_vectors(&[], Vec::new(), 1)))
    }

    /// Returns the vectors and token vectors of many texts. See [`Self::embed`] for `threads`.
    pub fn embed_all_with_tokens<S: AsRef<str> + Sync>(
        &self,
        texts: &[S],
        threads: usize,
    ) -> Vec<(Vec<f32>, TokenVectors)> {
        let finish = |skip: usize, hidden: ArrayView2<'_, f32>| {
            let end = hidden.nrows() - 1;
            let text_tokens = hidden.slice(s![skip.min(end)..end, ..]);
            (self.parts.pooling.pool(hidden), text_tokens.iter().copied().collect::<Vec<f32>>())
        };
        self.encode(texts, threads, finish)
            .into_iter()
            .map(|(windows, results)| {
                let (pooled, text_tokens): (Vec<_>, Vec<_>) = results.into_iter().unzip();
                let tokens = self.token_vectors(&windows.sequences, text_tokens.concat(), windows.skip);
                (join_windows(pooled), tokens)
            })
            .collect()
    }

    /// Returns the vectors of texts that have their prefixes already. If the model has a projection of token vectors,
    /// also returns the token vectors for late interaction. See [`Self::embed`] for `threads`.
    pub(crate) fn encode_for_recall(
        &self,
        texts: &[String],
        threads: usize,
        bits: CodeBits,
    ) -> EngineResult<Vec<TextEncoding>> {
        let Some(projection) = TokenProjection::of_model(&self.id, self.dimensions()) else {
            let vectors = self.embed(texts, threads);
            let without_tokens = |row: ArrayView1<'_, f32>| Ok(TextEncoding::new(Embedding::new(row.to_vec())?));
            return vectors.rows().into_iter().map(without_tokens).collect();
        };
        let with_tokens = |(vector, tokens): (Vec<f32>, TokenVectors)| {
            let tokens = tokens.quantize(projection, bits)?;
            Ok(TextEncoding::new(Embedding::new(vector)?).with_tokens(tokens))
        };
        self.embed_all_with_tokens(texts, threads).into_iter().map(with_tokens).collect()
    }

    /// Splits texts into windows, runs the encoder, and applies `finish` to each window. `finish` gets the number of
    /// leading tokens to skip and the hidden state.
    fn encode<S: AsRef<str> + Sync, T: Send>(
        &self,
        texts: &[S],
        threads: usize,
        finish: impl Fn(usize, ArrayView2<'_, f32>) -> T + Sync,
    ) -> Vec<(Windows, Vec<T>)> {
        let windows: Vec<Windows> = texts.iter().map(|text| self.windows_of(text.as_ref())).collect();
        let skips: Vec<usize> = windows.iter().flat_map(|text| text.sequences.iter().map(|_| text.skip)).collect();
        let sequences: Vec<&[u32]> = windows.iter().flat_map(|text| text.sequences.iter().map(Vec::as_slice)).collect();
        let finish = |index: usize, hidden: ArrayView2<'_, f32>| finish(skips[index], hidden);
        let mut results = batch::run(&self.parts.encoder, &sequences, threads, finish).into_iter();
        let counts: Vec<usize> = windows.iter().map(|text| text.sequences.len()).collect();
        windows
            .into_iter()
            .zip(counts)
            .map(|(windows, count)| (windows, results.by_ref().take(count).collect()))
            .collect()
    }

    fn windows_of(&self, text: &str) -> Windows {
        let ids = self.parts.tokenizer.encode(text);
        let prefix = self.prefixes.iter().find(|prefix| ids.starts_with(prefix));
        let prefix = prefix.map_or(0, Vec::len);
        Windows::cut(&ids, prefix, self.parts.tokenizer.ends(), self.max_tokens())
    }

    fn token_vectors(&self, sequences: &[Vec<u32>], values: Vec<f32>, skip: usize) -> TokenVectors {
        let text_ids = sequences.iter().flat_map(|ids| ids.get(skip..ids.len() - 1).unwrap_or(&[]));
        let ids: Vec<u32> = text_ids.copied().collect();
        let weights = ids.iter().map(|id| self.parts.tokenizer.weight(*id)).collect();
        TokenVectors::new(matrix::from_rows(values, self.dimensions()), ids, weights)
    }
}

#[cfg(feature = "hf")]
fn open_directory(path: &Path, kernel: Kernel, integer: bool) -> Result<ModelParts, ModelError> {
    hf::open(path, kernel, integer)
}

#[cfg(not(feature = "hf"))]
fn open_directory(path: &Path, _: Kernel, _: bool) -> Result<ModelParts, ModelError> {
    if path.join("config.json").exists() {
        let message = "Hugging Face directories need the cargo feature `hf`";
        return Err(ModelError::unsupported(message));
    }
    Err(ModelError::not_found(format!("the directory does not contain {E5S1_FILE}")))
}
