//! Reads metrics in the text format of Prometheus. The recorder of the process gives no other access to its values.

use std::collections::BTreeMap;

use super::histogram::Histogram;

/// One value of a metric.
#[derive(Debug, Clone, PartialEq)]
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

/// The values of all metrics at one time.
#[derive(Debug, Default)]
pub(super) struct Samples(Vec<Sample>);

impl Samples {
    /// Reads the values. Lines of another form are skipped.
    pub(super) fn parse(text: &str) -> Self {
        Self(text.lines().filter_map(Sample::parse).collect())
    }

    fn named<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s Sample> {
        self.0.iter().filter(move |sample| sample.name == name)
    }

    /// Returns the sums of a counter for each combination of these labels.
    pub(super) fn sums<const N: usize>(&self, name: &str, labels: [&str; N]) -> BTreeMap<[String; N], u64> {
        let mut sums = BTreeMap::new();
        for sample in self.named(name) {
            *sums.entry(sample.values_of(labels)).or_insert(0) += sample.value.max(0.0) as u64;
        }
        sums
    }

    /// Returns a histogram for each combination of these labels.
    pub(super) fn histograms<const N: usize>(&self, name: &str, labels: [&str; N]) -> BTreeMap<[String; N], Histogram> {
        let mut histograms: BTreeMap<[String; N], Histogram> = BTreeMap::new();
        for sample in self.named(&format!("{name}_bucket")) {
            let bound = sample.labels.get("le").and_then(|bound| bound.parse::<f64>().ok());
            if let Some(bound) = bound {
                histograms.entry(sample.values_of(labels)).or_default().add_bucket(bound, sample.value);
            }
        }
        for sample in self.named(&format!("{name}_sum")) {
            histograms.entry(sample.values_of(labels)).or_default().add_sum(sample.value);
        }
        histograms
    }
}

impl Sample {
    /// Reads a line such as `requests_total{route="/ui/",status="200"} 7`.
    fn parse(line: &str) -> Option<Self> {
        if line.starts_with('#') {
            return None;
        }
        let name_end = line.find(['{', ' '])?;
        let (name, rest) = line.split_at(name_end);
        let mut labels = BTreeMap::new();
        let value = match rest.strip_prefix('{') {
            Some(rest) => read_labels(rest, &mut labels)?,
            None => rest,
        };
        let value = value.split_whitespace().next()?.parse().ok()?;
        Some(Self { name: name.to_owned(), labels, value })
    }

    /// Returns the values of these labels; empty for a missing one.
    fn values_of<const N: usize>(&self, labels: [&str; N]) -> [String; N] {
        labels.map(|label| self.labels.get(label).cloned().unwrap_or_default())
    }
}

/// Reads labels up to the closing brace. Returns the rest of the line.
fn read_labels<'l>(mut rest: &'l str, labels: &mut BTreeMap<String, String>) -> Option<&'l str> {
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        if let Some(rest) = rest.strip_prefix('}') {
            return Some(rest);
        }
        let (name, after_name) = rest.split_once("=\"")?;
        let (value, after_value) = read_quoted(after_name)?;
        labels.insert(name.to_owned(), value);
        rest = after_value;
    }
}

/// Reads a value up to its closing quote. Returns it without escapes, and the rest of the line.
fn read_quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[index + 1..])),
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                escaped => value.push(escaped),
            },
            plain => value.push(plain),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
# HELP requests_total Responses.
# TYPE requests_total counter
requests_total{route="/a",status="200"} 7
requests_total{route="/a",status="500"} 2
requests_total{route="/b, \"c\" {id}",status="200"} 1
plain_total 4
broken{route="/a 1
took_seconds_bucket{route="/a",outcome="ok",le="0.1"} 3
took_seconds_bucket{route="/a",outcome="ok",le="+Inf"} 4
took_seconds_bucket{route="/a",outcome="error",le="0.1"} 0
took_seconds_bucket{route="/a",outcome="error",le="+Inf"} 4
took_seconds_sum{route="/a",outcome="ok"} 0.5
took_seconds_sum{route="/a",outcome="error"} 1.5
"#;

    #[test]
    fn counters_are_added_up_by_label() {
        let samples = Samples::parse(TEXT);
        let by_route = samples.sums("requests_total", ["route"]);
        assert_eq!(by_route[&["/a".to_owned()]], 9);
        assert_eq!(by_route[&[r#"/b, "c" {id}"#.to_owned()]], 1);
        assert_eq!(samples.sums("plain_total", []).into_values().collect::<Vec<_>>(), [4]);
        assert!(samples.sums("broken", ["route"]).is_empty());
    }

    #[test]
    fn histograms_are_merged_by_label() {
        let merged = Samples::parse(TEXT).histograms("took_seconds", ["route"]);
        let merged = &merged[&["/a".to_owned()]];
        assert_eq!((merged.count(), merged.mean()), (8, Some(0.25)));
    }
}
