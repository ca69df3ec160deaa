//! Every relative link in the Markdown files of this repository leads to an existing file, and to an existing heading.
//! Pages in `docs/` link to files in `docs/` only, so that the links also work in the book.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Folders without documentation of the project.
const SKIPPED_FOLDERS: [&str; 6] = ["target", ".git", "node_modules", "models", "golden", "data"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn markdown_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !SKIPPED_FOLDERS.contains(&name.as_str()) {
            markdown_files(&path, files);
        } else if name.ends_with(".md") {
            files.push(path);
        }
    }
}

/// Returns the lines outside of fenced code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
            return false;
        }
        !in_code
    })
}

/// Returns the targets of the inline links in a line.
fn targets(line: &str) -> Vec<&str> {
    let mut targets = Vec::new();
    let mut rest = line;
    while let Some((_, after)) = rest.split_once("](") {
        let Some((target, next)) = after.split_once(')') else { break };
        targets.push(target);
        rest = next;
    }
    targets
}

/// Returns the anchors of a page, as GitHub and mdBook make them from its headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    headings
        .map(|heading| {
            let characters = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            characters.map(|c| if c == ' ' { '-' } else { c }).collect::<String>().to_lowercase()
        })
        .collect()
}

/// Returns what is wrong with a link of the page at `page`, or `None` if it is correct.
fn fault(page: &Path, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") || target.is_empty() {
        return None;
    }
    // Paths of Rust items are links of rustdoc, which checks them itself.
    if target.contains("::") || (!target.contains(['/', '.', '#'])) {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() { page.to_owned() } else { page.parent().unwrap().join(file) };
    if !path.exists() {
        return Some(format!("{}: no file {target}", page.display()));
    }
    if leaves_book(page, &path) {
        return Some(format!("{}: {target} is outside of docs/, and would be a dead link in the book", page.display()));
    }
    let is_page = path.extension().is_some_and(|extension| extension == "md");
    if anchor.is_empty() || !is_page || anchors(&fs::read_to_string(&path).unwrap()).contains(anchor) {
        return None;
    }
    Some(format!("{}: no heading for {target}", page.display()))
}

/// Returns true if the page is part of the book in `docs/` and the target is not.
fn leaves_book(page: &Path, target: &Path) -> bool {
    let book = root().join("docs");
    page.starts_with(&book) && !target.canonicalize().unwrap().starts_with(book.canonicalize().unwrap())
}

#[test]
fn links_lead_to_existing_files_and_headings() {
    let mut files = Vec::new();
    markdown_files(&root(), &mut files);
    let mut links = 0;
    let mut faults = Vec::new();
    for page in &files {
        let text = fs::read_to_string(page).unwrap();
        for target in prose(&text).flat_map(targets) {
            links += 1;
            faults.extend(fault(page, target));
        }
    }
    assert!(files.len() > 40 && links > 100, "only {links} links in {} files", files.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn faulty_links_are_detected() {
    let readme = root().join("README.md");
    assert!(fault(&readme, "docs/none.md").is_some());
    assert!(fault(&readme, "docs/design/architecture.md#none").is_some());
    assert!(fault(&root().join("docs/introduction.md"), "../README.md").is_some());
    assert!(fault(&readme, "#limits").is_none() && fault(&readme, "#no-limits").is_some());
    assert_eq!(targets("[a](b.md) and [c](d.md#e)"), ["b.md", "d.md#e"]);
}
