use memory_engine_text::Words;

use super::*;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sample {
    words: Words,
    pattern: DataPattern,
}

#[test]
fn files_are_joined_by_name() {
    let chinese = "words = ['一']\npattern = ['喂+']";
    let english = "words = ['one']\n[[pattern]]\nbefore = '\\b'\nany = ['hi', '''\n  he|\n  llo''']\nafter = '!'";
    let sample: Sample = memory_engine_text::load(&[chinese, english]);
    assert_eq!(sample.words.iter().collect::<Vec<_>>(), ["一", "one"]);
    for text in ["喂喂", "我hi!", "LLO!"] {
        assert!(sample.pattern.is_match(text), "{text}");
    }
    assert!(!sample.pattern.is_match("oh"));
}

#[test]
fn invalid_patterns_and_unknown_fields_are_refused() {
    for file in ["words = []\npattern = ['(']", "words = []\npattern = ['a']\nmore = []", "words = []"] {
        let loaded = std::panic::catch_unwind(|| memory_engine_text::load::<Sample>(&[file]));
        assert!(loaded.is_err(), "{file}");
    }
}

#[test]
fn every_data_file_is_loaded() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = texts(&root.join("src"), "rs");
    for (path, _) in texts(&root.join("data"), "toml") {
        let name = path.strip_prefix(root.join("data")).unwrap().to_string_lossy().replace('\\', "/");
        assert!(sources.iter().any(|(_, text)| text.contains(&format!("\"{name}\""))), "no module loads {name}");
    }
}

fn texts(folder: &std::path::Path, extension: &str) -> Vec<(std::path::PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(texts(&path, extension));
        } else if path.extension().is_some_and(|known| known == extension) {
            found.push((path.clone(), std::fs::read_to_string(path).unwrap()));
        }
    }
    found
}
