//! Replaces halves of surrogate pairs in the JSON of a request. Programs that cut a text within an emoji send them, and
//! no parser accepts them.

use std::borrow::Cow;

use axum::{
    BoxError, Router,
    body::{Body, Bytes, to_bytes},
    extract::Request,
    middleware::{Next, from_fn},
    response::Response,
};
use futures::stream;
use memory_engine_intake::without_lone_surrogates;

/// Replaces each escape of a lone surrogate in the bodies of all requests by U+FFFD.
pub(super) fn replace_surrogates(router: Router) -> Router {
    router.layer(from_fn(replace_in_body))
}

async fn replace_in_body(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    // The limits of the body apply before.
    let body = match to_bytes(body, usize::MAX).await {
        Ok(bytes) => Body::from(replaced(bytes)),
        Err(error) => Body::from_stream(stream::iter([Err::<Bytes, _>(cause(error))])),
    };
    next.run(Request::from_parts(parts, body)).await
}

/// Returns the error within wrappers. A reader of the body tells by it that the body is too large.
fn cause(error: axum::Error) -> BoxError {
    let mut cause = error.into_inner();
    loop {
        match cause.downcast::<axum::Error>() {
            Ok(wrapper) => cause = wrapper.into_inner(),
            Err(cause) => return cause,
        }
    }
}

fn replaced(bytes: Bytes) -> Bytes {
    match std::str::from_utf8(&bytes).map(without_lone_surrogates) {
        Ok(Cow::Owned(text)) => text.into(),
        Ok(Cow::Borrowed(_)) | Err(_) => bytes,
    }
}
