//! The part of a message that is stored: what every provider can read.

use rig_core::{
    completion::Message,
    message::{
        AssistantContent, AssistantMessage, Audio, Document, DocumentSourceKind, Image, Text, ToolResult,
        ToolResultContent, UserContent, Video,
    },
};

/// Returns the message without reasoning, items of the provider and the data of media, or nothing if it is then empty
/// or its turn failed.
pub(super) fn portable(message: Message) -> Option<Message> {
    match message {
        Message::System { .. } => Some(message),
        Message::User { content } => {
            let content: Vec<UserContent> = content.into_iter().map(portable_user).collect();
            (!content.is_empty()).then_some(Message::User { content })
        }
        Message::Assistant(message) => {
            // rig never sends a failed turn to a model again.
            if message.stop.as_ref().is_some_and(rig_core::message::StopReason::is_failure) {
                return None;
            }
            let content: Vec<AssistantContent> = message.content.iter().filter_map(portable_assistant).collect();
            (!content.is_empty()).then(|| Message::Assistant(AssistantMessage::new(content)))
        }
    }
}

fn portable_user(content: UserContent) -> UserContent {
    match content {
        UserContent::Text(text) => UserContent::Text(portable_text(text)),
        UserContent::ToolResult(result) => UserContent::ToolResult(portable_result(result)),
        UserContent::Image(Image { ref data, .. })
        | UserContent::Audio(Audio { ref data, .. })
        | UserContent::Video(Video { ref data, .. })
        | UserContent::Document(Document { ref data, .. })
            if is_reference(data) =>
        {
            content
        }
        UserContent::Image(_) => UserContent::text("[image]"),
        UserContent::Audio(_) => UserContent::text("[audio]"),
        UserContent::Video(_) => UserContent::text("[video]"),
        UserContent::Document(_) => UserContent::text("[document]"),
    }
}

/// Returns true if the source names its data instead of containing them, or is a text.
fn is_reference(source: &DocumentSourceKind) -> bool {
    match source {
        DocumentSourceKind::Url(_) | DocumentSourceKind::FileId(_) | DocumentSourceKind::String(_) => true,
        DocumentSourceKind::Base64(_) | DocumentSourceKind::Raw(_) | DocumentSourceKind::Unknown => false,
    }
}

fn portable_text(mut text: Text) -> Text {
    text.native = None;
    text
}

fn portable_result(result: ToolResult) -> ToolResult {
    let portable = |content| match content {
        ToolResultContent::Text(text) => ToolResultContent::Text(portable_text(text)),
        ToolResultContent::Image(image) if is_reference(&image.data) => ToolResultContent::Image(image),
        ToolResultContent::Image(_) => ToolResultContent::text("[image]"),
        ToolResultContent::Json { value } => ToolResultContent::Json { value },
    };
    ToolResult { content: result.content.into_iter().map(portable).collect(), ..result }
}

#[allow(clippy::wildcard_enum_match_arm, reason = "the enum may grow; reasoning and provider items are not portable")]
fn portable_assistant(content: &AssistantContent) -> Option<AssistantContent> {
    match content {
        AssistantContent::Text(_) | AssistantContent::ToolCall(_) => Some(content.canonical()),
        AssistantContent::Image(image) if is_reference(&image.data) => Some(content.canonical()),
        AssistantContent::Image(_) => Some(AssistantContent::text("[image]")),
        _ => None,
    }
}
