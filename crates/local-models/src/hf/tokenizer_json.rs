//! Reads `tokenizer.json`: WordPiece (BERT) and unigram (XLM-R) tokenizers.

use serde_json::Value;

use crate::{
    error::ModelError,
    tokenizer::{
        Tokenizer,
        charsmap::{Charsmap, decode_base64},
        pieces::PieceTable,
        unigram::{Normalizer, Unigram, UnigramOptions},
        word_piece::{WordPiece, WordPieceOptions},
    },
};

/// Reads a tokenizer.
pub(super) fn read(json: &Value) -> Result<Tokenizer, ModelError> {
    match json["model"]["type"].as_str() {
        Some("WordPiece") => read_word_piece(json).map(Tokenizer::WordPiece),
        Some("Unigram") => read_unigram(json).map(Tokenizer::Unigram),
        _ => Err(unsupported("model", &json["model"]["type"])),
    }
}

fn unsupported(part: &str, value: &Value) -> ModelError {
    ModelError::unsupported(format!("the {part} {value} is not supported"))
}

/// Builds the table of pieces, in the order of their ids.
fn piece_table<'a>(pieces: impl Iterator<Item = &'a str>) -> Result<PieceTable, ModelError> {
    let mut text = String::new();
    let mut offsets = vec![0];
    for piece in pieces {
        text.push_str(piece);
        let end = u32::try_from(text.len());
        offsets.push(end.map_err(|_| ModelError::corrupt("the text of the vocabulary exceeds 4 GiB"))?);
    }
    PieceTable::new(text, offsets)
}

fn read_id(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|id| u32::try_from(id).ok())
}

/// Returns the start and end ids that the post-processor adds to a single text.
fn read_ends(json: &Value) -> Result<(u32, u32), ModelError> {
    let processor = &json["post_processor"];
    let ends = match processor["type"].as_str() {
        Some("TemplateProcessing") => {
            let special = |item: Option<&Value>| {
                let name = item?["SpecialToken"]["id"].as_str()?;
                read_id(&processor["special_tokens"][name]["ids"][0])
            };
            let single = processor["single"].as_array().filter(|items| items.len() == 3);
            single.map(|items| (special(items.first()), special(items.last())))
        }
        Some("BertProcessing" | "RobertaProcessing") => {
            Some((read_id(&processor["cls"][1]), read_id(&processor["sep"][1])))
        }
        _ => None,
    };
    match ends {
        Some((Some(start), Some(end))) => Ok((start, end)),
        _ => Err(unsupported("post-processor", &processor["type"])),
    }
}

fn read_word_piece(json: &Value) -> Result<WordPiece, ModelError> {
    let model = &json["model"];
    let vocabulary =
        model["vocab"].as_object().ok_or_else(|| ModelError::corrupt("the vocabulary is not a JSON object"))?;
    let mut pieces = vec![None; vocabulary.len()];
    for (piece, id) in vocabulary {
        let slot = read_id(id).and_then(|id| pieces.get_mut(id as usize));
        match slot {
            Some(slot @ None) => *slot = Some(piece.as_str()),
            _ => {
                return Err(ModelError::corrupt(format!(
                    "piece {piece:?} has the id {id}; ids must be distinct and below the number of pieces"
                )));
            }
        }
    }
    // All ids are distinct and below the number of pieces, so every slot is filled.
    let pieces = piece_table(pieces.into_iter().flatten())?;
    let unknown = model["unk_token"].as_str().unwrap_or("[UNK]");
    let unknown = pieces
        .find(unknown.as_bytes())
        .ok_or_else(|| ModelError::corrupt(format!("the unknown token {unknown:?} is not in the vocabulary")))?;
    let normalizer = &json["normalizer"];
    if normalizer["type"] != "BertNormalizer" {
        return Err(unsupported("normalizer", &normalizer["type"]));
    }
    if json["pre_tokenizer"]["type"] != "BertPreTokenizer" {
        return Err(unsupported("pre-tokenizer", &json["pre_tokenizer"]["type"]));
    }
    let flag = |name: &str| normalizer[name].as_bool();
    let lowercase = flag("lowercase").unwrap_or(true);
    let (start, end) = read_ends(json)?;
    let max_word_chars = model["max_input_chars_per_word"].as_u64().unwrap_or(100);
    let options = WordPieceOptions {
        start,
        end,
        unknown,
        continuation: model["continuing_subword_prefix"].as_str().unwrap_or("##").to_owned(),
        max_word_chars: usize::try_from(max_word_chars).unwrap_or(usize::MAX),
        clean_text: flag("clean_text").unwrap_or(true),
        separate_ideographs: flag("handle_chinese_chars").unwrap_or(true),
        strip_accents: flag("strip_accents").unwrap_or(lowercase),
        lowercase,
    };
    WordPiece::new(pieces, options)
}

fn read_unigram(json: &Value) -> Result<Unigram, ModelError> {
    let model = &json["model"];
    if model["byte_fallback"].as_bool() == Some(true) {
        return Err(ModelError::unsupported("unigram tokenizers with byte fallback are not supported"));
    }
    let vocabulary = model["vocab"].as_array().map(Vec::as_slice).unwrap_or_default();
    let entry = |entry: &'_ Value| Some((entry[0].as_str()?.to_owned(), entry[1].as_f64()? as f32));
    let entries: Option<Vec<(String, f32)>> = vocabulary.iter().map(entry).collect();
    let entries = entries.ok_or_else(|| ModelError::corrupt("the vocabulary is not a list of pieces and scores"))?;
    let pieces = piece_table(entries.iter().map(|(piece, _)| piece.as_str()))?;
    let scores = entries.iter().map(|&(_, score)| score).collect();
    let (start, end) = read_ends(json)?;
    let unknown = read_id(&model["unk_id"])
        .ok_or_else(|| ModelError::unsupported("unigram tokenizers without an unknown token are not supported"))?;
    let mut options = UnigramOptions { start, end, unknown, merge_spaces: false, split_white_space: false };
    let mut normalizer = Normalizer::Identity;
    for step in steps(&json["normalizer"], "normalizers") {
        match step["type"].as_str() {
            Some("Precompiled") => {
                let map = step["precompiled_charsmap"].as_str().unwrap_or_default();
                normalizer = Normalizer::Charsmap(Charsmap::new(&decode_base64(map)?)?);
            }
            Some("Replace") if step["pattern"]["Regex"] == " {2,}" => options.merge_spaces = true,
            _ => return Err(unsupported("normalizer", step)),
        }
    }
    for step in steps(&json["pre_tokenizer"], "pretokenizers") {
        match step["type"].as_str() {
            Some("WhitespaceSplit") => options.split_white_space = true,
            Some("Metaspace") if step["replacement"] == "\u{2581}" => {}
            _ => return Err(unsupported("pre-tokenizer", step)),
        }
    }
    Unigram::new(normalizer, pieces, scores, options)
}

/// Returns the items of a `Sequence`, a single item, or nothing for null.
fn steps<'a>(value: &'a Value, list: &str) -> Vec<&'a Value> {
    if value["type"] == "Sequence" {
        return value[list].as_array().into_iter().flatten().collect();
    }
    if value.is_null() { Vec::new() } else { vec![value] }
}
