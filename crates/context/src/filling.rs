//! Fills one layer: chooses the items that fit its budget, and writes them.

use std::cmp::Ordering;

use crate::{
    built::{LeftOut, LeftOutReason},
    layer::{Layer, Overflow},
    line::sentence_end,
    tokens::TokenCounter,
};

/// A layer with the items that fit.
#[derive(Debug, Default)]
pub(crate) struct FilledLayer {
    /// The text; empty if no item fits.
    pub(crate) section: String,
    /// The sum of the tokens of heading, items and separators.
    pub(crate) tokens: usize,
    /// The indexes of the items in the text, ascending.
    pub(crate) taken: Vec<usize>,
    pub(crate) left_out: Vec<LeftOut>,
    /// True if the last item is cut.
    pub(crate) cut: bool,
}

impl FilledLayer {
    /// Fills a layer with at most `max_tokens` tokens, or with all its items if it is never cut. `full_reason` is the
    /// reason why items are left out: the layer is full, or the whole context.
    pub(crate) fn new(
        layer: &Layer,
        max_tokens: usize,
        full_reason: LeftOutReason,
        counter: &dyn TokenCounter,
    ) -> Self {
        let heading_tokens = counter.count(&layer.heading);
        let heading_fits = heading_tokens <= max_tokens || layer.overflow == Overflow::NeverCut;
        if layer.items.is_empty() || !heading_fits {
            return Self::empty(layer, full_reason);
        }
        let mut filling = LayerFilling {
            layer,
            counter,
            full_reason,
            items_budget: max_tokens.saturating_sub(heading_tokens),
            separator_tokens: counter.count(&layer.separator),
            filled: Self { tokens: heading_tokens, ..Self::default() },
        };
        let items = &layer.items;
        match layer.overflow {
            Overflow::NeverCut => filling.take_all(),
            Overflow::DropOldest => {
                filling.take_in_order(|a, b| items[b].time.cmp(&items[a].time).then(b.cmp(&a)));
            }
            Overflow::DropLowestScore => {
                filling.take_in_order(|a, b| items[b].score.total_cmp(&items[a].score).then(a.cmp(&b)));
            }
            Overflow::TruncateAtSentence => filling.take_until_cut(),
        }
        filling.filled.with_section(layer)
    }

    /// Returns the layer without any of its items.
    pub(crate) fn empty(layer: &Layer, reason: LeftOutReason) -> Self {
        let left_out = layer.items.iter().zip(0..).map(|(item, index)| LeftOut { place: index, id: item.id, reason });
        Self { left_out: left_out.collect(), ..Self::default() }
    }

    /// Writes heading and items. Without an item, the heading is left out too.
    fn with_section(mut self, layer: &Layer) -> Self {
        if self.taken.is_empty() {
            self.tokens = 0;
            self.section = String::new();
            return self;
        }
        // `take_until_cut` stores the start of the cut item here.
        let cut_item = std::mem::take(&mut self.section);
        self.section.push_str(&layer.heading);
        let last = self.taken.last().copied();
        for (n, &index) in self.taken.iter().enumerate() {
            if n > 0 {
                self.section.push_str(&layer.separator);
            }
            let is_cut = self.cut && Some(index) == last;
            self.section.push_str(if is_cut { &cut_item } else { &layer.items[index].text });
        }
        self
    }
}

/// Maximum number of characters of a token, except for rare ones.
const TOKEN_MAX_CHARS: usize = 24;

/// A layer while its items are chosen.
struct LayerFilling<'l> {
    layer: &'l Layer,
    counter: &'l dyn TokenCounter,
    full_reason: LeftOutReason,
    /// Maximum number of tokens of all items with their separators.
    items_budget: usize,
    separator_tokens: usize,
    filled: FilledLayer,
}

