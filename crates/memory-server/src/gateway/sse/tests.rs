#![allow(clippy::unwrap_used, reason = "a test may panic")]

use proptest::prelude::*;

use super::*;

/// Feeds all chunks. Returns the bytes passed on after each of them, and the rest.
fn feed_all(chunks: &[&[u8]]) -> (Vec<Bytes>, Bytes) {
    let mut framer = SseFramer::new(100);
    let mut passed = Vec::new();
    for chunk in chunks {
        let framed = framer.feed(chunk);
        assert_eq!(framed.bytes, framed.complete);
        passed.push(framed.bytes);
    }
    (passed, framer.take_rest())
}

#[test]
fn only_complete_events_are_passed_on() {
    let (passed, rest) = feed_all(&[b"data: 1\n", b"\ndata: 2\r\n\r", b"\nda", b"ta: 3\r\rdata: 4"]);
    assert_eq!(passed, [&b""[..], b"data: 1\n\ndata: 2\r\n\r", b"\n", b"data: 3\r\r"]);
    assert_eq!(rest, "data: 4");
}

#[test]
fn a_too_long_event_is_passed_on_unparsed() {
    let mut framer = SseFramer::new(8);
    let mut feed = |bytes: &[u8]| {
        let FramedBytes { bytes, complete } = framer.feed(bytes);
        let text = |bytes: Bytes| String::from_utf8(bytes.to_vec()).unwrap();
        (text(bytes), text(complete), framer.is_mid_event(), framer.buffer.len())
    };
    let expected = |bytes: &str, complete: &str, is_mid_event, buffered| {
        (bytes.to_owned(), complete.to_owned(), is_mid_event, buffered)
    };
    assert_eq!(feed(b"a: 1\n\ndata: 23"), expected("a: 1\n\n", "a: 1\n\n", false, 8));
    assert_eq!(feed(b"4\r"), expected("data: 234\r", "", true, 0));
    // The second half of CRLF is not a blank line.
    assert_eq!(feed(b"\ndata: 5"), expected("\ndata: 5", "", true, 0));
    assert_eq!(feed(b"67890\n\nb: 2\n\nc"), expected("67890\n\nb: 2\n\n", "b: 2\n\n", false, 1));
    assert_eq!(feed(b"\n\nd: 4\n\n"), expected("c\n\nd: 4\n\n", "c\n\nd: 4\n\n", false, 0));
    assert!(framer.has_skipped());
}

const STREAM: &str = ": hi\r\n\r\ndata: {\"a\":\"我\"}\n\nevent: x\rdata: 1\r\rdata: 2\n\ndata: [DONE]\n\nda";

proptest! {
    #[test]
    fn no_byte_is_lost_at_any_chunk_boundary(
        mut cuts in prop::collection::vec(0..STREAM.len(), 0..8),
    ) {
        cuts.extend([0, STREAM.len()]);
        cuts.sort_unstable();
        let chunks: Vec<&[u8]> = cuts.windows(2).map(|w| &STREAM.as_bytes()[w[0]..w[1]]).collect();
        let (passed, rest) = feed_all(&chunks);
        prop_assert_eq!([passed.concat(), rest.to_vec()].concat(), STREAM.as_bytes());
        prop_assert_eq!(rest, "da");
        // A smaller buffer passes on the same bytes.
        let mut small_framer = SseFramer::new(5);
        let mut small: Vec<u8> = chunks.iter().flat_map(|chunk| small_framer.feed(chunk).bytes).collect();
        small.extend_from_slice(&small_framer.take_rest());
        prop_assert_eq!(small, STREAM.as_bytes());
        let mut all = Vec::new();
        for bytes in passed.iter().filter(|bytes| !bytes.is_empty()) {
            all.extend_from_slice(bytes);
            let blank_lines = [&b"\n\n"[..], b"\r\n\r\n", b"\r\r", b"\r\n\r"];
            let ends_with_blank_line = blank_lines.iter().any(|end| all.ends_with(end));
            prop_assert!(ends_with_blank_line, "{:?}", String::from_utf8_lossy(&all));
        }
    }
}
