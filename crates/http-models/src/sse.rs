//! Server-sent events, limited to the features that chat services use.

use memory_engine_core::{Error, ErrorKind, Result};

const OPERATION: &str = "event stream";

/// Splits a byte stream into events, independent of the boundaries of network packets.
///
/// Only the `data` of an event is returned; comments, names and ids are ignored. Lines end with LF, CRLF or CR.
#[derive(Debug)]
pub struct SseEvents {
    bytes: Vec<u8>,
    /// The end of the parsed lines in `bytes`.
    read: usize,
    data: Option<String>,
    /// Maximum size of the buffered bytes and data.
    max_bytes: usize,
}

impl SseEvents {
    /// Creates a reader that rejects events of more than `max_bytes` bytes.
    pub fn new(max_bytes: usize) -> Self {
        Self { bytes: Vec::new(), read: 0, data: None, max_bytes }
    }

    /// Appends received bytes.
    ///
    /// # Errors
    /// `Corrupt` for an event that is too large.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes.drain(..std::mem::take(&mut self.read));
        let buffered = self.bytes.len() + self.data.as_ref().map_or(0, String::len);
        if buffered + bytes.len() > self.max_bytes {
            let message = format!("an event of the stream is larger than {} bytes", self.max_bytes);
            return Err(Error::new(ErrorKind::Corrupt, OPERATION, message));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Returns the data of the next complete event, or `None` if more bytes are needed. An event ends with a blank
    /// line.
    ///
    /// # Errors
    /// `Corrupt` for a line that is not UTF-8.
    #[allow(clippy::should_implement_trait, reason = "None means that more bytes are needed, not the end")]
    pub fn next(&mut self) -> Result<Option<String>> {
        while let Some(length) = self.bytes[self.read..].iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let end = self.read + length;
            let next_line = match (self.bytes[end], self.bytes.get(end + 1)) {
                (b'\r', Some(b'\n')) => end + 2,
                // The next byte may be a line feed that belongs to this line end.
                (b'\r', None) => break,
                _ => end + 1,
            };
            let line = std::str::from_utf8(&self.bytes[self.read..end]);
            // A caller that continues after the error continues after this line.
            self.read = next_line;
            let line = line.map_err(|_| Error::new(ErrorKind::Corrupt, OPERATION, "the stream is not UTF-8"))?;
            if line.is_empty() {
                if let Some(data) = self.data.take() {
                    return Ok(Some(data));
                }
            } else if let Some(value) = line.strip_prefix("data:") {
                let value = value.strip_prefix(' ').unwrap_or(value);
                match &mut self.data {
                    Some(data) => {
                        data.push('\n');
                        data.push_str(value);
                    }
                    None => self.data = Some(value.to_owned()),
                }
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STREAM: &str =
        ": hello\n\ndata: {\"a\": \"我\"}\n\nevent: x\r\ndata:one\r\ndata: two\r\n\r\nid: 1\n\ndata: [DONE]\n\n";
    const EVENTS: [&str; 3] = ["{\"a\": \"我\"}", "one\ntwo", "[DONE]"];

    fn read(pieces: &[&[u8]]) -> Vec<String> {
        let mut events = SseEvents::new(1000);
        let mut found = Vec::new();
        for piece in pieces {
            events.feed(piece).unwrap();
            while let Some(data) = events.next().unwrap() {
                found.push(data);
            }
        }
        found
    }

    #[test]
    fn an_incomplete_event_is_not_returned() {
        assert!(read(&[b"data: half"]).is_empty());
        assert!(read(&[b"data: half\n"]).is_empty());
        assert_eq!(read(&[b"data: x\r\rdata: y\r\r\n"]), ["x", "y"]);
    }

    #[test]
    fn an_event_over_the_limit_is_an_error() {
        let mut events = SseEvents::new(100);
        let error = (0..100).find_map(|_| events.feed(&[b'x'; 10]).and_then(|()| events.next()).err()).unwrap();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
    }

    proptest! {
        #[test]
        fn events_do_not_depend_on_chunk_boundaries(cuts in prop::collection::vec(0..STREAM.len(), 0..8)) {
            let mut cuts = cuts;
            cuts.extend([0, STREAM.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|w| &STREAM.as_bytes()[w[0]..w[1]]).collect();
            prop_assert_eq!(read(&pieces), EVENTS);
        }
    }
}
