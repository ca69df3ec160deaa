#![doc = include_str!("../README.md")]

mod anchor;
mod calendar;
mod characters;
mod chinese;
mod date_starts;
mod english;
mod find;
mod holidays;
mod numbers;
mod reading;
mod scan;
mod units;
mod window;

pub use anchor::anchored;
pub use find::windows;
pub use window::{Exactness, TimeWindow};

#[cfg(test)]
mod tests;
