//! Arguments that several commands share.

use anyhow::{Context, Result, bail};
use clap::Args;
use jiff::tz::TimeZone;
use memory_engine::{Database, ErrorKind, MemoryEngine, Scope, admin::Mismatch};
use memory_engine_server::local_zone;

use crate::{
    database::{self, DatabaseArg},
    embedder::EmbedderArgs,
    engine_options::EngineOptions,
};

/// The database of a command.
#[derive(Debug, Clone, Args)]
pub(crate) struct DatabaseArgs {
    /// Database: a file or an address
    ///
    /// A SQLite file, postgres://USER:PASSWORD@HOST:PORT/DATABASE, or `postgres` for the address in the variable
    /// DATABASE_URL (from the environment or .env).
    #[arg(long, env = "MEMORY_DB", hide_env_values = true, default_value = "memory.db", value_name = "FILE|URL")]
    db: DatabaseArg,
}

impl From<DatabaseArg> for DatabaseArgs {
    fn from(db: DatabaseArg) -> Self {
        Self { db }
    }
}

impl DatabaseArgs {
    /// Returns the database.
    ///
    /// # Errors
    /// As [`DatabaseArg::database`].
    pub(crate) fn database(&self) -> Result<Database> {
        self.db.database()
    }

    /// Opens an existing database for commands that need no index: with any analyzer and embedding space, and without
    /// a model.
    pub(crate) async fn open_without_indexes(&self) -> Result<MemoryEngine> {
        self.open_without_indexes_with(EngineOptions::default()).await
    }

    /// As [`open_without_indexes`](Self::open_without_indexes), with options.
    pub(crate) async fn open_without_indexes_with(&self, options: EngineOptions) -> Result<MemoryEngine> {
        let database = self.database()?;
        database::require_database(&database).await?;
        open_leaving_indexes(&database, options).await
    }
}

/// As [`DatabaseArgs::open_without_indexes`].
pub(crate) async fn open_database_without_indexes(database: &Database) -> Result<MemoryEngine> {
    open_leaving_indexes(database, EngineOptions::default()).await
}

async fn open_leaving_indexes(database: &Database, options: EngineOptions) -> Result<MemoryEngine> {
    let builder = MemoryEngine::builder().on_mismatch(Mismatch::Leave).background(false);
    options.configure(builder, database)?.build().await.with_context(|| database.to_string())
}

/// The database of a command, and the embedder of its vectors.
#[derive(Debug, Clone, Args)]
pub(crate) struct StoreArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
    #[command(flatten)]
    pub(crate) embedder: EmbedderArgs,
}

impl StoreArgs {
    pub(crate) fn new(database: impl Into<DatabaseArgs>, embedder: EmbedderArgs) -> Self {
        Self { database: database.into(), embedder }
    }

    /// Opens the database; creates it if it does not exist.
    ///
    /// A store that was created with a built-in embedder keeps it unless another one is named: a model that was
    /// installed later must not make the store unreadable.
    ///
    /// No background jobs run: a command that ends would leave half a batch claimed. Commands that write wait until
    /// everything is indexed.
    pub(crate) async fn create(&self) -> Result<MemoryEngine> {
        self.create_with(EngineOptions::default()).await
    }

    /// As [`create`](Self::create), with options.
    pub(crate) async fn create_with(&self, options: EngineOptions) -> Result<MemoryEngine> {
        self.build(options, false).await
    }

    /// As [`create`](Self::create), for a long-running process: background jobs run.
    pub(crate) async fn serve(&self, options: EngineOptions) -> Result<MemoryEngine> {
        self.build(options, true).await
    }

    async fn build(&self, options: EngineOptions, background: bool) -> Result<MemoryEngine> {
        let database = self.database.database()?;
        let context = || database.to_string();
        let builder = options.clone().configure(self.embedder.configure(MemoryEngine::builder()).await?, &database)?;
        match builder.background(background).build().await {
            Err(e) if e.kind() == ErrorKind::SchemaMismatch && self.embedder.is_auto() => {
                let engine = Self::open_with_built_in_embedder(options, &database, background).await;
                // If this fails too, the first error is reported.
                engine.ok_or(e).with_context(context)
            }
            result => result.with_context(context),
        }
    }

    /// Opens a store with the built-in embedder that it was made with; `None` if there is none.
    async fn open_with_built_in_embedder(
        options: EngineOptions,
        database: &Database,
        background: bool,
    ) -> Option<MemoryEngine> {
        for embedder in EmbedderArgs::built_in() {
            let builder = embedder.configure(MemoryEngine::builder()).await.ok()?;
            let builder = options.clone().configure(builder, database).ok()?;
            if let Ok(engine) = builder.background(background).build().await {
                return Some(engine);
            }
        }
        None
    }

