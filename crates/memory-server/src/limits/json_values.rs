//! Limits how many values the JSON of a request body has. A tree of values takes much more memory than its text: a list
//! of a million short messages has 30 MB, and needed 2.4 GB as a tree.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::StatusCode,
    middleware::{Next, from_fn_with_state},
    response::Response,
};
use http_body::Body as _;

use super::checked_body::with_checked_body;
use crate::fault::{ErrorFormat, Fault};

/// Maximum number of values in the body of a request. A chat of 10,000 messages has 30,000.
pub(super) const MAX_JSON_VALUES: usize = 100_000;

/// Refuses a request whose body has too many JSON values, with 413.
pub(super) fn limit_json_values(router: Router, errors: ErrorFormat) -> Router {
    router.layer(from_fn_with_state(errors, check_values))
}

async fn check_values(State(errors): State<ErrorFormat>, request: Request, next: Next) -> Response {
    let mut count = ValueCount::default();
    let check = move |body: Pin<&mut Body>, context: &mut Context<'_>| {
        let polled = body.poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            frame.data_ref().into_iter().for_each(|bytes| count.add(bytes));
        }
        if count.values > MAX_JSON_VALUES {
            let message =
                format!("the request has more than {MAX_JSON_VALUES} JSON values; send it in several requests");
            return Err(Fault::new(StatusCode::PAYLOAD_TOO_LARGE, message));
        }
        Ok(polled)
    };
    with_checked_body(request, next, errors, check).await
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
