//! Chats of many users at once, through the gateway or with the upstream directly.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::sleep};

use crate::{connection::Connection, texts, upstream::own_times};

/// Maximum number of exchanges in one session. Then the user starts another one.
const SESSION_EXCHANGES: usize = 6;

/// The chats of a run.
#[derive(Debug, Clone)]
pub(crate) struct ChatLoad {
    /// The address of the gateway or of the upstream.
    pub(crate) address: String,
    /// Number of conversations at once.
    pub(crate) conversations: usize,
    pub(crate) users: usize,
    /// Time between the end of a reply and the next message.
    pub(crate) pause: Duration,
    /// Time over which the conversations start, so that their replies do not all start at once.
    pub(crate) spread: Duration,
    pub(crate) duration: Duration,
    /// The number of the round, so that its sessions are new.
    pub(crate) round: usize,
}

/// The times of the chats in milliseconds, without the time of the upstream itself.
#[derive(Debug, Default)]
pub(crate) struct ChatTimes {
    pub(crate) first_byte: Vec<f64>,
    pub(crate) end: Vec<f64>,
    pub(crate) seconds: f64,
}

impl ChatLoad {
    /// Runs the chats, each until its last reply after the duration has ended.
    pub(crate) async fn run(&self) -> Result<ChatTimes> {
        let started = Instant::now();
        let mut tasks = JoinSet::new();
        for conversation in 0..self.conversations {
            let load = self.clone();
            tasks.spawn(async move { load.converse(conversation, started).await });
        }
        let mut times = ChatTimes::default();
        while let Some(done) = tasks.join_next().await {
            let of_one = done??;
            times.first_byte.extend(of_one.first_byte);
            times.end.extend(of_one.end);
        }
        times.seconds = started.elapsed().as_secs_f64();
        Ok(times)
    }

    async fn converse(self, conversation: usize, started: Instant) -> Result<ChatTimes> {
        let user = conversation % self.users;
        let mut connection = Connection::new(&self.address);
        let mut times = ChatTimes::default();
        sleep(self.spread.mul_f64(conversation as f64 / self.conversations as f64)).await;
        let mut messages: Vec<Value> = Vec::new();
        let mut exchange = 0;
        while started.elapsed() < self.duration {
            let session = exchange / SESSION_EXCHANGES;
            if exchange % SESSION_EXCHANGES == 0 {
                messages =
                    vec![json!({ "role": "system", "content": "You are a friendly companion. Answer briefly." })];
            }
            let text = texts::message(user, 10_000 * (self.round + 1) + exchange);
            messages.push(json!({ "role": "user", "content": text }));
            let body = json!({ "model": "scripted", "stream": true, "messages": messages }).to_string();
            let headers = format!(
                "x-user-id: {}\r\nx-session-id: chat-{}-{conversation}-{session}\r\n",
                texts::user(user),
                self.round
            );
            let response = connection.post("/v1/chat/completions", &headers, &body).await?;
            let text = String::from_utf8_lossy(&response.body);
            ensure!(response.status == 200, "a chat was answered with {}: {text}", response.status);
            let Some(own) = own_times(&response.body) else {
                anyhow::bail!("a reply is not complete: {text}");
            };
            let added = |at: Instant, time: Duration| ((at - response.sent).as_secs_f64() - time.as_secs_f64()) * 1e3;
            times.first_byte.push(added(response.first_byte, own.first_chunk));
            times.end.push(added(response.end, own.last_chunk));
            messages.push(json!({ "role": "assistant", "content": reply_text(&text) }));
            exchange += 1;
            sleep(self.pause).await;
        }
        Ok(times)
    }
}

/// Returns the text of a reply, as a client sends it with its next message.
fn reply_text(body: &str) -> String {
    let events = body.lines().filter_map(|line| line.strip_prefix("data: "));
    let chunks = events.filter_map(|data| serde_json::from_str::<Value>(data).ok());
    chunks.filter_map(|chunk| chunk.pointer("/choices/0/delta/content")?.as_str().map(str::to_owned)).collect()
}
