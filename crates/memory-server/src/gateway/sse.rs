//! Cuts a stream of server-sent events where its events end.

use bytes::{Bytes, BytesMut};

/// Passes bytes on up to the last blank line, so that a comment or an event of ours can be inserted after them. An
/// event that is longer than `max_event_bytes` is passed on as it arrives, and is not parsed.
#[derive(Debug)]
pub(super) struct SseFramer {
    held: BytesMut,
    /// Maximum number of bytes of an event that are held back.
    max_event_bytes: usize,
    scanned: usize,
    /// The end of the last blank line.
    cut: usize,
    line_is_empty: bool,
    after_return: bool,
    /// True if that carriage return ended an empty line.
    after_blank: bool,
    open: bool,
    skipped: bool,
}

/// The bytes that can be passed on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FramedBytes {
    pub(super) bytes: Bytes,
    /// The complete events among them, without the rest of an event whose beginning was passed on before.
    pub(super) whole: Bytes,
}

impl SseFramer {
    pub(super) fn new(max_event_bytes: usize) -> Self {
        Self {
            held: BytesMut::new(),
            max_event_bytes,
            scanned: 0,
            cut: 0,
            line_is_empty: true,
            after_return: false,
            after_blank: false,
            open: false,
            skipped: false,
        }
    }

    /// Adds bytes, and returns those that can be passed on.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> FramedBytes {
        self.held.extend_from_slice(bytes);
        let mut first_cut = None;
        for (i, &byte) in self.held.iter().enumerate().skip(self.scanned) {
            match byte {
                // The second half of a line's end belongs to the first.
                b'\n' if self.after_return => {
                    self.after_return = false;
                    if self.after_blank {
                        self.cut = i + 1;
                    }
                }
                b'\n' | b'\r' => {
                    if self.line_is_empty {
                        self.cut = i + 1;
                        first_cut.get_or_insert(self.cut);
                    }
                    self.after_blank = self.line_is_empty;
                    self.line_is_empty = true;
                    self.after_return = byte == b'\r';
                }
                _ => {
                    self.line_is_empty = false;
                    self.after_return = false;
                }
            }
        }
        let cut = std::mem::take(&mut self.cut);
        let parsed_from = if self.open { first_cut.unwrap_or(cut) } else { 0 };
        self.open = (self.open && first_cut.is_none()) || self.held.len() - cut > self.max_event_bytes;
        self.skipped |= self.open;
        let end = if self.open { self.held.len() } else { cut };
        let bytes = self.held.split_to(end).freeze();
        self.scanned = self.held.len();
        FramedBytes { whole: bytes.slice(parsed_from.min(cut)..cut), bytes }
    }

    /// Returns the bytes after the last blank line.
    pub(super) fn rest(&mut self) -> Bytes {
        self.held.split().freeze()
    }

    /// Returns true if the bytes passed on end within an event.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Returns true if an event was too long to be parsed.
    pub(super) fn has_skipped(&self) -> bool {
        self.skipped
    }
}

#[cfg(test)]
mod tests;
