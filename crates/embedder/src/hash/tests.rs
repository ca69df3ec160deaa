use futures::executor::block_on;
use proptest::prelude::*;

use super::*;

fn embed(text: &str) -> Embedding {
    block_on(HashEmbedder::default().embed(&[text], Purpose::Document)).unwrap().remove(0)
}

fn cosine(a: &str, b: &str) -> f32 {
    embed(a).values().iter().zip(embed(b).values()).map(|(x, y)| x * y).sum()
}

#[test]
fn texts_with_common_features_are_similar() {
    assert!(cosine("我对海鲜过敏", "她對海鮮過敏嗎") > 0.5);
    assert!(cosine("I paint sunrises", "painting a sunrise") > 0.25);
    assert!(cosine("我对海鲜过敏", "明天去北京开会").abs() < 0.25);
}

#[test]
fn case_and_width_are_ignored() {
    assert_eq!(embed("Docker 部署"), embed("ＤＯＣＫＥＲ　部署"));
}

#[test]
fn invalid_batches_and_dimensions_are_rejected() {
    let embedder = HashEmbedder::default();
    assert!(block_on(embedder.embed(&["x", " "], Purpose::Query)).is_err());
    assert!(block_on(embedder.embed(&vec!["x"; 257], Purpose::Query)).is_err());
    assert!(HashEmbedder::with_dimensions(1).is_err());
}

/// The expected values were computed by another program from the documentation of [`HashEmbedder`].
#[test]
fn r13_vectors_are_the_same_on_every_machine() {
    let embedder = HashEmbedder::with_dimensions(16).unwrap();
    let expected = [
        (
            "The fog",
            [
                0.0, 0.0, -0.188_845, 0.188_845, 0.0, 0.0, -0.188_845, -0.728_401, -0.188_845, 0.539_556, 0.0, 0.0,
                0.0, 0.188_845, 0.0, 0.0,
            ],
        ),
        (
            "金钥匙 in the fog",
            [
                -0.152_449, 0.0, -0.177_858, 0.177_858, -0.355_715, -0.177_858, -0.177_858, -0.686_022, -0.177_858,
                0.177_858, 0.0, -0.177_858, -0.355_715, 0.177_858, 0.0, 0.0,
            ],
        ),
    ];
    for (text, expected) in expected {
        let vector = block_on(embedder.embed(&[text], Purpose::Document)).unwrap().remove(0);
        for (dimension, (value, expected)) in vector.values().iter().zip(expected).enumerate() {
            assert!((value - expected).abs() < 1e-5, "{text}, dimension {dimension}: {value} instead of {expected}");
        }
    }
}

proptest! {
    #[test]
    fn r13_every_text_has_a_vector_of_length_one(text in "\\PC{0,40}[a-z\u{4e00}-\u{4f00}.!]") {
        let vector = embed(&text);
        let norm: f32 = vector.values().iter().map(|v| v * v).sum();
        prop_assert!((norm - 1.0).abs() < 1e-4);
    }
}
