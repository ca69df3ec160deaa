//! Writes the memory into the configuration of agents.

mod agent;
mod change;
mod files;
mod json_edit;
mod marked_block;
mod places;
mod setup;

pub(crate) use agent::InstallAgent;
pub(crate) use files::Outcome;
pub(crate) use places::Places;
pub(crate) use setup::{Connection, Part, Setup};
