//! The preview of the chat gateway.

use serde_json::json;

use super::{EarlierRole, Preview, format::ContextPreview};
use crate::{
    fault::Fault,
    gateway::{self, EarlierMessage},
};

impl Preview<'_> {
    /// Returns what the gateway would add to a chat.
    pub(super) async fn gateway(&self) -> Result<ContextPreview, Fault> {
        let earlier: Vec<EarlierMessage> = self.request.earlier.iter().map(EarlierMessage::from).collect();
        let state = self.state;
        let message = &self.request.message;
        let preview =
            gateway::preview(&state.engine, &state.config, &self.access, self.owner(), &earlier, message).await?;
        let mut shown = ContextPreview {
            served: !state.config.gateway.upstreams.is_empty(),
            scene: Some(preview.scene),
            round: Some(preview.round),
            user_id: preview.scope.user_name().map(str::to_owned),
            session_id: Some(preview.session),
            ..ContextPreview::default()
        };
        let deadline_ms = u64::try_from(preview.options.memory_deadline.as_millis()).unwrap_or(u64::MAX);
        shown.settings.insert("deadline_ms".into(), deadline_ms.into());
        shown.settings.insert("placement".into(), json!(preview.options.placement));
        if let Some(injection) = preview.injection {
            shown = shown.with_injection(injection);
        }
        Ok(shown.with_failed_stages(preview.degraded))
    }
}

impl From<&super::EarlierMessage> for EarlierMessage {
    fn from(message: &super::EarlierMessage) -> Self {
        Self { is_from_user: message.role == EarlierRole::User, text: message.text.clone() }
    }
}
