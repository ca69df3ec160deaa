//! Logs changes of records before they are made.

mod auditor;
mod events;
mod record_store;

pub use auditor::Auditor;
pub(crate) use record_store::AuditedRecordStore;
