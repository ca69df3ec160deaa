//! The listing of a folder, and the lines of a file.

use std::collections::BTreeMap;

use super::{files::MemoryFile, path::MemoryPath};

/// Width of the line numbers, as in Anthropic's backend.
const LINE_NUMBER_WIDTH: usize = 6;
/// Number of levels in the listing of a folder.
const LISTED_LEVELS: usize = 2;

/// Lists the files of a folder, with their sizes. A folder comes before what it contains.
pub(crate) fn list_folder(path: &MemoryPath, files: &[MemoryFile]) -> String {
    // Names are compared part by part, so that the contents of a folder stay together.
    let mut sizes: BTreeMap<Vec<&str>, (usize, bool)> = BTreeMap::new();
    let mut total = 0;
    for file in files {
        let Some(below) = file.path.below(path) else { continue };
        let names: Vec<&str> = below.split('/').collect();
        if names.iter().any(|name| name.starts_with('.') || *name == "node_modules") {
            continue;
        }
        total += file.text.len();
        for level in 1..=names.len().min(LISTED_LEVELS) {
            let entry = sizes.entry(names[..level].to_vec()).or_insert((0, level < names.len()));
            entry.0 += file.text.len();
        }
    }
    let mut lines = vec![
        format!("Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"),
        format!("{}\t{path}", format_size(total)),
    ];
    lines.extend(sizes.iter().map(|(names, (bytes, is_folder))| {
        let slash = if *is_folder { "/" } else { "" };
        format!("{}\t{path}/{}{slash}", format_size(*bytes), names.join("/"))
    }));
    lines.join("\n")
}

/// Formats a number of bytes as Anthropic's backend does: `0B`, `12B`, `1.5K`, `2M`.
fn format_size(bytes: usize) -> String {
    let units = ["B", "K", "M", "G"];
    let mut unit = 0;
    let mut divisor = 1;
    while unit + 1 < units.len() && bytes / divisor >= 1024 {
        divisor *= 1024;
        unit += 1;
    }
    if bytes.is_multiple_of(divisor) {
        return format!("{}{}", bytes / divisor, units[unit]);
    }
    let tenths = (bytes * 10 + divisor / 2) / divisor;
    format!("{}.{}{}", tenths / 10, tenths % 10, units[unit])
}

/// Returns the lines of a text with their numbers. `first` is the number of the first one.
pub(crate) fn number_lines(lines: &[&str], first: usize) -> String {
    let line = |(number, line): (usize, &&str)| format!("{number:>LINE_NUMBER_WIDTH$}\t{line}");
    (first..).zip(lines).map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_one_digit_after_the_point() {
        for (bytes, expected) in [
            (0, "0B"),
            (12, "12B"),
            (1023, "1023B"),
            (1024, "1K"),
            (1536, "1.5K"),
            (3 << 20, "3M"),
            (1_100_000, "1.0M"),
        ] {
            assert_eq!(format_size(bytes), expected);
        }
    }

    #[test]
    fn line_numbers_are_right_aligned() {
        assert_eq!(number_lines(&["a", ""], 9), "     9\ta\n    10\t");
    }
}
