//! The protocols that a server is composed of.

use std::fmt::Debug;

use axum::{Router, response::IntoResponse};
use futures::future::BoxFuture;

use crate::{
    fault::{ErrorFormat, Fault},
    limits::BodyKind,
    openapi::{Routes, Section},
};

/// A protocol of the server: its routes, their description, and the format of its errors.
#[derive(Debug)]
pub(crate) struct ServerPart {
    /// Unique name. A part replaces an earlier one of the same name.
    pub(crate) name: &'static str,
    pub(crate) router: Router,
    pub(crate) sections: Vec<Section>,
    pub(crate) errors: ErrorFormat,
    pub(crate) background: Option<Box<dyn Background>>,
}

/// The names of the parts whose requests may be large.
const LARGE_BODY_PARTS: [&str; 2] = ["gateway", "deletions"];

impl ServerPart {
    /// Creates a part that reports its errors as [`Fault`] does.
    pub(crate) fn new<S: Clone + Send + Sync + 'static>(name: &'static str, routes: Routes<S>, state: S) -> Self {
        let (router, section) = routes.finish();
        let router = router.with_state(state);
        Self { name, router, sections: vec![section], errors: Fault::into_response, background: None }
    }

    /// Returns the content of its requests.
    pub(crate) fn bodies(&self) -> BodyKind {
        if LARGE_BODY_PARTS.contains(&self.name) { BodyKind::Large } else { BodyKind::Memories }
    }
}

/// Work that outlives the requests that start it.
pub(crate) trait Background: Debug + Send + Sync {
    /// Waits until all requests have ended and all work that they started is done.
    fn drain(&self) -> BoxFuture<'_, ()>;

    /// Waits until the work that ended requests have started is done.
    fn flush(&self) -> BoxFuture<'_, ()>;
}