impl LayerFilling<'_> {
    /// Returns the tokens of an item and of the separator before it.
    fn cost(&self, text: &str) -> usize {
        let separator = if self.filled.taken.is_empty() { 0 } else { self.separator_tokens };
        self.counter.count(text) + separator
    }

    fn take(&mut self, index: usize, cost: usize) {
        self.filled.taken.push(index);
        self.filled.tokens += cost;
    }

    fn leave_out(&mut self, index: usize, reason: LeftOutReason) {
        self.filled.left_out.push(LeftOut { place: index, id: self.layer.items[index].id, reason });
    }

    fn take_all(&mut self) {
        for index in 0..self.layer.items.len() {
            let cost = self.cost(&self.layer.items[index].text);
            self.take(index, cost);
        }
    }

    /// Takes items in this order until one does not fit. An item that is larger than the whole budget is skipped, so
    /// that it does not exclude all others. The tokens of items after the first that does not fit are not counted, so
    /// that a long history costs no time.
    fn take_in_order(&mut self, order: impl Fn(usize, usize) -> Ordering) {
        let mut indexes: Vec<usize> = (0..self.layer.items.len()).collect();
        indexes.sort_unstable_by(|&a, &b| order(a, b));
        let mut remaining = self.items_budget;
        let mut is_full = false;
        for index in indexes {
            if is_full {
                self.leave_out(index, self.full_reason);
                continue;
            }
            let cost = self.cost(&self.layer.items[index].text);
            if cost <= remaining {
                remaining -= cost;
                self.take(index, cost);
            } else if cost > self.items_budget {
                self.leave_out(index, LeftOutReason::TooLarge);
            } else {
                is_full = true;
                self.leave_out(index, self.full_reason);
            }
        }
        self.filled.taken.sort_unstable();
        self.filled.left_out.sort_unstable_by_key(|left_out| left_out.place);
    }

    /// Takes items in the order given. The first that does not fit is cut, and all items after it are left out. If not
    /// even the beginning of that item fits, later items are taken as long as they fit whole.
    fn take_until_cut(&mut self) {
        let mut remaining = self.items_budget;
        for index in 0..self.layer.items.len() {
            if self.filled.cut {
                self.leave_out(index, self.full_reason);
                continue;
            }
            let text = &self.layer.items[index].text;
            let cost = self.cost(text);
            if cost <= remaining {
                remaining -= cost;
                self.take(index, cost);
                continue;
            }
            let is_first_left_out = self.filled.left_out.is_empty();
            let cut_text = if is_first_left_out {
                cut_to_tokens(text, remaining.saturating_sub(self.cost("")), self.counter)
            } else {
                String::new()
            };
            if cut_text.is_empty() {
                self.leave_out(index, self.full_reason);
            } else {
                let cost = self.cost(&cut_text);
                self.take(index, cost);
                self.filled.section = cut_text;
                self.filled.cut = true;
            }
        }
    }
}

/// Returns the beginning of a text within `max_tokens` tokens: up to the end of a sentence, or else within one, with an
/// ellipsis. Empty if not even that fits.
fn cut_to_tokens(text: &str, max_tokens: usize, counter: &dyn TokenCounter) -> String {
    let fits = |text: &str| counter.count(text) <= max_tokens;
    // Characters beyond these cannot fit. Only these are counted, even of a text as long as a book.
    let max_chars = max_tokens.saturating_mul(TOKEN_MAX_CHARS).saturating_add(TOKEN_MAX_CHARS);
    let ends: Vec<usize> = text.char_indices().take(max_chars).map(|(offset, c)| offset + c.len_utf8()).collect();
    let fitting_chars = ends.partition_point(|&end| fits(&text[..end]));
    if fitting_chars == 0 {
        return String::new();
    }
    let longest = ends[fitting_chars - 1];
    let mut search_end = longest;
    // If the whole sentences would fill less than a quarter, a part of the next one is more useful.
    while let Some(end) = sentence_end(&text[..search_end]).filter(|end| end * 4 >= longest) {
        let sentences = text[..end].trim_end();
        // The counts of a text's prefixes need not be monotonic, so the result is counted again.
        if !sentences.is_empty() && fits(sentences) {
            return sentences.to_owned();
        }
        search_end = text[..end].char_indices().next_back().map_or(0, |(last, _)| last);
    }
    for &end in ends[..fitting_chars].iter().rev() {
        let cut = format!("{}…", text[..end].trim_end());
        if fits(&cut) {
            return if cut == "…" { String::new() } else { cut };
        }
    }
    String::new()
}
