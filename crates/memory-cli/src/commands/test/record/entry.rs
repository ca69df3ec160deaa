//! A case as TOML text.

use std::fmt::Write as _;

use jiff::tz::TimeZone;
use memory_engine::{Scope, Timestamp};

use crate::{args::ScopeArgs, query_args::QueryArgs};

/// A case to be written.
#[derive(Debug)]
pub(super) struct CaseEntry<'a> {
    pub(super) name: String,
    pub(super) query: &'a str,
    pub(super) scope: &'a ScopeArgs,
    pub(super) options: &'a QueryArgs,
    pub(super) now: Timestamp,
    pub(super) zone: &'a TimeZone,
    pub(super) expect: Vec<RecordEntry>,
    pub(super) forbid: Vec<RecordEntry>,
    pub(super) abstain: bool,
}

/// A record of `expect` or `forbid`.
#[derive(Debug)]
pub(super) struct RecordEntry {
    pub(super) id: String,
    /// The beginning of its text.
    pub(super) note: String,
    /// False if the hit is not relevant, and need not be.
    pub(super) relevant: bool,
}

impl CaseEntry<'_> {
    /// Writes an entry `[[case]]`. Every key that `[defaults]` could change is set.
    pub(super) fn to_toml(&self) -> String {
        let mut toml = String::from("[[case]]\n");
        let mut put = |key: &str, value: Option<&str>| {
            if let Some(value) = value {
                _ = writeln!(toml, "{key} = {}", quoted(value));
            }
        };
        put("name", Some(&self.name).filter(|name| *name != self.query).map(String::as_str));
        put("query", Some(self.query));
        put("tenant", Some(self.scope.tenant.as_str()).filter(|tenant| *tenant != Scope::DEFAULT_TENANT));
        put("user", self.scope.user.as_deref());
        put("agent", self.scope.agent.as_deref());
        put("session", self.scope.session.as_deref());
        put("branch", self.scope.branch.as_deref());
        put("target", Some("search"));
        put("now", Some(&self.now.to_string()));
        put("timezone", zone_name(self.zone).as_deref());
        put("since", self.options.since.as_deref());
        put("until", self.options.until.as_deref());
        put("kind", self.options.kind.as_deref());
        put("scene", self.options.scene.as_deref());
        put("from_scene", self.options.from_scene.as_deref());
        _ = writeln!(toml, "limit = {}", self.options.limit);
        if self.options.only_then {
            toml += "only_then = true\n";
        }
        push_records(&mut toml, "expect", &self.expect);
        push_records(&mut toml, "forbid", &self.forbid);
        if self.abstain {
            toml += "abstain = true\n";
        }
        toml
    }
}

fn push_records(toml: &mut String, key: &str, records: &[RecordEntry]) {
    if records.is_empty() {
        return;
    }
    _ = writeln!(toml, "{key} = [");
    for record in records {
        let relevant = if record.relevant { "" } else { ", relevant = false" };
        _ = writeln!(toml, "    {{ id = {}, note = {}{relevant} }},", quoted(&record.id), quoted(&record.note));
    }
    toml.push_str("]\n");
}

/// Returns the name of a zone, or its offset; `None` if it has neither.
fn zone_name(zone: &TimeZone) -> Option<String> {
    let offset = || zone.to_fixed_offset().ok().map(|offset| offset.to_string());
    zone.iana_name().map(str::to_owned).or_else(offset)
}

/// Returns a text as a basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => _ = write!(quoted, "\\u{:04X}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_texts_are_read_back() {
        for text in ["plain", "a \"b\" \\ c", "two\nlines\ttab", "bell\u{7} del\u{7f} \r", "海鲜 🦐", "", "'''"] {
            let table: toml::Table = toml::from_str(&format!("k = {}", quoted(text))).unwrap();
            assert_eq!(table["k"].as_str(), Some(text));
        }
    }

    #[test]
    fn zones_are_written_by_name_or_offset() {
        let name = |text: &str| zone_name(&crate::args::zone(text).unwrap()).unwrap();
        assert_eq!(name("Asia/Shanghai"), "Asia/Shanghai");
        assert_eq!(crate::args::zone(&name("+05:30")).unwrap(), crate::args::zone("+05:30").unwrap());
        assert_eq!(name("UTC"), "UTC");
    }
}
