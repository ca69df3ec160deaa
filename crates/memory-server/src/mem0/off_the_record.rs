//! Messages that the person wants to keep out of the memory.

use std::collections::BTreeMap;

use memory_engine::{
    Field, Filter, FilterValue, Kind, RecordId, Result, ScanQuery, Scope,
    context::is_backchannel,
    requests::{ChatCommand, MemoryRequest},
    store::ContentHash,
};

use super::{messages::Mem0Message, service::Mem0};

/// Number of records that are read at a time.
const PAGE_ROWS: usize = 500;

/// The messages of a request, without those off the record and without instructions to the model.
#[derive(Debug, Default)]
pub(super) struct RecordedMessages {
    pub(super) kept: Vec<Mem0Message>,
    /// The texts of the others.
    left_out: Vec<String>,
    /// The requests of the person to take out the message before them.
    pub(super) take_out_requests: Vec<String>,
    /// True if the first message of the person asks to delete the message before it, which an earlier call stored.
    takes_out_stored: bool,
}

impl Mem0 {
    /// Leaves out the messages off the record, with the replies to them, blocks them, and deletes those that an earlier
    /// call stored. A client that sends its whole history again sends the request as well, so that they are left out
    /// again.
    pub(super) async fn recorded_messages(
        &self,
        address: &Scope,
        messages: Vec<Mem0Message>,
    ) -> Result<RecordedMessages> {
        if !self.commands.contains(&ChatCommand::OffTheRecord) {
            return Ok(RecordedMessages { kept: messages, ..RecordedMessages::default() });
        }
        let recorded = RecordedMessages::of(messages);
        let requests = self.engine.requests();
        let id = |text: &String| RecordId::named(address, &format!("mem0/off-the-record/{}", ContentHash::of(text)));
        let mut blocked: Vec<(RecordId, &str)> =
            recorded.left_out.iter().map(|text| (id(text), text.as_str())).collect();
        if !blocked.is_empty() {
            blocked.extend(self.stored_messages(address, &recorded.left_out).await?);
            requests.block(address, &blocked).await?;
        }
        if let Some(request) = recorded.take_out_requests.first().filter(|_| recorded.takes_out_stored) {
            requests.take_out_latest(address, request).await?;
        }
        Ok(recorded)
    }

    /// Returns the stored messages at exactly this address that have one of these texts, except for backchannels.
    async fn stored_messages<'t>(&self, address: &Scope, texts: &'t [String]) -> Result<Vec<(RecordId, &'t str)>> {
        let mut hashes = BTreeMap::new();
        for text in texts.iter().filter(|text| !is_backchannel(text)) {
            let stored_text = self.engine.screening().mask_within(address, text.as_str()).await?;
            hashes.insert(ContentHash::of(&stored_text), text.as_str());
        }
        let kinds = [Kind::TURN, Kind::NOTE].map(|kind| FilterValue::from(kind.as_str()));
        let mut query = ScanQuery::newest(PAGE_ROWS).with_filter(Filter::any_of(Field::Kind, kinds));
        let mut stored = Vec::new();
        loop {
            let page = self.engine.scan(address, &query).await?;
            let at_address = page.records.iter().filter(|record| record.scope == *address);
            stored.extend(at_address.filter_map(|record| Some((record.id, *hashes.get(&record.content_hash())?))));
            match page.next {
                Some(next) => query = query.with_after(Some(next)),
                None => return Ok(stored),
            }
        }
    }
}

impl RecordedMessages {
    fn of(messages: Vec<Mem0Message>) -> Self {
        let mut recorded = Self::default();
        let mut has_earlier_message = false;
        let mut is_left_out = false;
        for message in messages.into_iter().filter(|message| !message.is_instruction()) {
            if message.is_from_person() {
                let request = ChatCommand::find(&[ChatCommand::OffTheRecord], &message.text, None);
                if request == Some(MemoryRequest::TakeOutPrevious) {
                    recorded.takes_out_stored |= !has_earlier_message;
                    recorded.take_out_requests.push(message.text.clone());
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
        !matches!(self.role.as_str(), "assistant" | "tool" | "function") && !self.is_instruction()
    }

    /// Returns true for an instruction to the model, which is never stored.
    pub(super) fn is_instruction(&self) -> bool {
        matches!(self.role.as_str(), "system" | "developer")
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
    fn instructions_to_the_model_are_no_part_of_a_conversation() {
        let messages = [("user", "Off the record: I failed."), ("system", "Be kind."), ("assistant", "Oh.")];
        assert_eq!(kept(&messages), (Vec::new(), 2, false));
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
