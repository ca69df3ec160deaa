//! Limits how many values the JSON of a request body has. A tree of values takes much more memory than its text: a list
//! of a million short messages has 30 MB, and needed 2.4 GB as a tree.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Request, State},
    http::StatusCode,
    middleware::{Next, from_fn_with_state},
    response::Response,
};
use http_body::{Body as HttpBody, Frame, SizeHint};

use crate::fault::{ErrorFormat, Fault};

/// Maximum number of values in the body of a request. A chat of 10,000 messages has 30,000.
pub(super) const MAX_JSON_VALUES: usize = 100_000;

/// Refuses a request whose body has too many JSON values, with 413.
pub(super) fn limit_json_values(router: Router, errors: ErrorFormat) -> Router {
    router.layer(from_fn_with_state(errors, check_values))
}

async fn check_values(State(errors): State<ErrorFormat>, request: Request, next: Next) -> Response {
    let has_too_many = Arc::new(AtomicBool::new(false));
    let count = ValueCount::default();
    let request = request.map(|body| Body::new(CountedBody { body, count, has_too_many: Arc::clone(&has_too_many) }));
    let response = next.run(request).await;
    if has_too_many.load(Ordering::Relaxed) {
        // The response was made from an incomplete body.
        let message = format!("the request has more than {MAX_JSON_VALUES} JSON values; send it in several requests");
        return errors(Fault::new(StatusCode::PAYLOAD_TOO_LARGE, message));
    }
    response
}

/// Estimates the number of values by the opening brackets and the commas outside of strings. A value alone in its list
/// or object is counted together with it, so that the estimate is between half of the values and all.
#[derive(Debug, Clone, Copy, Default)]
struct ValueCount {
    values: usize,
    /// The part of the JSON that the next byte continues.
    position: Position,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Position {
    /// No byte but white space has arrived.
    #[default]
    Start,
    /// The first byte opens no object and no list, so the body becomes no tree.
    OtherText,
    Structure,
    String,
    /// After the backslash in a string.
    Escape,
}

impl ValueCount {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.position = match (self.position, byte) {
                (Position::OtherText, _) => return,
                (Position::Start, b' ' | b'\t' | b'\n' | b'\r') => Position::Start,
                (Position::Start | Position::Structure, b'{' | b'[') => {
                    self.values += 1;
                    Position::Structure
                }
                (Position::Start, _) => Position::OtherText,
                (Position::Structure, b',') => {
                    self.values += 1;
                    Position::Structure
                }
                (Position::Structure, b'"') => Position::String,
                (Position::String, b'"') => Position::Structure,
                (Position::String, b'\\') => Position::Escape,
                (Position::Escape, _) => Position::String,
                (position, _) => position,
            };
        }
    }
}

/// A request body that ends in an error after too many values.
struct CountedBody {
    body: Body,
    count: ValueCount,
    has_too_many: Arc<AtomicBool>,
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if let Some(bytes) = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref()) {
            self.count.add(bytes);
        }
        if self.count.values > MAX_JSON_VALUES {
            self.has_too_many.store(true, Ordering::Relaxed);
            return Poll::Ready(Some(Err(axum::Error::new("too many JSON values"))));
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_strings() {
        for (text, values) in [
            ("", 0),
            ("no, JSON, at, all", 0),
            (r#"{"a": "b"}"#, 1),
            (r#" [1, "two, \"[[three\"", {"x": [], "y": 1}]"#, 6),
            (r#"["\\", "\"", ","]"#, 3),
        ] {
            let mut whole = ValueCount::default();
            whole.add(text.as_bytes());
            let mut bytewise = ValueCount::default();
            text.as_bytes().iter().for_each(|byte| bytewise.add(&[*byte]));
            assert_eq!((whole.values, bytewise.values), (values, values), "{text}");
        }
    }
}
