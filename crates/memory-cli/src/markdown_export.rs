//! Writes records as Markdown files with front matter: a bundle of the Open Knowledge Format 0.2.

use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use futures::TryStreamExt;
use memory_engine::{Field, Filter, MemoryEngine, Record, Scope, State, Timestamp, Trust};
use serde_json::json;

use crate::{as_of, output};

/// The version of the Open Knowledge Format, which the listing of the bundle states.
const OKF_VERSION: &str = "0.2";

/// Writes the active records within `scope`, or those that were current at a time, into a folder that is new or empty:
/// a file each, in a folder for each kind, and a listing of the folders. Returns the number of records.
///
/// # Errors
/// If the folder has files already, or cannot be written.
pub(crate) async fn write_folder(
    engine: &MemoryEngine,
    scope: &Scope,
    folder: &Path,
    as_of: Option<Timestamp>,
) -> Result<u64> {
    create_folder(folder)?;
    let is_empty = fs::read_dir(folder).is_ok_and(|mut files| files.next().is_none());
    if !is_empty {
        bail!("{} has files already; name a new or an empty folder with --output", folder.display());
    }
    let bar = output::progress(engine.stats(scope).await?.records, "exporting {wide_bar} {pos}/{len} records {eta}");
    let active = Filter::eq(Field::State, State::Active.as_str());
    let mut records = as_of::records(engine, scope, as_of).filter(active).stream();
    let mut count = 0;
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    while let Some(record) = records.try_next().await? {
        write_file(&folder.join(file_name(&record)), &file_text(&record))?;
        *kinds.entry(folder_name(&record)).or_default() += 1;
        count += 1;
        bar.set_position(count);
    }
    write_file(&folder.join("index.md"), &index_text(&kinds))?;
    bar.finish_and_clear();
    Ok(count)
}

fn create_folder(path: &Path) -> Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).with_context(|| format!("{} cannot be created", path.display()))
}

/// Writes a new file that only its owner can read.
fn write_file(path: &Path, text: &str) -> Result<()> {
    let failed = || format!("{} cannot be written", path.display());
    create_folder(path.parent().unwrap_or(path))?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).with_context(failed)?.write_all(text.as_bytes()).with_context(failed)
}

/// Returns the listing of the folders, with the number of records in each.
fn index_text(kinds: &BTreeMap<String, u64>) -> String {
    let mut text = format!("---\nokf_version: \"{OKF_VERSION}\"\n---\n\n# Memories\n\n");
    let folders = kinds.iter().map(|(kind, count)| (kind, output::counted(*count, "record", "records")));
    text.extend(folders.map(|(kind, count)| format!("* [{kind}]({kind}/) - {count}\n")));
    text
}

/// Returns the name of a record's file, such as `note/2026-03-01-0198c0de-….md`.
fn file_name(record: &Record) -> PathBuf {
    let day = day(record.occurred_at);
    PathBuf::from(folder_name(record)).join(format!("{day}-{}.md", record.id))
}

/// Returns the name of the folder of a record's kind.
fn folder_name(record: &Record) -> String {
    // The name of a kind is not trusted: it must not lead out of the folder.
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    record.kind.as_str().chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

fn day(time: Timestamp) -> String {
    time.to_string().chars().take(10).collect()
}

/// Returns the fields of a record as front matter, and its text.
fn file_text(record: &Record) -> String {
    let text = |value: &dyn ToString| Some(value.to_string());
    let named = |name: Option<&str>| name.map(str::to_owned);
    let fields = [
        // The only required key of the Open Knowledge Format.
        ("type", text(&record.kind)),
        ("id", text(&record.id)),
        ("kind", text(&record.kind)),
        ("time", text(&record.occurred_at)),
        ("valid_from", record.valid_from.map(|time| time.to_string())),
        ("valid_until", record.valid_until.map(|time| time.to_string())),
        ("user", named(record.scope.user_name())),
        ("agent", named(record.scope.agent())),
        ("session", named(record.scope.session())),
        ("role", record.role.as_ref().map(ToString::to_string)),
        ("speaker", record.speaker.clone()),
        ("scene", record.scene.clone()),
    ];
    // A JSON string is a YAML string.
    let mut lines = vec!["---".to_owned()];
    lines.extend(fields.into_iter().filter_map(|(name, value)| Some(format!("{name}: {}", json!(value?)))));
    lines.push(format!("generated: {{ by: {}, at: {} }}", json!(author(record)), json!(record.recorded_at)));
    lines.extend(record.valid_until.map(|until| format!("stale_after: {}", day(until))));
    if !record.tags.is_empty() {
        lines.push("tags:".into());
        lines.extend(record.tags.iter().map(|tag| format!("- {}", json!(tag))));
    }
    lines.extend(["---".to_owned(), String::new(), record.text.clone()]);
    lines.join("\n") + "\n"
}

/// Returns who wrote a record, as an actor of the Open Knowledge Format.
fn author(record: &Record) -> String {
    match (record.trust, record.scope.user_name()) {
        (Trust::User, Some(user)) => format!("human:{user}"),
        (Trust::User | Trust::Assistant | Trust::Tool | Trust::Import | Trust::Derived, _) => {
            "process:memory-engine".to_owned()
        }
    }
}