    /// Opens an existing database.
    pub(crate) async fn open(&self) -> Result<MemoryEngine> {
        self.open_with(EngineOptions::default()).await
    }

    /// As [`open`](Self::open), with options.
    pub(crate) async fn open_with(&self, options: EngineOptions) -> Result<MemoryEngine> {
        database::require_database(&self.database.database()?).await?;
        self.create_with(options).await
    }

    /// Opens an existing database for commands that need no vectors: with its embedder if possible, otherwise as
    /// [`DatabaseArgs::open_without_indexes_with`]. In the latter case new vectors wait for a process with the
    /// embedder.
    pub(crate) async fn open_with_any_embedder(&self, options: EngineOptions) -> Result<MemoryEngine> {
        match self.open_with(options.clone()).await {
            // If this fails too, the first error is reported.
            Err(error) => self.database.open_without_indexes_with(options).await.map_err(|_| error),
            engine => engine,
        }
    }

    /// As [`DatabaseArgs::open_without_indexes_with`]; creates a missing database.
    pub(crate) async fn create_without_indexes(&self, options: EngineOptions) -> Result<MemoryEngine> {
        match database::require_database(&self.database.database()?).await {
            Ok(()) => self.database.open_without_indexes_with(options).await,
            Err(_) => self.create_with(options).await,
        }
    }

    /// Opens an existing database whose indexes may have been built with another analyzer or embedder: terms are
    /// rebuilt, and vectors of this embedder are added next to the old ones.
    pub(crate) async fn open_to_reindex(&self) -> Result<MemoryEngine> {
        let database = self.database.database()?;
        database::require_database(&database).await?;
        let builder = self.embedder.configure(MemoryEngine::builder().database(database.clone())).await?;
        let builder = builder.on_mismatch(Mismatch::Refill).background(false);
        builder.build().await.with_context(|| database.to_string())
    }
}

/// The scope of a command.
#[derive(Debug, Clone, Args)]
pub(crate) struct ScopeArgs {
    /// Name of the tenant
    #[arg(long, default_value = Scope::DEFAULT_TENANT, value_name = "NAME")]
    pub(crate) tenant: String,
    /// Name of the user
    #[arg(long, short, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Name of the agent
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Name of the session
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Name of the branch of the session
    #[arg(long, value_name = "NAME")]
    pub(crate) branch: Option<String>,
}

impl ScopeArgs {
    pub(crate) fn scope(&self) -> Result<Scope> {
        let mut scope = Scope::tenant_wide(&self.tenant)?;
        if let Some(user) = &self.user {
            scope = scope.with_user(user)?;
        }
        if let Some(agent) = &self.agent {
            scope = scope.with_agent(agent)?;
        }
        if let Some(session) = &self.session {
            scope = scope.with_session(session)?;
        }
        if let Some(branch) = &self.branch {
            scope = scope.with_branch(branch)?;
        }
        Ok(scope)
    }

    /// Returns the scope; a user is required.
    pub(crate) fn address(&self) -> Result<Scope> {
        if self.user.is_none() {
            bail!("no user given; add --user NAME");
        }
        self.scope()
    }

    /// Returns the scope; a user and a session are required.
    pub(crate) fn conversation(&self) -> Result<Scope> {
        let scope = self.address()?;
        if self.session.is_none() {
            bail!("no session given; add --session NAME");
        }
        Ok(scope)
    }
}

/// The time zone of a command.
#[derive(Debug, Clone, Args)]
pub(crate) struct ZoneArgs {
    /// Time zone, such as Asia/Shanghai; default: that of this machine
    ///
    /// The zone of printed dates, and of times without a zone. A name, an offset such as +08:00, or UTC.
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true, value_parser = zone)]
    timezone: Option<TimeZone>,
}

impl ZoneArgs {
    /// Returns the zone that is set, or that of this machine; UTC if that is unknown.
    pub(crate) fn zone(&self) -> TimeZone {
        self.timezone.clone().unwrap_or_else(local_zone)
    }

    /// Returns the zone that is set.
    pub(crate) fn named(&self) -> Option<TimeZone> {
        self.timezone.clone()
    }

    /// Returns the zone that is set, or else `default`.
    pub(crate) fn zone_or(&self, default: &TimeZone) -> TimeZone {
        self.timezone.as_ref().unwrap_or(default).clone()
    }
}

/// Parses a zone: a name (`Asia/Shanghai`), an offset (`+08:00`, `+8`) or `UTC`.
pub(crate) fn zone(text: &str) -> Result<TimeZone> {
    Ok(memory_engine_server::zone(text)?)
}
