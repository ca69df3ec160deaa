//! Arguments that several commands share.

use anyhow::{Context, Result, bail};
use clap::Args;
use jiff::tz::TimeZone;
use memory_engine::{Builder, Database, ErrorKind, MemoryEngine, Scope, admin::Mismatch, screening::ScreeningPolicy};
use memory_engine_server::local_zone;

use crate::{
    database::{self, DatabaseArg},
    embedder::EmbedderArgs,
    engine_options::EngineOptions,
    reranker::RerankerChoice,
    settings::Settings,
};

/// The variable with the screening policy.
const SCREENING_VARIABLE: &str = "MEMORY_SCREENING";

/// The database and the models that a command uses.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// Database: a SQLite file, postgres://USER:PASSWORD@HOST:PORT/DATABASE, or `postgres` for the address in the
    /// variable DATABASE_URL (from the environment or .env)
    #[arg(long, env = "MEMORY_DB", hide_env_values = true, default_value = "memory.db", value_name = "FILE|URL")]
    pub(crate) db: DatabaseArg,
    #[command(flatten)]
    pub(crate) embedder: EmbedderArgs,
    /// Reranker of the best candidates: none, or a service (siliconflow, jina, cohere, voyage, tei, vllm), optionally
    /// with :MODEL; its key is read from the environment or .env, for example from JINA_API_KEY
    #[arg(long, env = "MEMORY_RERANKER", default_value = "none", value_name = "NAME")]
    pub(crate) reranker: RerankerChoice,
    /// Action for secrets and personal data before they are stored: `off`, or CATEGORY=ACTION with commas in between.
    /// Categories: key, password, private_key, connection_string, card, bank_account, identity, email, phone. Actions:
    /// store, mask, refuse. Default: the first four are masked [env: MEMORY_SCREENING]
    #[arg(long, value_name = "POLICY")]
    pub(crate) screening: Option<ScreeningPolicy>,
}

impl StoreArgs {
    /// Returns the database.
    pub(crate) fn database(&self) -> Result<Database> {
        self.db.database()
    }

    /// Creates arguments without a reranker.
    pub(crate) fn new(db: DatabaseArg, embedder: EmbedderArgs) -> Self {
        Self { db, embedder, reranker: RerankerChoice::None, screening: None }
    }

    /// Returns the screening policy of the flag, of the engine's options, or of the environment and `.env`, in this
    /// order.
    pub(crate) fn policy(&self, option: Option<ScreeningPolicy>) -> Result<ScreeningPolicy> {
        match self.screening.clone().or(option) {
            Some(policy) => Ok(policy),
            None => match Settings::load()?.get(SCREENING_VARIABLE) {
                Some(text) => text.parse().context(SCREENING_VARIABLE),
                None => Ok(ScreeningPolicy::default()),
            },
        }
    }

    async fn builder(&self, database: &Database) -> Result<Builder> {
        let builder = MemoryEngine::builder().database(database.clone());
        let builder = self.embedder.configure(builder).await?;
        self.reranker.configure(builder)
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

    /// As [`create`](Self::create), with enrichment of turns.
    pub(crate) async fn create_with(&self, options: EngineOptions) -> Result<MemoryEngine> {
        self.build(options, false).await
    }

    /// As [`create`](Self::create), for a long-running process: background jobs run.
    pub(crate) async fn serve(&self, options: EngineOptions) -> Result<MemoryEngine> {
        self.build(options, true).await
    }

    async fn build(&self, options: EngineOptions, background: bool) -> Result<MemoryEngine> {
        let database = self.database()?;
        let context = || database.to_string();
        let options = EngineOptions { screening: Some(self.policy(options.screening.clone())?), ..options };
        let builder = options.clone().configure(self.builder(&database).await?, &database);
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
            let builder = MemoryEngine::builder().database(database.clone());
            let builder = options.clone().configure(embedder.configure(builder).await.ok()?, database);
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

    /// As [`open`](Self::open), with enrichment of turns.
    pub(crate) async fn open_with(&self, options: EngineOptions) -> Result<MemoryEngine> {
        database::require_database(&self.database()?).await?;
        self.create_with(options).await
    }

    /// Opens an existing database for commands that need no index: with any analyzer and embedding space, and without
    /// a model.
    pub(crate) async fn open_without_indexes(&self) -> Result<MemoryEngine> {
        let database = self.database()?;
        database::require_database(&database).await?;
        open_database_without_indexes(&database).await
    }

    /// As [`open_without_indexes`](Self::open_without_indexes); creates a missing database.
    pub(crate) async fn create_without_indexes(&self) -> Result<MemoryEngine> {
        let database = self.database()?;
        match database::require_database(&database).await {
            Ok(()) => open_database_without_indexes(&database).await,
            Err(_) => self.create().await,
        }
    }

    /// Opens an existing database whose indexes may have been built with another analyzer or embedder: terms are
    /// rebuilt, and vectors of this embedder are added next to the old ones.
    pub(crate) async fn open_to_reindex(&self) -> Result<MemoryEngine> {
        let database = self.database()?;
        database::require_database(&database).await?;
        let builder = self.builder(&database).await?.on_mismatch(Mismatch::Refill).background(false);
        builder.build().await.with_context(|| database.to_string())
    }
}

/// Opens an existing database for commands that need no index.
pub(crate) async fn open_database_without_indexes(database: &Database) -> Result<MemoryEngine> {
    let builder = MemoryEngine::builder().database(database.clone()).on_mismatch(Mismatch::Leave).background(false);
    builder.build().await.with_context(|| database.to_string())
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
    /// Time zone of dates and of times without a zone, such as Asia/Shanghai, +08:00 or UTC; default: that of this
    /// machine
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true, value_parser = zone)]
    timezone: Option<TimeZone>,
}

impl ZoneArgs {
    /// Returns the zone that is set, or that of this machine; UTC if that is unknown.
    pub(crate) fn zone(&self) -> TimeZone {
        self.timezone.clone().unwrap_or_else(local_zone)
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
