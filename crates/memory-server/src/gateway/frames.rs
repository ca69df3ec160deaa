//! Cutting a stream where its events end.

use bytes::{Bytes, BytesMut};

/// Passes on bytes up to the last blank line: whole events, as they came. The rest of an event is of no use to anybody, and
/// while none is open, an event or a comment of ours can be put in between.
#[derive(Debug)]
pub(super) struct Frames {
    held: BytesMut,
    scanned: usize,
    /// Where the last blank line ends.
    cut: usize,
    line_is_empty: bool,
    after_return: bool,
}

impl Default for Frames {
    fn default() -> Self {
        Self { held: BytesMut::new(), scanned: 0, cut: 0, line_is_empty: true, after_return: false }
    }
}

impl Frames {
    /// Takes what came, and gives what can go on; perhaps nothing.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Bytes {
        self.held.extend_from_slice(bytes);
        for (i, &byte) in self.held.iter().enumerate().skip(self.scanned) {
            match byte {
                // The second half of a line's end belongs to the first.
                b'\n' if self.after_return => {
                    self.after_return = false;
                    if self.cut == i {
                        self.cut = i + 1;
                    }
                }
                b'\n' | b'\r' => {
                    if self.line_is_empty {
                        self.cut = i + 1;
                    }
                    (self.line_is_empty, self.after_return) = (true, byte == b'\r');
                }
                _ => (self.line_is_empty, self.after_return) = (false, false),
            }
        }
        let whole = self.held.split_to(std::mem::take(&mut self.cut));
        self.scanned = self.held.len();
        whole.freeze()
    }

    /// What is left at the end, without a blank line behind it.
    pub(super) fn rest(&mut self) -> Bytes {
        self.held.split().freeze()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use proptest::prelude::*;

    use super::*;

    fn fed(pieces: &[&[u8]]) -> (Vec<Bytes>, Bytes) {
        let mut frames = Frames::default();
        let passed = pieces.iter().map(|piece| frames.feed(piece)).collect();
        (passed, frames.rest())
    }

    #[test]
    fn only_whole_events_go_on() {
        let (passed, rest) = fed(&[b"data: 1\n", b"\ndata: 2\r\n\r", b"\nda", b"ta: 3\r\rdata: 4"]);
        assert_eq!(passed, [&b""[..], b"data: 1\n\ndata: 2\r\n\r", b"\n", b"data: 3\r\r"]);
        assert_eq!(rest, "data: 4");
    }

    const STREAM: &str = ": hi\r\n\r\ndata: {\"a\":\"我\"}\n\nevent: x\rdata: 1\r\rdata: 2\n\ndata: [DONE]\n\nda";

    proptest! {
        #[test]
        fn no_byte_is_lost_and_what_goes_on_ends_with_a_blank_line(
            mut cuts in prop::collection::vec(0..STREAM.len(), 0..8),
        ) {
            cuts.extend([0, STREAM.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|w| &STREAM.as_bytes()[w[0]..w[1]]).collect();
            let (passed, rest) = fed(&pieces);
            prop_assert_eq!([passed.concat(), rest.to_vec()].concat(), STREAM.as_bytes());
            prop_assert_eq!(rest, "da");
            let mut whole = Vec::new();
            for bytes in passed.iter().filter(|bytes| !bytes.is_empty()) {
                whole.extend_from_slice(bytes);
                let ends = [&b"\n\n"[..], b"\r\n\r\n", b"\r\r", b"\r\n\r"].iter().any(|end| whole.ends_with(end));
                prop_assert!(ends, "{:?}", String::from_utf8_lossy(&whole));
            }
        }
    }
}
