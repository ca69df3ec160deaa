#![doc = include_str!("../README.md")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "this is test code: a failed expectation is a panic")]

mod arbitrary;
mod cases;
mod catalogue;
mod given;
mod hits;
pub mod scenarios;
mod twin;
mod world;

pub use catalogue::{SCENARIOS, Scenario};
pub use world::{IntoWorld, Skip, World, clock, enter, space};
