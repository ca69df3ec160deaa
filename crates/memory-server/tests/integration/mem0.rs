//! mem0's routes, as its clients send and read them.

mod fixtures;

mod access;
mod extraction;
mod faults;
mod filtering;
mod open_source;
mod platform;
