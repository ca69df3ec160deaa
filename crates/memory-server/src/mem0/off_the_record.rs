//! Messages that the person wants to keep out of the memory.

use memory_engine::{
    RecordId, Result, Scope,
    requests::{ChatCommand, MemoryRequest},
    store::ContentHash,
};

use super::{messages::Mem0Message, service::Mem0};

/// The messages of a request, without those off the record.
#[derive(Debug, Default)]
struct RecordedMessages {
    kept: Vec<Mem0Message>,
    /// The texts of the others.
    left_out: Vec<String>,
    /// True if the message before the first one must be taken out.
    takes_out_stored: bool,
}

impl Mem0 {
    /// Leaves out the messages off the record, with the replies to them, and blocks them. A client that sends its whole
    /// history again sends the request as well, so that they are left out again.
    pub(super) async fn recorded_messages(
        &self,
        address: &Scope,
        messages: Vec<Mem0Message>,
    ) -> Result<Vec<Mem0Message>> {
        if !self.commands.contains(&ChatCommand::OffTheRecord) {
            return Ok(messages);
        }
        let RecordedMessages { kept, left_out, takes_out_stored } = RecordedMessages::of(messages);
        let id = |text: &String| RecordId::named(address, &format!("mem0/off-the-record/{}", ContentHash::of(text)));
        let blocked: Vec<(RecordId, &str)> = left_out.iter().map(|text| (id(text), text.as_str())).collect();
        if !blocked.is_empty() {
            self.engine.requests().block(address, &blocked).await?;
        }
        if takes_out_stored {
            self.engine.requests().take_out_latest(address).await?;
        }
        Ok(kept)
    }
}

impl RecordedMessages {
    fn of(messages: Vec<Mem0Message>) -> Self {
        let mut recorded = Self::default();
        let mut has_earlier_message = false;
        let mut is_left_out = false;
        for message in messages {
            if message.is_from_person() {
                let request = ChatCommand::find(&[ChatCommand::OffTheRecord], &message.text, None);
                if request == Some(MemoryRequest::TakeOutPrevious) {
                    recorded.takes_out_stored |= !has_earlier_message;
                    // The message before may be left out already.
                    if !is_left_out {
                        recorded.leave_out_latest();
                    }
                }
                is_left_out = request.is_some();
                has_earlier_message = true;
            }
            if is_left_out {
                recorded.left_out.push(message.text);
            } else {
                recorded.kept.push(message);
            }
        }
        recorded
    }

    /// Leaves out the latest message of the person, and what followed it.
    fn leave_out_latest(&mut self) {
        if let Some(latest) = self.kept.iter().rposition(Mem0Message::is_from_person) {
            self.left_out.extend(self.kept.drain(latest..).map(|message| message.text));
        }
    }
}

impl Mem0Message {
    fn is_from_person(&self) -> bool {
        !matches!(self.role.as_str(), "assistant" | "tool" | "function" | "system" | "developer")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(messages: &[(&str, &str)]) -> (Vec<String>, usize, bool) {
        let message = |(role, text): &(&str, &str)| Mem0Message {
            role: (*role).to_owned(),
            name: None,
            text: (*text).to_owned(),
        };
        let recorded = RecordedMessages::of(messages.iter().map(message).collect());
        let kept = recorded.kept.into_iter().map(|message| message.text).collect();
        (kept, recorded.left_out.len(), recorded.takes_out_stored)
    }

    #[test]
    fn a_message_off_the_record_goes_with_its_reply() {
        let messages = [
            ("user", "I like jazz."),
            ("assistant", "Nice."),
            ("user", "Please don't store this: I failed the exam."),
            ("assistant", "I am sorry about the exam."),
            ("user", "What is for dinner?"),
        ];
        let expected = ["I like jazz.", "Nice.", "What is for dinner?"].map(str::to_owned).to_vec();
        assert_eq!(kept(&messages), (expected, 2, false));
    }

    #[test]
    fn the_message_before_is_left_out_or_taken_out_of_the_store() {
        let request = ("user", "刚才说的那件事不要保存");
        let messages = [("user", "I like jazz."), ("user", "我考试没过"), ("assistant", "别难过"), request];
        assert_eq!(kept(&messages), (vec!["I like jazz.".to_owned()], 3, false));
        assert_eq!(kept(&[request, ("assistant", "好")]), (Vec::new(), 2, true));
        let private = ("user", "Off the record: I failed.");
        let after_private = [("user", "I like jazz."), private, ("assistant", "Oh."), request];
        assert_eq!(kept(&after_private), (vec!["I like jazz.".to_owned()], 3, false));
    }
}
