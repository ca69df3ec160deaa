#![allow(clippy::unwrap_used, reason = "a test may panic")]

use proptest::prelude::*;

use super::*;

fn fed(pieces: &[&[u8]]) -> (Vec<Bytes>, Bytes) {
    let mut frames = SseFramer::new(100);
    let passed = pieces.iter().map(|piece| frames.feed(piece)).inspect(|passed| assert_eq!(passed.bytes, passed.whole));
    (passed.map(|passed| passed.bytes).collect(), frames.rest())
}

#[test]
fn only_whole_events_go_on() {
    let (passed, rest) = fed(&[b"data: 1\n", b"\ndata: 2\r\n\r", b"\nda", b"ta: 3\r\rdata: 4"]);
    assert_eq!(passed, [&b""[..], b"data: 1\n\ndata: 2\r\n\r", b"\n", b"data: 3\r\r"]);
    assert_eq!(rest, "data: 4");
}

#[test]
fn an_event_that_is_too_long_goes_on_as_it_comes_and_is_not_heard() {
    let mut frames = SseFramer::new(8);
    let mut passed = |bytes: &[u8]| {
        let FramedBytes { bytes, whole } = frames.feed(bytes);
        let text = |bytes: Bytes| String::from_utf8(bytes.to_vec()).unwrap();
        (text(bytes), text(whole), frames.is_open(), frames.held.len())
    };
    let said = |bytes: &str, whole: &str, open, held| (bytes.to_owned(), whole.to_owned(), open, held);
    assert_eq!(passed(b"a: 1\n\ndata: 23"), said("a: 1\n\n", "a: 1\n\n", false, 8));
    assert_eq!(passed(b"4\r"), said("data: 234\r", "", true, 0));
    // Half of a line's end is no blank line.
    assert_eq!(passed(b"\ndata: 5"), said("\ndata: 5", "", true, 0));
    assert_eq!(passed(b"67890\n\nb: 2\n\nc"), said("67890\n\nb: 2\n\n", "b: 2\n\n", false, 1));
    assert_eq!(passed(b"\n\nd: 4\n\n"), said("c\n\nd: 4\n\n", "c\n\nd: 4\n\n", false, 0));
    assert!(frames.has_skipped());
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
        // However little is held, no byte changes.
        let mut narrow = SseFramer::new(5);
        let narrow = [pieces.iter().flat_map(|piece| narrow.feed(piece).bytes).collect(), narrow.rest().to_vec()];
        prop_assert_eq!(narrow.concat(), STREAM.as_bytes());
        let mut whole = Vec::new();
        for bytes in passed.iter().filter(|bytes| !bytes.is_empty()) {
            whole.extend_from_slice(bytes);
            let ends = [&b"\n\n"[..], b"\r\n\r\n", b"\r\r", b"\r\n\r"].iter().any(|end| whole.ends_with(end));
            prop_assert!(ends, "{:?}", String::from_utf8_lossy(&whole));
        }
    }
}
