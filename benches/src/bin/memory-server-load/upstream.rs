//! A scripted model service: it streams the same reply to every chat, at fixed times.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::{Instant as Deadline, sleep_until},
};

use crate::connection::Head;

/// The times of a reply.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Script {
    /// Time from the request to the first chunk.
    pub(crate) first_byte: Duration,
    /// Time between chunks.
    pub(crate) interval: Duration,
    /// Number of chunks.
    pub(crate) chunks: usize,
}

/// The field in which the first and the last chunk contain the service's own time in microseconds.
const OWN_TIME: &[u8] = b"\"system_fingerprint\":\"";
const WORDS: [&str; 8] = ["That ", "sounds ", "good, ", "我记得", "and ", "the weather ", "也不错，", "was fine. "];

impl Script {
    /// Serves in the background. Returns the address.
    pub(crate) async fn serve(self) -> Result<String> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("cannot listen")?;
        let address = listener.local_addr()?.to_string();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A client that disconnects is of no interest.
                tokio::spawn(async move { drop(self.serve_connection(stream).await) });
            }
        });
        Ok(address)
    }

    async fn serve_connection(self, mut stream: TcpStream) -> Result<()> {
        stream.set_nodelay(true)?;
        let mut received = Vec::new();
        loop {
            let head = Head::find(&received);
            match head.filter(|head| head.is_complete(&received)) {
                Some(head) => {
                    received.drain(..head.length + head.content_length.unwrap_or(0));
                    self.reply(&mut stream).await?;
                }
                None if stream.read_buf(&mut received).await? == 0 => return Ok(()),
                None => {}
            }
        }
    }

    async fn reply(self, stream: &mut TcpStream) -> Result<()> {
        let (arrived, start) = (Instant::now(), Deadline::now());
        for number in 0..self.chunks {
            sleep_until(start + self.first_byte + self.interval * number as u32).await;
            let own_time = arrived.elapsed().as_micros();
            let mut bytes = String::new();
            if number == 0 {
                bytes += "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
            }
            let is_last = number + 1 == self.chunks;
            let event = if is_last {
                event(r#"{}"#, r#""stop""#, own_time) + "data: [DONE]\n\n"
            } else {
                let delta = format!(r#"{{"content":"{}"}}"#, WORDS[number % WORDS.len()]);
                event(&delta, "null", own_time)
            };
            bytes += &format!("{:x}\r\n{event}\r\n", event.len());
            if is_last {
                bytes += "0\r\n\r\n";
            }
            stream.write_all(bytes.as_bytes()).await?;
        }
        Ok(())
    }
}

fn event(delta: &str, finish_reason: &str, own_time: u128) -> String {
    format!(
        "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\
         \"model\":\"scripted\",\"system_fingerprint\":\"{own_time}\",\"choices\":[{{\"index\":0,\"delta\":{delta},\
         \"finish_reason\":{finish_reason}}}]}}\n\n"
    )
}

/// The service's own times of a reply.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnTimes {
    /// Time until the first chunk.
    pub(crate) first_chunk: Duration,
    /// Time until the last chunk.
    pub(crate) last_chunk: Duration,
}

/// Returns the service's own times of a reply. `None` if the reply is not complete.
pub(crate) fn own_times(body: &[u8]) -> Option<OwnTimes> {
    let starts: Vec<usize> =
        body.windows(OWN_TIME.len()).enumerate().filter(|(_, at)| *at == OWN_TIME).map(|(i, _)| i).collect();
    let time = |start: &usize| {
        let digits = &body[start + OWN_TIME.len()..];
        let end = digits.iter().position(|byte| *byte == b'"')?;
        Some(Duration::from_micros(std::str::from_utf8(&digits[..end]).ok()?.parse().ok()?))
    };
    let is_done = body.windows(6).any(|window| window == b"[DONE]");
    Some(OwnTimes { first_chunk: time(starts.first()?)?, last_chunk: time(starts.last().filter(|_| is_done)?)? })
}
