//! Text embedding models that run in the process, on the CPU, without a service, a key or a download.
//!
//! The recommended model is multilingual-e5-small (Wang et al. 2024) in a 72 MB file of 4-bit weights: 384 dimensions,
//! about a hundred languages, good at Chinese and English. The crate contains the tokenizer, the forward pass, pooling,
//! and the projection of token vectors that are stored for late interaction. With the feature `hf`, Hugging Face
//! directories of BERT and XLM-R encoders (e5, MiniLM, bge) can be opened as well.
//!
//! ```no_run
//! use memory_engine_local_models::Model;
//!
//! # fn main() -> Result<(), memory_engine_local_models::ModelError> {
//! let model = Model::open("models/e5-small-q4/e5-small-q4.bin")?;
//! let texts = ["query: 我对什么食物过敏？", "passage: 小王吃虾会起疹子。"];
//! let vectors = model.embed(&texts, 1);
//! let cosine: f32 = vectors.row(0).dot(&vectors.row(1));
//! println!("{cosine}");
//! # Ok(())
//! # }
//! ```
//!
//! Linear layers run in integers on AVX-512 VNNI, AVX2 or NEON, else in floats; see [`Precision`].
//! `unsafe` code is confined to the kernel module, and each kernel is tested against plain loops.

mod attention;
mod batch;
mod e5s1;
mod encoder;
mod error;
#[cfg(feature = "hf")]
mod hf;
mod kernel;
mod local;
mod matrix;
mod model;
#[cfg(feature = "onnx")]
mod onnx;
mod options;
mod parts;
mod pooling;
mod prefixes;
mod projection;
mod source;
mod token_vectors;
mod tokenizer;
mod weights;
mod window;
mod worker;

pub use memory_engine_core::Kernel;

pub use error::{ModelError, ModelErrorKind};
pub use local::{LocalEmbedder, LocalModel};
pub use model::Model;
#[cfg(feature = "onnx")]
pub use onnx::{OnnxEmbedder, OnnxModel, OnnxOptions, OnnxPooling, OnnxReranker};
pub use options::{ModelOptions, Precision};
pub use token_vectors::TokenVectors;
