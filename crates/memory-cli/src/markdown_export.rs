//! Writes records as Markdown files with front matter.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use memory_engine::{Field, Filter, MemoryEngine, Record, ScanQuery, Scope, State};
use serde_json::json;

use crate::{output, records::PAGE_RECORDS};

/// Writes the active records within `scope` into a folder that is new or empty: a file each, in a folder for each kind.
/// Returns their number.
///
/// # Errors
/// If the folder has files already, or cannot be written.
pub(crate) async fn write_folder(engine: &MemoryEngine, scope: &Scope, folder: &Path) -> Result<u64> {
    create_folder(folder)?;
    let is_empty = fs::read_dir(folder).is_ok_and(|mut files| files.next().is_none());
    if !is_empty {
        bail!("{} has files already; name a new or an empty folder with --output", folder.display());
    }
    let bar = output::progress(engine.stats(scope).await?.records, "exporting {wide_bar} {pos}/{len} {eta}");
    let active = Filter::eq(Field::State, State::Active.as_str());
    let mut query = ScanQuery::oldest(PAGE_RECORDS).with_filter(active);
    let mut count = 0;
    loop {
        let page = engine.scan(scope, &query).await?;
        for record in &page.records {
            write_file(&folder.join(file_name(record)), &file_text(record))?;
            count += 1;
            bar.set_position(count);
        }
        if page.next.is_none() {
            bar.finish_and_clear();
            return Ok(count);
        }
        query = query.with_after(page.next);
    }
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

/// Returns the name of a record's file, such as `note/2026-03-01-0198c0de-….md`.
fn file_name(record: &Record) -> PathBuf {
    // The name of a kind is not trusted: it must not lead out of the folder.
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let kind: String = record.kind.as_str().chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let day = record.occurred_at.to_string().chars().take(10).collect::<String>();
    PathBuf::from(kind).join(format!("{day}-{}.md", record.id))
}

/// Returns the fields of a record as front matter, and its text.
fn file_text(record: &Record) -> String {
    let id = record.id.to_string();
    let time = record.occurred_at.to_string();
    let fields = [
        ("id", Some(id.as_str())),
        ("kind", Some(record.kind.as_str())),
        ("time", Some(&time)),
        ("user", record.scope.user_name()),
        ("agent", record.scope.agent()),
        ("session", record.scope.session()),
        ("role", record.role.as_ref().map(|role| role.as_str())),
        ("speaker", record.speaker.as_deref()),
        ("scene", record.scene.as_deref()),
    ];
    // A JSON string is a YAML string.
    let mut lines = vec!["---".to_owned()];
    lines.extend(fields.into_iter().filter_map(|(name, value)| Some(format!("{name}: {}", json!(value?)))));
    if !record.tags.is_empty() {
        lines.push("tags:".into());
        lines.extend(record.tags.iter().map(|tag| format!("- {}", json!(tag))));
    }
    lines.extend(["---".to_owned(), String::new(), record.text.clone()]);
    lines.join("\n") + "\n"
}
