//! The values of `--digest` and `--graph`: extraction by rules or by the chat model of a service.

use std::str::FromStr;

use memory_engine::http_models::Preset;

use crate::remote::Remote;

/// The method of an extraction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ExtractionMethod {
    /// Nothing is extracted.
    None,
    /// Rules and dictionaries.
    Rules,
    /// The chat model of a service.
    Remote(Remote<Preset>),
}

impl FromStr for ExtractionMethod {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            "rules" => Ok(Self::Rules),
            _ => Remote::read(text, |name| name.parse().ok()).map(Self::Remote).ok_or_else(|| {
                let services = Preset::ALL.map(Preset::as_str).join(", ");
                format!("expected none, rules or a service ({services}), optionally with :MODEL")
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_parsed() {
        let read = |text: &str| text.parse::<ExtractionMethod>();
        assert_eq!((read("none"), read("rules")), (Ok(ExtractionMethod::None), Ok(ExtractionMethod::Rules)));
        let Ok(ExtractionMethod::Remote(remote)) = read("ollama:qwen2.5:7b") else { panic!("a service with a model") };
        assert_eq!((remote.service, remote.model.as_deref()), (Preset::Ollama, Some("qwen2.5:7b")));
        let error = read("gpt").unwrap_err();
        assert!(error.contains("rules") && error.contains("deepseek"), "{error}");
    }
}
