//! The memories that the gateway would add to a message, without a chat.

use memory_engine::{MemoryEngine, Role, Scope, context::Injection};
use tokio::time::Instant;

use super::{
    build::configured_options,
    identity::Identity,
    options::GatewayOptions,
    prompter::Prompter,
    replacement::read_turns,
    thread::{ChatMessage, Speaker, Thread},
};
use crate::{
    access::{Access, Owner},
    config::Config,
    fault::Fault,
};

/// A message of the conversation before the one that is previewed.
#[derive(Debug, Clone)]
pub(crate) struct EarlierMessage {
    pub(crate) is_from_user: bool,
    pub(crate) text: String,
}

/// The memories that the gateway would add.
#[derive(Debug)]
pub(crate) struct GatewayPreview {
    /// The scope of the recall.
    pub(crate) scope: Scope,
    /// The session of the conversation, by its name or derived from its first words.
    pub(crate) session: String,
    /// The scene that the gateway detects.
    pub(crate) scene: String,
    /// The number of the message in the conversation, from 1.
    pub(crate) round: u64,
    /// The memories, with a trace; `None` if the memory was not ready in time.
    pub(crate) injection: Option<Injection>,
    /// The stages that failed.
    pub(crate) degraded: Vec<&'static str>,
    pub(crate) options: GatewayOptions,
}

/// Returns the memories that the gateway of this configuration would add to a message of a conversation. Without
/// earlier messages it continues the stored turns of the session, if one is named.
///
/// Nothing is stored, so that no session changes.
///
/// # Errors
/// Those of [`Access::scope`]; `InvalidInput` for rules that are not valid; the error of the store.
pub(crate) async fn preview(
    engine: &MemoryEngine,
    config: &Config,
    access: &Access,
    owner: Owner,
    earlier: &[EarlierMessage],
    message: &str,
) -> Result<GatewayPreview, Fault> {
    let options = configured_options(config, engine)?;
    let default_user = access.is_for_all_users().then(|| options.user.clone());
    let owner = Owner { user: owner.user.or(default_user), branch: None, ..owner };
    let recall_scope = access.scope(&Owner { session: None, ..owner.clone() })?;
    let mut messages: Vec<ChatMessage> = earlier.iter().map(chat_message).collect();
    if let (true, Some(_)) = (messages.is_empty(), &owner.session) {
        // The gateway gets a conversation from its client; a preview may name a stored one instead.
        messages = stored_messages(engine, &access.scope(&owner)?).await?;
    }
    messages.push(ChatMessage::new(Speaker::User, message));
    let thread = Thread::of(&messages);
    let Some(question) = thread.question() else {
        return Err(Fault::bad_request("the message has no text besides injected memories; send a message with words"));
    };
    let is_derived = owner.session.is_none();
    let session = owner.session.clone().unwrap_or_else(|| thread.derived_session());
    let address = access.scope(&Owner { session: Some(session.clone()), ..owner })?;
    let identity = Identity { recall_scope: recall_scope.clone(), address, is_derived };
    let prompter = Prompter::new(engine.clone(), &options)?.with_trace();
    let deadline = Instant::now() + options.memory_deadline;
    let (prompt, injection) = prompter.prompt_for(&identity, &thread, question, deadline).await;
    Ok(GatewayPreview {
        scope: recall_scope,
        session,
        scene: prompt.scene.unwrap_or_default(),
        round: thread.rounds(),
        injection,
        degraded: prompt.degraded,
        options,
    })
}

fn chat_message(message: &EarlierMessage) -> ChatMessage {
    let speaker = if message.is_from_user { Speaker::User } else { Speaker::Assistant };
    ChatMessage::new(speaker, &message.text)
}

/// Returns the latest stored turns of a session, oldest first, as a client sends them.
async fn stored_messages(engine: &MemoryEngine, address: &Scope) -> Result<Vec<ChatMessage>, Fault> {
    let mut turns = read_turns(engine, address).await?;
    turns.sort_by_key(memory_engine::Record::position);
    let messages = turns
        .into_iter()
        .map(|turn| EarlierMessage { is_from_user: turn.role.as_ref() == Some(&Role::USER), text: turn.text });
    Ok(messages.map(|message| chat_message(&message)).collect())
}
