//! The prefixes with which a model family was trained.

/// The text in front of a query, and the text in front of a document.
pub(crate) type Prefixes = [&'static str; 2];

/// The prefixes of the e5 family (Wang et al. 2022).
pub(crate) const E5_PREFIXES: Prefixes = ["query: ", "passage: "];

/// The instruction of the Chinese bge family (Xiao et al. 2023) for short queries.
const BGE_ZH_PREFIXES: Prefixes = ["为这个句子生成表示以用于检索相关文章：", ""];

/// Returns the prefixes of a model by the name of its directory. No file in the directory contains them.
pub(crate) fn prefixes_of(name: &str) -> Prefixes {
    let name = name.to_ascii_lowercase();
    if name.split(['-', '_']).any(|part| part == "e5") {
        E5_PREFIXES
    } else if name.starts_with("bge-") && name.contains("-zh") {
        BGE_ZH_PREFIXES
    } else {
        ["", ""]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_name_selects_the_prefixes_of_its_family() {
        for name in ["multilingual-e5-small", "e5-base-v2", "E5-large"] {
            assert_eq!(prefixes_of(name), E5_PREFIXES, "{name}");
        }
        assert_eq!(prefixes_of("bge-small-zh-v1.5"), BGE_ZH_PREFIXES);
        assert_eq!([prefixes_of("all-MiniLM-L6-v2"), prefixes_of("bge-m3"), prefixes_of("size5-x")], [["", ""]; 3]);
    }
}
