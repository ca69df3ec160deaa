#![doc = include_str!("../README.md")]

mod error;
mod fields;
pub mod messages;
mod reply;
pub mod responses;
mod steps;

pub use error::DialectError;
