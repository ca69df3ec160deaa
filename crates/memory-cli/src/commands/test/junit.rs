//! Writes the outcomes of cases as JUnit XML.

use std::path::Path;

use anyhow::Result;

use crate::{
    output_file::OutputFile,
    regression::outcome::{CaseOutcome, FailureKind},
};

/// Writes a test suite with the name of the file of cases.
pub(super) fn write(path: &Path, cases: &Path, outcomes: &[CaseOutcome]) -> Result<()> {
    let mut out = OutputFile::create(path)?;
    let suite = escaped(&cases.display().to_string());
    let failed = outcomes.iter().filter(|outcome| !outcome.passed).count();
    out.write_line(r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    out.write_line(format_args!(r#"<testsuite name="{suite}" tests="{}" failures="{failed}">"#, outcomes.len()))?;
    for outcome in outcomes {
        let name = escaped(&outcome.name);
        let attributes = format!(r#"name="{name}" classname="{suite}" file="{suite}" line="{}""#, outcome.line);
        if outcome.passed {
            out.write_line(format_args!("  <testcase {attributes}/>"))?;
            continue;
        }
        let kinds: Vec<&str> = outcome.failures.iter().map(|failure| FailureKind::as_str(failure.kind)).collect();
        let message = escaped(&kinds.join(", "));
        out.write_line(format_args!("  <testcase {attributes}>"))?;
        let text = escaped(&outcome.describe());
        out.write_line(format_args!(r#"    <failure message="{message}">{text}</failure>"#))?;
        out.write_line("  </testcase>")?;
    }
    out.write_line("</testsuite>")?;
    out.finish()
}

/// Escapes a text for an attribute or an element. Characters that XML forbids become U+FFFD.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' | '\r' => escaped.push(c),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped() {
        assert_eq!(escaped("a<b> & \"c\"\u{1}\n海"), "a&lt;b&gt; &amp; &quot;c&quot;\u{fffd}\n海");
    }
}
