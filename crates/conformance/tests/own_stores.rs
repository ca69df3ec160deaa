//! The suite on the stores of the example: what a program of one's own plugs in keeps the contracts, too.
#![allow(clippy::unwrap_used, clippy::panic, reason = "this is test code: a failed expectation is a panic")]

#[path = "../examples/own_stores.rs"]
mod own_stores;

memory_engine_conformance::suite!(block_on = futures::executor::block_on, world = own_stores::world);
