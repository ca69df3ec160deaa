//! Arguments that several commands share.

use anyhow::{Context, Result, bail};
use clap::Args;
use jiff::tz::TimeZone;
use memory_engine::{Builder, Database, ErrorKind, Field, Filter, MemoryEngine, Mismatch, Record, ScanQuery, Scope};

use crate::{
    embedder::EmbedderArgs,
    place::{self, Place},
    reranker::Judge,
    work::Work,
};

/// Where the memory is.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// The database: a SQLite file, postgres://USER:PASSWORD@HOST:PORT/DATABASE, or the word `postgres` for the address in
    /// DATABASE_URL (from the environment or from .env)
    #[arg(long, env = "MEMORY_DB", hide_env_values = true, default_value = "memory.db", value_name = "FILE|URL")]
    pub(crate) db: Place,
    #[command(flatten)]
    pub(crate) embedder: EmbedderArgs,
    /// What judges the best candidates once more: auto (the local model, where it embeds), none, local, or a service
    /// (siliconflow, jina, cohere, voyage, tei, vllm) with :MODEL if need be; its key is in JINA_API_KEY and the like
    #[arg(long, env = "MEMORY_RERANKER", default_value = "auto", value_name = "NAME")]
    pub(crate) reranker: Judge,
}

impl StoreArgs {
    /// The database that is meant.
    pub(crate) fn database(&self) -> Result<Database> {
        self.db.database()
    }

    /// A database with an embedder, and the reranker that goes with it.
    pub(crate) fn new(db: Place, embedder: EmbedderArgs) -> Self {
        Self { db, embedder, reranker: Judge::Auto }
    }

    async fn builder(&self, database: &Database) -> Result<Builder> {
        let builder = MemoryEngine::builder().database(database.clone());
        let builder = self.embedder.equip(builder, &self.reranker).await?;
        self.reranker.equip(builder, &self.embedder).await
    }

    /// Opens the memory, making it when it is not there.
    ///
    /// A store that was made with the hash embedder goes on with it unless another one is asked for by name: that a model
    /// has come to the machine meanwhile must not make a memory unreadable.
    ///
    /// Nothing is indexed in the background: a command that ends would leave half a batch claimed. Those that write wait
    /// until all is indexed.
    pub(crate) async fn create(&self) -> Result<MemoryEngine> {
        self.create_with(Work::default()).await
    }

    /// The same, with what is to be made of turns.
    pub(crate) async fn create_with(&self, work: Work) -> Result<MemoryEngine> {
        self.build(work, false).await
    }

    /// The same, for a process that stays: the background does what waits.
    pub(crate) async fn serve(&self, work: Work) -> Result<MemoryEngine> {
        self.build(work, true).await
    }

    async fn build(&self, work: Work, background: bool) -> Result<MemoryEngine> {
        let database = self.database()?;
        let place = || database.to_string();
        match work.clone().equip(self.builder(&database).await?).background(background).build().await {
            Err(e) if e.kind() == ErrorKind::SchemaMismatch && self.embedder.may_choose() => {
                let hash = work.equip(MemoryEngine::builder().database(database.clone()));
                let hash = hash.background(background).build().await;
                // When that does not fit either, the first reason is the one to tell.
                hash.map_err(|_| e).with_context(place)
            }
            built => built.with_context(place),
        }
    }

    /// Opens a memory that is there.
    pub(crate) async fn open(&self) -> Result<MemoryEngine> {
        self.open_with(Work::default()).await
    }

    /// The same, with what is to be made of turns.
    pub(crate) async fn open_with(&self, work: Work) -> Result<MemoryEngine> {
        place::must_exist(&self.database()?).await?;
        self.create_with(work).await
    }

    /// Opens a memory that is there for what needs no index: whatever its indexes were made by, and without a model.
    pub(crate) async fn open_as_it_is(&self) -> Result<MemoryEngine> {
        let database = self.database()?;
        place::must_exist(&database).await?;
        as_it_is(&database).await
    }

    /// The same; where nothing is there, it is made as always.
    pub(crate) async fn create_as_it_is(&self) -> Result<MemoryEngine> {
        let database = self.database()?;
        match place::must_exist(&database).await {
            Ok(()) => as_it_is(&database).await,
            Err(_) => self.create().await,
        }
    }

    /// Opens a memory that is there and whose indexes may have been made otherwise: terms are made anew, and vectors of this
    /// embedder beside the old ones.
    pub(crate) async fn open_to_refill(&self) -> Result<MemoryEngine> {
        let database = self.database()?;
        place::must_exist(&database).await?;
        let builder = self.builder(&database).await?.on_mismatch(Mismatch::Refill).background(false);
        builder.build().await.with_context(|| database.to_string())
    }
}

/// Opens a database for what needs no index.
pub(crate) async fn as_it_is(database: &Database) -> Result<MemoryEngine> {
    let builder = MemoryEngine::builder().database(database.clone()).on_mismatch(Mismatch::Leave).background(false);
    builder.build().await.with_context(|| database.to_string())
}

/// Whose memory it is.
#[derive(Debug, Clone, Args)]
pub(crate) struct ScopeArgs {
    /// The tenant
    #[arg(long, default_value = Scope::DEFAULT_TENANT, value_name = "NAME")]
    pub(crate) tenant: String,
    /// The user
    #[arg(long, short, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// The agent
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// The session
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// The branch of the session
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

    /// The scope of something that belongs to a user.
    pub(crate) fn address(&self) -> Result<Scope> {
        if self.user.is_none() {
            bail!("whose memory is it? Name the user: --user NAME");
        }
        self.scope()
    }

    /// The scope of one conversation.
    pub(crate) fn conversation(&self) -> Result<Scope> {
        let scope = self.address()?;
        if self.session.is_none() {
            bail!("which conversation is it? Name the session: --session NAME");
        }
        Ok(scope)
    }
}

/// Refuses a scope that has records within it and none at the scope itself: whoever named it has left something out.
pub(crate) async fn must_be_whole(engine: &MemoryEngine, scope: &Scope) -> Result<()> {
    let (mut newest, mut after) = (None, None);
    loop {
        let page = engine.scan(scope, &ScanQuery::newest(MOST_OF_ONE_NAME).with_after(after)).await?;
        if page.records.iter().any(|record| record.scope == *scope) {
            return Ok(());
        }
        newest = newest.or_else(|| page.records.first().map(|record| record.scope.clone()));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let Some(address) = newest else { return Ok(()) };
    bail!("nothing is at {scope} itself; what is within it is at {address}, so name its --agent or --branch");
}

/// The records within a scope that go by this name: by a record's id, or by the id that a message had in its file.
pub(crate) async fn named(engine: &MemoryEngine, scope: &Scope, name: &str) -> Result<Vec<Record>> {
    if let Ok(id) = name.parse() {
        return Ok(engine.get(scope, id).await?.into_iter().collect());
    }
    let by_message = ScanQuery::oldest(MOST_OF_ONE_NAME).with_filter(Filter::eq(Field::MessageId, name));
    Ok(engine.scan(scope, &by_message).await?.records)
}

/// How many conversations may use one message id before the rest is passed over; a page of a scan.
const MOST_OF_ONE_NAME: usize = 1000;

/// A zone by name (`Asia/Shanghai`), by offset (`+08:00`, `+8`) or `UTC`.
pub(crate) fn zone(text: &str) -> Result<TimeZone> {
    Ok(memory_engine_server::zone(text)?)
}
