//! Splits a stream of server-sent events at the ends of events.

use bytes::{Bytes, BytesMut};

/// Passes bytes on up to the last blank line, so that a comment or an event of the gateway can be inserted after them.
/// An event that is longer than `max_event_bytes` is passed on as it arrives, and is not parsed.
#[derive(Debug)]
pub(super) struct SseFramer {
    buffer: BytesMut,
    /// Maximum number of buffered bytes of an event.
    max_event_bytes: usize,
    /// Number of bytes of the buffer that have been scanned.
    scanned: usize,
    line_is_empty: bool,
    after_carriage_return: bool,
    /// True if the last line break ended an empty line.
    after_blank_line: bool,
    /// True if the bytes passed on end within an event.
    is_mid_event: bool,
    has_skipped: bool,
}

/// The bytes that can be passed on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FramedBytes {
    pub(super) bytes: Bytes,
    /// The complete events among them, without the rest of an event of which a part was passed on before.
    pub(super) complete: Bytes,
}

impl SseFramer {
    pub(super) fn new(max_event_bytes: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            max_event_bytes,
            scanned: 0,
            line_is_empty: true,
            after_carriage_return: false,
            after_blank_line: false,
            is_mid_event: false,
            has_skipped: false,
        }
    }

    /// Adds bytes, and returns those that can be passed on.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> FramedBytes {
        self.buffer.extend_from_slice(bytes);
        // Ends of the first and of the last blank line among the new bytes.
        let mut first_boundary = None;
        let mut last_boundary = 0;
        for (i, &byte) in self.buffer.iter().enumerate().skip(self.scanned) {
            match byte {
                // The second half of CRLF belongs to the line break that the first half began.
                b'\n' if self.after_carriage_return => {
                    self.after_carriage_return = false;
                    if self.after_blank_line {
                        last_boundary = i + 1;
                    }
                }
                b'\n' | b'\r' => {
                    if self.line_is_empty {
                        last_boundary = i + 1;
                        first_boundary.get_or_insert(last_boundary);
                    }
                    self.after_blank_line = self.line_is_empty;
                    self.line_is_empty = true;
                    self.after_carriage_return = byte == b'\r';
                }
                _ => {
                    self.line_is_empty = false;
                    self.after_carriage_return = false;
                }
            }
        }
        let was_mid_event = self.is_mid_event;
        let complete_from = if was_mid_event { first_boundary.unwrap_or(last_boundary) } else { 0 };
        let is_too_long = self.buffer.len() - last_boundary > self.max_event_bytes;
        self.is_mid_event = is_too_long || (was_mid_event && first_boundary.is_none());
        self.has_skipped |= self.is_mid_event;
        let end = if self.is_mid_event { self.buffer.len() } else { last_boundary };
        let bytes = self.buffer.split_to(end).freeze();
        self.scanned = self.buffer.len();
        FramedBytes { complete: bytes.slice(complete_from.min(last_boundary)..last_boundary), bytes }
    }

    /// Removes and returns the bytes after the last blank line.
    pub(super) fn take_rest(&mut self) -> Bytes {
        self.buffer.split().freeze()
    }

    /// Returns true if the bytes passed on end within an event.
    pub(super) fn is_mid_event(&self) -> bool {
        self.is_mid_event
    }

    /// Returns true if an event was too long to be parsed.
    pub(super) fn has_skipped(&self) -> bool {
        self.has_skipped
    }
}

#[cfg(test)]
mod tests;
