//! mem0's REST routes: those of its open-source server, and those of its platform for new and old clients.

mod add;
mod api;
mod batch;
mod condition;
mod entities;
mod error;
mod event;
mod filters;
mod history;
mod listing;
mod memory;
mod messages;
mod metadata;
mod off_the_record;
mod oss;
mod owner;
mod page;
mod params;
mod platform;
mod responses;
mod row;
mod search;
mod selection;
mod service;
mod time;

pub(crate) use api::build;
pub use service::Mem0;
