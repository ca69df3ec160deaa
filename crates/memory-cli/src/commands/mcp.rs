//! `memory mcp`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use memory_engine_server::{Access, Owner};

use crate::{
    args::{ScopeArgs, StoreArgs, ZoneArgs},
    engine_options::{EngineOptions, EnrichmentArgs},
    reranker::RerankerArgs,
    server,
};

/// Serve the memory as MCP tools over standard input and output.
///
/// A host on this machine starts and stops this command. With --user only that user can be accessed, otherwise all
/// users of the
/// tenant; a tool call without a user then accesses the user `default`.
#[derive(Debug, Args)]
pub(crate) struct McpCommand {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    reranker: RerankerArgs,
    #[command(flatten)]
    enrichment: EnrichmentArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    timezone: ZoneArgs,
}

impl McpCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let ScopeArgs { tenant, user, agent, session, branch } = self.scope;
        let mut access = Access::tenant("stdio", tenant)?;
        if let Some(user) = &user {
            access = access.only_users([user])?;
        }
        let owner = Owner { user: Some(user.unwrap_or_else(|| "default".into())), agent, session, branch };
        let options = EngineOptions { reranker: self.reranker.reranker, ..self.enrichment.engine_options()? };
        let options = options.with_locale(self.timezone.zone(), None);
        let engine = self.store.serve(options).await?;
        server::load_dictionaries(&engine);
        let tools = memory_engine_server::Mcp::new(engine).with_owner(owner);
        tools.stdio(access).await?;
        Ok(ExitCode::SUCCESS)
    }
}
