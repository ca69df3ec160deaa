//! Cells of Markdown tables.

use std::ops::Range;

use memory_engine_text::SharedRegex;

/// Returns the cells that a label names: those below it if it stands in the header of a table, and the one to its right
/// if it stands in another row. A cell has no spaces.
pub(crate) fn labelled_cells(label: &SharedRegex, text: &str) -> Vec<Range<usize>> {
    let mut cells = Vec::new();
    let mut columns = Vec::new();
    let mut previous_row: Vec<Range<usize>> = Vec::new();
    let mut line_start = 0;
    for line in text.split_inclusive('\n') {
        let row = cells_of(line, line_start);
        line_start += line.len();
        let is_label = |cell: &&Range<usize>| label.is_match(&text[(*cell).clone()]);
        if row.is_empty() {
            columns.clear();
        } else if row.iter().all(|cell| is_delimiter(&text[cell.clone()])) {
            columns = (0..previous_row.len())
                .filter(|index| previous_row.get(*index).as_ref().is_some_and(is_label))
                .collect();
        } else {
            cells.extend(columns.iter().filter_map(|index| row.get(*index).cloned()));
            let pairs = row.windows(2).filter(|pair| is_label(&&pair[0]));
            cells.extend(pairs.map(|pair| pair[1].clone()));
        }
        previous_row = row;
    }
    cells.retain(|cell| !text[cell.clone()].contains(char::is_whitespace));
    cells
}

/// Returns the cells of a row without the blanks and marks around their contents.
fn cells_of(line: &str, line_start: usize) -> Vec<Range<usize>> {
    let Some(row) = line.trim().strip_prefix('|') else { return Vec::new() };
    let mut start = line_start + (line.len() - line.trim_start().len()) + 1;
    let mut cells = Vec::new();
    for cell in row.strip_suffix('|').unwrap_or(row).split('|') {
        let is_margin = |c: char| c.is_whitespace() || matches!(c, '`' | '*' | '"');
        let contents = cell.trim_matches(is_margin);
        let margin = cell.len() - cell.trim_start_matches(is_margin).len();
        cells.push(start + margin..start + margin + contents.len());
        start += cell.len() + 1;
    }
    cells
}

fn is_delimiter(cell: &str) -> bool {
    cell.contains('-') && cell.chars().all(|c| matches!(c, '-' | ':'))
}
