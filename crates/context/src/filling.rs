//! Which items of a layer fit.

use std::cmp::Ordering;

use crate::{
    built::{LeftOut, LeftOutReason},
    layer::{Layer, Overflow},
    line::sentence_end,
    tokens::TokenCounter,
};

/// A layer as it goes into the context.
#[derive(Debug, Default)]
pub(crate) struct Filled {
    /// What is written; empty when nothing is.
    pub(crate) section: String,
    /// How many tokens its parts have together.
    pub(crate) tokens: usize,
    /// The places of the items that are there, ascending.
    pub(crate) taken: Vec<usize>,
    /// Those that are not.
    pub(crate) left_out: Vec<LeftOut>,
    /// Whether the last item is cut.
    pub(crate) cut: bool,
}

impl Filled {
    /// Fills a layer with so many tokens at the most; one that is never cut is filled whatever it takes. `full` says why
    /// items are left out: the layer is full, or the whole context.
    pub(crate) fn of(layer: &Layer, tokens: usize, full: LeftOutReason, counter: &dyn TokenCounter) -> Self {
        let heading = counter.count(&layer.heading);
        if layer.items.is_empty() || (heading > tokens && layer.overflow != Overflow::NeverCut) {
            return Self::nothing_of(layer, full);
        }
        let mut filling = Filling {
            layer,
            counter,
            full,
            all: tokens.saturating_sub(heading),
            separator: counter.count(&layer.separator),
            filled: Self { tokens: heading, ..Self::default() },
        };
        match layer.overflow {
            Overflow::NeverCut => filling.take_all(),
            Overflow::DropOldest => {
                filling.take_first(|a, b| layer.items[b].time.cmp(&layer.items[a].time).then(b.cmp(&a)))
            }
            Overflow::DropLowestScore => {
                filling.take_first(|a, b| layer.items[b].score.total_cmp(&layer.items[a].score).then(a.cmp(&b)));
            }
            Overflow::TruncateAtSentence => filling.take_until_cut(),
        }
        filling.filled.written(layer)
    }

    /// A layer of which nothing is there.
    pub(crate) fn nothing_of(layer: &Layer, reason: LeftOutReason) -> Self {
        let left_out = layer.items.iter().zip(0..).map(|(item, place)| LeftOut { place, id: item.id, reason });
        Self { left_out: left_out.collect(), ..Self::default() }
    }

    /// Writes what was taken; nothing, not even the heading, where there is no item.
    fn written(mut self, layer: &Layer) -> Self {
        if self.taken.is_empty() {
            (self.tokens, self.section) = (0, String::new());
            return self;
        }
        // The beginning of an item that is cut stands there already.
        let cut = std::mem::take(&mut self.section);
        self.section.push_str(&layer.heading);
        let last = self.taken.last().copied();
        for (n, &place) in self.taken.iter().enumerate() {
            self.section.push_str(if n > 0 { &layer.separator } else { "" });
            let whole = !(self.cut && Some(place) == last);
            self.section.push_str(if whole { &layer.items[place].text } else { &cut });
        }
        self
    }
}

/// How many characters a token has at the most, but for rare ones.
const LONGEST: usize = 24;

struct Filling<'l> {
    layer: &'l Layer,
    counter: &'l dyn TokenCounter,
    full: LeftOutReason,
    /// What there is for all items together.
    all: usize,
    separator: usize,
    filled: Filled,
}

impl Filling<'_> {
    /// What an item takes, with what is written before it.
    fn cost(&self, text: &str) -> usize {
        let separator = if self.filled.taken.is_empty() { 0 } else { self.separator };
        self.counter.count(text) + separator
    }

    fn take(&mut self, place: usize, cost: usize) {
        self.filled.taken.push(place);
        self.filled.tokens += cost;
    }

    fn leave(&mut self, place: usize, reason: LeftOutReason) {
        self.filled.left_out.push(LeftOut { place, id: self.layer.items[place].id, reason });
    }

    fn take_all(&mut self) {
        for place in 0..self.layer.items.len() {
            let cost = self.cost(&self.layer.items[place].text);
            self.take(place, cost);
        }
    }

    /// Takes items in this order until one does not fit. What is larger than all there is would keep everything else out:
    /// it is passed over. Nothing is counted behind the last that fits, so that a long history costs no time.
    fn take_first(&mut self, order: impl Fn(usize, usize) -> Ordering) {
        let mut places: Vec<usize> = (0..self.layer.items.len()).collect();
        places.sort_unstable_by(|&a, &b| order(a, b));
        let mut room = self.all;
        let mut full = false;
        for place in places {
            if full {
                self.leave(place, self.full);
                continue;
            }
            let cost = self.cost(&self.layer.items[place].text);
            match room.checked_sub(cost) {
                Some(rest) => {
                    room = rest;
                    self.take(place, cost);
                }
                None if cost > self.all => self.leave(place, LeftOutReason::TooLarge),
                None => {
                    full = true;
                    self.leave(place, self.full);
                }
            }
        }
        self.filled.taken.sort_unstable();
        self.filled.left_out.sort_unstable_by_key(|left| left.place);
    }

    /// Takes items as they come; the one that does not fit is cut, and what comes after it is left out.
    fn take_until_cut(&mut self) {
        let mut room = self.all;
        for place in 0..self.layer.items.len() {
            let text = &self.layer.items[place].text;
            let cost = if self.filled.cut { usize::MAX } else { self.cost(text) };
            if let Some(rest) = room.checked_sub(cost) {
                room = rest;
                self.take(place, cost);
                continue;
            }
            let begun = match self.filled.cut || !self.filled.left_out.is_empty() {
                true => String::new(),
                false => beginning(text, room.saturating_sub(self.cost("")), self.counter),
            };
            if begun.is_empty() {
                self.leave(place, self.full);
            } else {
                let cost = self.cost(&begun);
                self.take(place, cost);
                (self.filled.section, self.filled.cut) = (begun, true);
            }
        }
    }
}

/// The beginning of a text that has so many tokens at the most: up to the end of a sentence, or else within one and marked.
/// Empty where not even that fits.
fn beginning(text: &str, tokens: usize, counter: &dyn TokenCounter) -> String {
    let fits = |text: &str| counter.count(text) <= tokens;
    // No token is so long that more of the text would matter; of a whole book only a page is looked at.
    let most = tokens.saturating_mul(LONGEST).saturating_add(LONGEST);
    let places: Vec<usize> = text.char_indices().take(most).map(|(at, c)| at + c.len_utf8()).collect();
    let most = places.partition_point(|&end| fits(&text[..end]));
    let Some(&end) = most.checked_sub(1).and_then(|last| places.get(last)) else { return String::new() };
    let mut cut = end;
    // A counter need not grow evenly, so that what was found is looked at once more.
    // A sentence that is a small part of what fits says less than the beginning of the long one.
    while let Some(at) = sentence_end(&text[..cut]).filter(|at| at * 4 >= end) {
        let whole = text[..at].trim_end();
        if !whole.is_empty() && fits(whole) {
            return whole.to_owned();
        }
        cut = text[..at].char_indices().next_back().map_or(0, |(last, _)| last);
    }
    for &end in places[..most].iter().rev() {
        let marked = format!("{}…", text[..end].trim_end());
        if fits(&marked) {
            return if marked == "…" { String::new() } else { marked };
        }
    }
    String::new()
}
