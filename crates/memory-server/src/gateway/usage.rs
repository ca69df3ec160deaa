//! The tokens of replies, as the upstreams report them.

use serde_json::Value;

/// The tokens of one request and its reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TokenUsage {
    /// Tokens of the prompt, with those that the upstream had cached. `None` if the upstream has not reported them.
    prompt: Option<u64>,
    /// The cached tokens of the prompt.
    cached: Option<u64>,
    /// Tokens of the reply.
    completion: Option<u64>,
}

impl TokenUsage {
    /// Reads the field `usage` of any dialect. A stream may report the tokens in several events: missing fields stay as
    /// they are.
    pub(super) fn add(&mut self, usage: &Value) {
        let field = |name: &str| usage[name].as_u64();
        // Anthropic counts cached tokens beside `input_tokens`, OpenAI within them.
        let beside = [field("cache_read_input_tokens"), field("cache_creation_input_tokens")];
        let input = field("input_tokens").map(|input| input + beside.iter().flatten().sum::<u64>());
        let details = ["prompt_tokens_details", "input_tokens_details"];
        let within = details.iter().find_map(|details| usage[*details]["cached_tokens"].as_u64());
        self.prompt = field("prompt_tokens").or(input).or(self.prompt);
        self.cached = beside[0].or(within).or_else(|| field("prompt_cache_hit_tokens")).or(self.cached);
        self.completion = field("completion_tokens").or_else(|| field("output_tokens")).or(self.completion);
    }

    /// Counts a reply of an upstream and its tokens.
    pub(super) fn count(self, upstream: &str) {
        let tokens = [("prompt", self.prompt), ("cached", self.cached), ("completion", self.completion)];
        for (part, tokens) in tokens {
            if let Some(tokens) = tokens {
                let labels = [("upstream", upstream.to_owned()), ("part", part.to_owned())];
                metrics::counter!("memory_gateway_tokens_total", &labels).increment(tokens);
            }
        }
        let usage = if self.prompt.or(self.completion).is_some() { "reported" } else { "missing" };
        let labels = [("upstream", upstream.to_owned()), ("usage", usage.to_owned())];
        metrics::counter!("memory_gateway_replies_total", &labels).increment(1);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_usage_of_each_dialect_is_read() {
        let cases = [
            (
                "chat",
                vec![
                    json!(null),
                    json!({"prompt_tokens": 30, "completion_tokens": 5,
                    "prompt_tokens_details": {"cached_tokens": 20}}),
                ],
            ),
            ("DeepSeek", vec![json!({"prompt_tokens": 30, "completion_tokens": 5, "prompt_cache_hit_tokens": 20})]),
            (
                "messages",
                vec![
                    json!({"input_tokens": 7, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 3,
                        "output_tokens": 1}),
                    json!({"output_tokens": 5}),
                ],
            ),
            (
                "responses",
                vec![json!({"input_tokens": 30, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 20}})],
            ),
        ];
        for (dialect, reports) in cases {
            let mut usage = TokenUsage::default();
            reports.iter().for_each(|report| usage.add(report));
            let expected = TokenUsage { prompt: Some(30), cached: Some(20), completion: Some(5) };
            assert_eq!(usage, expected, "{dialect}");
        }
    }
}
