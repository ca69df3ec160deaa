//! The projects of a user.

use std::collections::BTreeMap;

use memory_engine::{
    Error, ErrorKind, Forget, ForgetReport, MemoryEngine, PutMode, Result, Scope, Timestamp, store::ProjectEntry,
};
use serde::Serialize;

/// Lists, renames, merges and deletes the projects of a user.
#[derive(Debug, Clone)]
pub struct Projects {
    engine: MemoryEngine,
    user: Scope,
}

/// A project of a user.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Project {
    /// The name in scopes: the agent is `project:` and this name.
    pub id: String,
    /// The name that is shown.
    pub name: String,
    /// The projects that were merged into it.
    pub members: Vec<String>,
    /// Number of its records, with those of its members.
    pub records: u64,
    /// The time of its latest record.
    pub latest: Option<Timestamp>,
}

impl Projects {
    /// Returns the projects of a user.
    pub fn new(engine: MemoryEngine, user: &Scope) -> Self {
        Self { engine, user: user.namespace() }
    }

    /// Returns the projects with records, the latest used first.
    ///
    /// # Errors
    /// The store's.
    pub async fn list(&self) -> Result<Vec<Project>> {
        let mut projects: BTreeMap<String, Project> = BTreeMap::new();
        // A project has a group for each session and kind, and its entry is read once.
        let mut entries: BTreeMap<String, ProjectEntry> = BTreeMap::new();
        for group in self.engine.admin().record_groups(&self.user).await? {
            let Some(id) = group.scope.project().filter(|_| !group.kind.is_ledger()) else { continue };
            let entry = match entries.get(id) {
                Some(entry) => entry.clone(),
                None => self.canonical(id).await?,
            };
            entries.insert(id.to_owned(), entry.clone());
            let project = projects.entry(entry.project.clone()).or_insert_with(|| Project {
                name: entry.shown_name.unwrap_or_else(|| entry.project.clone()),
                id: entry.project,
                members: entry.members,
                records: 0,
                latest: None,
            });
            project.records += group.records;
            project.latest = project.latest.max(Some(group.newest));
        }
        let mut projects: Vec<Project> = projects.into_values().collect();
        projects.sort_by_key(|project| std::cmp::Reverse(project.latest));
        Ok(projects)
    }

    /// Returns the entry of the project that holds the memories of a project: itself, or the one into which it was
    /// merged.
    ///
    /// # Errors
    /// The store's.
    pub async fn canonical(&self, project: &str) -> Result<ProjectEntry> {
        let entry = self.entry(project).await?;
        match &entry.merged_into {
            Some(other) => self.entry(other).await,
            None => Ok(entry),
        }
    }

    /// Returns the project with this id or shown name.
    ///
    /// # Errors
    /// `NotFound` if there is none, and `InvalidInput` if several have the name; the message lists the ids.
    pub async fn find(&self, name: &str) -> Result<Project> {
        let mut projects = self.list().await?;
        let ids: Vec<&str> = projects.iter().map(|project| project.id.as_str()).collect();
        let ids = if ids.is_empty() { "this user has none".to_owned() } else { ids.join(", ") };
        projects
            .retain(|project| project.id == name || project.name == name || project.members.iter().any(|m| m == name));
        if projects.len() > 1 {
            let message = format!("several projects are called {name}; use an id: {ids}");
            return Err(Error::invalid("projects", message));
        }
        let missing =
            || Error::new(ErrorKind::NotFound, "projects", format!("there is no project {name}; use one of: {ids}"));
        projects.pop().ok_or_else(missing)
    }

    /// Gives a project another name to show.
    ///
    /// # Errors
    /// As [`find`](Self::find); `InvalidInput` for an empty name; the store's.
    pub async fn rename(&self, project: &str, name: &str) -> Result<Project> {
        let name = crate::project::clean_name(name);
        if name.is_empty() {
            return Err(Error::invalid("projects", "the new name is empty; give one with letters or digits"));
        }
        let id = self.find(project).await?.id;
        let mut entry = self.entry(&id).await?;
        entry.shown_name = Some(name);
        self.store(vec![entry]).await?;
        self.find(&id).await
    }

    /// Makes two projects one: from now on, the memories of `from` are those of `into`, and its folder is a part of it.
    /// No record is changed.
    ///
    /// # Errors
    /// As [`find`](Self::find); `InvalidInput` for the same project twice; the store's.
    pub async fn merge(&self, from: &str, into: &str) -> Result<Project> {
        let (from, into) = (self.find(from).await?, self.find(into).await?);
        if from.id == into.id {
            return Err(Error::invalid("projects", format!("{} is merged with itself; name two projects", from.id)));
        }
        let mut target = self.entry(&into.id).await?;
        let mut merged = Vec::new();
        for id in from.members.iter().chain([&from.id]) {
            let mut entry = self.entry(id).await?;
            entry.merged_into = Some(into.id.clone());
            entry.members.clear();
            merged.push(entry);
            target.members.push(id.clone());
        }
        merged.push(target);
        self.store(merged).await?;
        self.find(&into.id).await
    }

    /// Deletes the memories of a project for good, with those of its members. The user's own memories stay.
    ///
    /// # Errors
    /// As [`find`](Self::find); the store's.
    pub async fn forget(&self, project: &str) -> Result<Vec<ForgetReport>> {
        let project = self.find(project).await?;
        let mut reports = Vec::new();
        for id in project.members.iter().chain([&project.id]) {
            let scope = self.user.clone().with_project(id)?;
            reports.push(self.engine.forget(&scope, Forget::Everything).await?);
        }
        Ok(reports)
    }

    async fn entry(&self, project: &str) -> Result<ProjectEntry> {
        let record = self.engine.get(&self.user, ProjectEntry::id(&self.user, project)).await?;
        Ok(record.as_ref().and_then(ProjectEntry::of).unwrap_or_else(|| ProjectEntry::new(project)))
    }

    async fn store(&self, entries: Vec<ProjectEntry>) -> Result<()> {
        let clock = self.engine.settings().clock();
        let records = entries.iter().map(|entry| entry.to_record(&self.user, clock)).collect::<Result<_>>()?;
        self.engine.store(&self.user, records, PutMode::Upsert).await.map(drop)
    }
}
