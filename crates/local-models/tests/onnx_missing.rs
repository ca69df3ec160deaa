//! Tests of ONNX models without a runtime. A process cannot unload a runtime, so they are in their own test binary.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "a failed assertion panics")]
#![cfg(feature = "onnx")]

use std::{fs, path::Path};

use futures::executor::block_on;
use memory_engine_core::ErrorKind;
use memory_engine_local_models::{OnnxModel, OnnxOptions};

const TOKENIZER: &str = r#"{"normalizer": {"type": "BertNormalizer"}, "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]},
    "model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2}}}"#;

#[test]
fn a_missing_or_invalid_runtime_error_names_the_variable() {
    let directory = std::env::temp_dir().join(format!("onnx-missing-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("tokenizer.json"), TOKENIZER).unwrap();
    fs::write(directory.join("model.onnx"), include_bytes!("onnx/pair.onnx")).unwrap();
    fs::write(directory.join("none.so"), "no library").unwrap();
    for library in [Path::new("no/such/libonnxruntime.so"), &directory.join("none.so")] {
        let options = OnnxOptions::default().with_runtime(library);
        let error = block_on(OnnxModel::open(&directory, options)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains("ORT_DYLIB_PATH") && error.message().contains(".so"), "{error}");
    }
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_missing_model_is_not_found() {
    let options = OnnxOptions::default().with_runtime("no/such/libonnxruntime.so");
    let error = block_on(OnnxModel::open("no/such/model", options)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().contains("no/such/model"), "{error}");
}
