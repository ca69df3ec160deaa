//! Reads `config.json` and the pooling configuration of sentence-transformers.

use std::path::Path;

use serde_json::Value;

use super::json::{read_json, require_json};
use crate::{encoder::EncoderShape, error::ModelError, pooling::Pooling};

const CONFIG: &str = "config.json";

/// Maximum size of a configuration file.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// The pooling and the window length of a model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PoolingConfig {
    pub(crate) pooling: Pooling,
    /// Maximum window length that the model was tuned for, in tokens, if a file sets one.
    pub(crate) max_tokens: Option<usize>,
}

/// Reads the encoder's shape. Rejects model types and options that the forward pass does not implement.
pub(super) fn read_shape(directory: &Path) -> Result<EncoderShape, ModelError> {
    let json = require_json(directory, CONFIG, MAX_CONFIG_BYTES)?;
    shape_of(&json).map_err(|error| error.in_context(CONFIG))
}

fn shape_of(json: &Value) -> Result<EncoderShape, ModelError> {
    let number = |name: &str| {
        json[name]
            .as_u64()
            .and_then(|value| usize::try_from(value).ok())
            .ok_or_else(|| ModelError::corrupt(format!("{name} is {}; expected a non-negative integer", json[name])))
    };
    let first_position = match json["model_type"].as_str() {
        Some("bert") => 0,
        // These models number positions from the id after the padding id.
        Some("xlm-roberta" | "roberta") => {
            if json["pad_token_id"].is_null() {
                2
            } else {
                number("pad_token_id")?.saturating_add(1)
            }
        }
        _ => {
            let message = format!(
                "the model type {} is not supported; expected bert, roberta or xlm-roberta",
                json["model_type"]
            );
            return Err(ModelError::unsupported(message));
        }
    };
    let require = |name: &str, expected: &str| {
        let actual = &json[name];
        if actual.is_null() || actual == expected {
            return Ok(());
        }
        Err(ModelError::unsupported(format!("{name} is {actual}; only \"{expected}\" is supported")))
    };
    require("hidden_act", "gelu")?;
    require("position_embedding_type", "absolute")?;
    let shape = EncoderShape {
        hidden: number("hidden_size")?,
        layers: number("num_hidden_layers")?,
        heads: number("num_attention_heads")?,
        feed_forward: number("intermediate_size")?,
        vocabulary: number("vocab_size")?,
        positions: number("max_position_embeddings")?,
        first_position,
        types: number("type_vocab_size")?,
        epsilon: json["layer_norm_eps"].as_f64().unwrap_or(1e-12) as f32,
    };
    shape.check()?;
    Ok(shape)
}

/// Reads the pooling configuration. Without `1_Pooling/config.json`, mean pooling is used.
pub(crate) fn read_pooling(directory: &Path) -> Result<PoolingConfig, ModelError> {
    if let Some(Value::Array(modules)) = read_json(directory, "modules.json", MAX_CONFIG_BYTES)? {
        let supported = ["Transformer", "Pooling", "Normalize"];
        let is_unsupported = |module: &&Value| {
            let name = module["type"].as_str().unwrap_or_default();
            !supported.contains(&name.rsplit('.').next().unwrap_or_default())
        };
        if let Some(module) = modules.iter().find(is_unsupported) {
            let message = format!(
                "modules.json: the module {} is not supported; expected Transformer, Pooling or Normalize",
                module["type"]
            );
            return Err(ModelError::unsupported(message));
        }
    }
    let max_tokens = read_json(directory, "sentence_bert_config.json", MAX_CONFIG_BYTES)?
        .and_then(|json| json["max_seq_length"].as_u64())
        .and_then(|count| usize::try_from(count).ok())
        .filter(|&count| count >= 16);
    let Some(json) = read_json(directory, "1_Pooling/config.json", MAX_CONFIG_BYTES)? else {
        return Ok(PoolingConfig { pooling: Pooling::Mean, max_tokens });
    };
    let modes: Vec<&str> = json
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, value)| name.starts_with("pooling_mode") && value.as_bool() == Some(true))
        .map(|(name, _)| name.as_str())
        .collect();
    match modes[..] {
        ["pooling_mode_mean_tokens"] => Ok(PoolingConfig { pooling: Pooling::Mean, max_tokens }),
        ["pooling_mode_cls_token"] => Ok(PoolingConfig { pooling: Pooling::First, max_tokens }),
        _ => {
            let message = format!(
                "1_Pooling/config.json: the modes {modes:?} are not supported; expected mean or cls tokens alone"
            );
            Err(ModelError::unsupported(message))
        }
    }
}
