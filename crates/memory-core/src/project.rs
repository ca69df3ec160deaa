//! The entries of projects in a ledger: their shown names, and which of them were merged.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    error::Result,
    id::RecordId,
    record::{Kind, Record, Trust},
    scope::Scope,
    time::Clock,
};

/// The metadata key of the entry.
const ENTRY: &str = "project";

/// The shown name and the members of a project of a user. A project without an entry has the name of its scope and no
/// members.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProjectEntry {
    /// The name of the project in its scope.
    pub project: String,
    /// The name that is shown. `None`: that of the scope.
    pub shown_name: Option<String>,
    /// The project into which this one was merged.
    pub merged_into: Option<String>,
    /// The projects that were merged into this one.
    pub members: Vec<String>,
}

impl ProjectEntry {
    /// The ledger of the entries.
    pub const LEDGER: &'static str = "project";

    /// Returns the entry of a project that has none yet.
    #[must_use]
    pub fn new(project: &str) -> Self {
        Self { project: project.to_owned(), ..Self::default() }
    }

    /// Returns the id of the record of a project's entry.
    #[must_use]
    pub fn id(user: &Scope, project: &str) -> RecordId {
        RecordId::named(&user.namespace(), &format!("project/{project}"))
    }

    /// Returns the entry in a record; `None` for another record.
    #[must_use]
    pub fn of(record: &Record) -> Option<Self> {
        serde_json::from_value(record.metadata.get(ENTRY)?.clone()).ok()
    }

    /// Returns the record of this entry, at the address of the user.
    ///
    /// # Errors
    /// `InvalidInput` if the name of the project is too long.
    pub fn to_record(&self, user: &Scope, clock: &dyn Clock) -> Result<Record> {
        let address = user.namespace();
        address.clone().with_project(&self.project)?;
        let id = Self::id(&address, &self.project);
        let mut record = Record::new(address, Kind::ledger(Self::LEDGER), "a project", clock);
        record.id = id;
        record.trust = Trust::Tool;
        record.metadata.insert(ENTRY.into(), json!(self));
        Ok(record)
    }

    /// Returns the agents whose memories belong to the project: its own, and those of its members.
    pub fn agents(&self) -> impl Iterator<Item = String> {
        let names = std::iter::once(&self.project).chain(&self.members);
        names.map(|name| format!("{}{name}", Scope::PROJECT_PREFIX))
    }
}
