//! A client of HTTP/1.1 over one connection that is kept alive. It does as little as possible, because it shares the
//! processors with the server.

use std::time::Instant;

use anyhow::{Context, Result, bail};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// A connection, opened at the first request.
#[derive(Debug)]
pub(crate) struct Connection {
    address: String,
    stream: Option<TcpStream>,
    received: Vec<u8>,
}

/// A response with the times at which it arrived.
#[derive(Debug)]
pub(crate) struct TimedResponse {
    pub(crate) status: u16,
    /// The body. Of a chunked one also the sizes of the chunks.
    pub(crate) body: Vec<u8>,
    /// The time at which the request was sent.
    pub(crate) sent: Instant,
    /// The time at which the first byte of the body arrived.
    pub(crate) first_byte: Instant,
    /// The time at which the last byte of the body arrived.
    pub(crate) end: Instant,
}

/// The head of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    /// Number of bytes with the blank line.
    pub(crate) length: usize,
    /// `None` for a chunked body.
    pub(crate) content_length: Option<usize>,
}

impl Head {
    /// Returns the head at the start of the bytes. `None` if it is incomplete.
    pub(crate) fn find(bytes: &[u8]) -> Option<Self> {
        let length = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
        let text = String::from_utf8_lossy(&bytes[..length]).to_ascii_lowercase();
        let is_chunked = text.contains("transfer-encoding: chunked");
        let value = text.lines().find_map(|line| line.strip_prefix("content-length:"));
        let announced = value.and_then(|value| value.trim().parse().ok()).unwrap_or(0);
        Some(Self { length, content_length: (!is_chunked).then_some(announced) })
    }

    /// Returns true if the bytes contain the whole message.
    pub(crate) fn is_complete(self, bytes: &[u8]) -> bool {
        match self.content_length {
            Some(length) => bytes.len() >= self.length + length,
            // The texts of this program contain no line break before a lone zero.
            None => bytes.ends_with(b"\r\n0\r\n\r\n"),
        }
    }
}

impl Connection {
    pub(crate) fn new(address: &str) -> Self {
        Self { address: address.to_owned(), stream: None, received: Vec::new() }
    }

    /// Sends a request with a JSON body, and waits for the end of the response. `headers` are lines, each with its line
    /// break.
    pub(crate) async fn post(&mut self, path: &str, headers: &str, body: &str) -> Result<TimedResponse> {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{headers}\r\n",
            self.address,
            body.len()
        );
        self.send(&[head.as_bytes(), body.as_bytes()].concat()).await
    }

    /// Gets a path.
    pub(crate) async fn get(&mut self, path: &str) -> Result<TimedResponse> {
        let head = format!("GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", self.address);
        self.send(head.as_bytes()).await
    }

    async fn send(&mut self, request: &[u8]) -> Result<TimedResponse> {
        // A connection that fails is not used again.
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect(&self.address).await.context("cannot connect")?;
                stream.set_nodelay(true)?;
                stream
            }
        };
        let sent = Instant::now();
        stream.write_all(request).await?;
        self.received.clear();
        let (mut head, mut first_byte): (Option<Head>, Option<Instant>) = (None, None);
        loop {
            if stream.read_buf(&mut self.received).await? == 0 {
                bail!("the connection was closed within a response");
            }
            head = head.or_else(|| Head::find(&self.received));
            let Some(head) = head else { continue };
            if first_byte.is_none() && self.received.len() > head.length {
                first_byte = Some(Instant::now());
            }
            if head.is_complete(&self.received) {
                let end = Instant::now();
                let status = std::str::from_utf8(&self.received[9..12])?.parse()?;
                self.stream = Some(stream);
                let body = self.received[head.length..].to_vec();
                return Ok(TimedResponse { status, body, sent, first_byte: first_byte.unwrap_or(end), end });
            }
        }
    }
}
