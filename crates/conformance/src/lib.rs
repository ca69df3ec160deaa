#![doc = include_str!("../README.md")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "this is test code: a failed expectation is a panic")]

mod arbitrary;
mod cases;
mod catalogue;
mod given;
mod hits;
mod runner;
pub mod scenarios;
mod twin;
mod world;

pub use catalogue::{SCENARIOS, Scenario};
pub use runner::run;
pub use world::{Capability, IntoWorld, Skip, World, clock, space};
