//! One file for each command.

pub(crate) mod add;
pub(crate) mod context;
pub(crate) mod copy;
pub(crate) mod demo;
pub(crate) mod digest;
pub(crate) mod doctor;
pub(crate) mod eval;
pub(crate) mod export;
pub(crate) mod facts;
pub(crate) mod forget;
pub(crate) mod fork;
pub(crate) mod graph;
pub(crate) mod import;
pub(crate) mod migrate;
pub(crate) mod models;
pub(crate) mod reindex;
pub(crate) mod restore;
pub(crate) mod retract;
pub(crate) mod retractions;
pub(crate) mod rewind;
pub(crate) mod search;
pub(crate) mod show;
pub(crate) mod stats;
pub(crate) mod summarize;
pub(crate) mod synonyms;
