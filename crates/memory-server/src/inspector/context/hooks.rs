//! The previews of the hooks of coding agents.
//!
//! A running handler also leaves out memories that its earlier answers have added to a session. It keeps them in
//! memory, so a preview has no access to them.

use memory_engine::Scope;
use memory_engine_agent_hooks::AgentHooks;

use super::{Preview, format::ContextPreview};
use crate::{access::Owner, fault::Fault};

/// The session of a prompt whose session is not named. It has no turns.
const NEW_SESSION: &str = "preview of a new session";

impl Preview<'_> {
    /// Returns what the hook of a prompt would answer.
    pub(super) async fn hook(&self) -> Result<ContextPreview, Fault> {
        if !self.request.earlier.is_empty() {
            let message = "the hooks read the conversation from the stored turns; name a conversation with \
                           session_id in the URL, and leave earlier out";
            return Err(Fault::bad_request(message));
        }
        let hooks = self.hooks()?;
        let user = self.hook_user()?;
        let session = self.scope.session().unwrap_or(NEW_SESSION);
        let preview = hooks.preview_prompt(&user, session, &self.request.message).await?;
        let mut shown = self.of_hooks(&user);
        shown.session_id = self.scope.session().map(str::to_owned);
        shown.settings.insert("deadline_ms".into(), self.state.config.hooks.deadline_ms.into());
        let Some(preview) = preview else { return Ok(shown) };
        shown.scene = Some(preview.scene.to_owned());
        shown.round = Some(preview.round.into());
        Ok(shown.with_injection(preview.injection))
    }

    /// Returns what the hook of a starting session would answer.
    pub(super) async fn session_start(&self) -> Result<ContextPreview, Fault> {
        let limit = self.state.config.hooks.opening_tokens;
        let user = self.hook_user()?;
        let opening = self.hooks()?.preview_opening(&user).await?;
        let mut shown = self.of_hooks(&user);
        shown.settings.insert("opening_tokens".into(), limit.into());
        let shown = shown.with_layers(opening.text, opening.tokens, limit, opening.layers);
        Ok(shown.with_records(&self.state.engine, &user).await?)
    }

    fn hooks(&self) -> Result<AgentHooks, Fault> {
        Ok(AgentHooks::new(self.state.engine.clone()).with_options(self.state.config.hooks.options()?))
    }

    /// Returns the scope of a hook: that of the user, or of the configured user if the URL names none.
    fn hook_user(&self) -> Result<Scope, Fault> {
        let default_user = self.access.is_for_all_users().then(|| self.state.config.user.clone());
        let user = self.owner().user.or(default_user);
        Ok(self.access.scope(&Owner { user, ..Owner::default() })?)
    }

    fn of_hooks(&self, user: &Scope) -> ContextPreview {
        ContextPreview {
            served: self.state.config.hooks.enabled,
            user_id: user.user_name().map(str::to_owned),
            ..ContextPreview::default()
        }
    }
}
