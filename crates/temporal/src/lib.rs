#![doc = include_str!("../README.md")]

mod anchor;
mod calendar;
mod chinese;
mod english;
mod english_words;
mod holidays;
mod numbers;
mod scan;
mod window;

pub use anchor::{Anchor, anchored, anchors};
pub use window::{Exactness, Window, windows};
