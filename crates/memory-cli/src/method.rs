//! A step that rules or the chat model of a service can do: the values of `--digest` and `--graph`.

use std::str::FromStr;

use memory_engine::http_models::Preset;

use crate::remote::Remote;

/// The method of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ExtractionMethod {
    /// The step is left out.
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
                format!("it is one of none, rules, or a service ({services}), with :MODEL if need be")
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_none_rules_or_a_service() {
        let read = |text: &str| text.parse::<ExtractionMethod>();
        assert_eq!((read("none"), read("rules")), (Ok(ExtractionMethod::None), Ok(ExtractionMethod::Rules)));
        let Ok(ExtractionMethod::Remote(remote)) = read("ollama:qwen2.5:7b") else { panic!("a service with a model") };
        assert_eq!((remote.service, remote.model.as_deref()), (Preset::Ollama, Some("qwen2.5:7b")));
        let error = read("gpt").unwrap_err();
        assert!(error.contains("rules") && error.contains("deepseek"), "{error}");
    }
}
