//! Tables of routes: each row adds a route to a router and its description to the document.

use axum::{
    Router,
    handler::Handler,
    routing::{self, MethodRouter},
};
use schemars::JsonSchema;

use super::operation::ApiOperation;

/// The part of the document for one protocol.
#[derive(Debug, Clone)]
pub(crate) struct Section {
    pub(super) tag: &'static str,
    pub(super) description: &'static str,
    /// Maximum size of the body of a request, in bytes.
    pub(super) max_body_bytes: usize,
    /// Method, path and description.
    pub(super) operations: Vec<(&'static str, String, ApiOperation)>,
}

/// The routes of one protocol: a router and the section that describes it, built from the same table.
#[derive(Debug)]
pub(crate) struct Routes<S> {
    router: Router<S>,
    section: Section,
}

/// Adds routes to a table, one row each: method, path, handler, id, summary, request headers, query parameters, body,
/// answer.
macro_rules! table {
    ($routes:expr; $(
        $method:ident $path:literal => $handler:expr, $id:literal, $summary:literal
            $(, headers $headers:ty)? $(, query $query:ty)* $(, body $body:ty)? => $answer:ty;
    )*) => {
        $routes$(.$method(
            $path,
            $handler,
            $crate::openapi::operation::ApiOperation::new($id, $summary)
                $(.headers::<$headers>())? $(.query::<$query>())* $(.body::<$body>())? .answer::<$answer>(),
        ))*
    };
}
pub(crate) use table;

impl Section {
    pub(crate) fn new(tag: &'static str, description: &'static str) -> Self {
        Self { tag, description, max_body_bytes: 0, operations: Vec::new() }
    }

    /// Sets the maximum size of the body of a request, in bytes.
    pub(crate) fn with_max_body_bytes(mut self, bytes: usize) -> Self {
        self.max_body_bytes = bytes;
        self
    }

    /// Declares the body of the failures of all operations.
    pub(crate) fn with_errors<T: JsonSchema>(mut self) -> Self {
        for (_, _, operation) in &mut self.operations {
            *operation = operation.clone().errors::<T>(&["4XX", "5XX"]);
        }
        self
    }

    /// Describes an operation. axum's `{*name}` is written `{name}` in the document.
    pub(crate) fn add(&mut self, method: &'static str, path: &str, operation: ApiOperation) {
        self.operations.push((method, path.replace("{*", "{"), operation));
    }
}

impl<S: Clone + Send + Sync + 'static> Routes<S> {
    pub(crate) fn new(tag: &'static str, description: &'static str) -> Self {
        Self { router: Router::new(), section: Section::new(tag, description) }
    }

    /// Adds a route with its description.
    pub(crate) fn route(
        mut self,
        method: &'static str,
        path: &str,
        handler: MethodRouter<S>,
        operation: ApiOperation,
    ) -> Self {
        self.section.add(method, path, operation);
        self.undocumented(path, handler)
    }

    pub(crate) fn get<H: Handler<T, S>, T: 'static>(self, path: &str, handler: H, operation: ApiOperation) -> Self {
        self.route("get", path, routing::get(handler), operation)
    }

    pub(crate) fn post<H: Handler<T, S>, T: 'static>(self, path: &str, handler: H, operation: ApiOperation) -> Self {
        self.route("post", path, routing::post(handler), operation)
    }

    pub(crate) fn put<H: Handler<T, S>, T: 'static>(self, path: &str, handler: H, operation: ApiOperation) -> Self {
        self.route("put", path, routing::put(handler), operation)
    }

    pub(crate) fn delete<H: Handler<T, S>, T: 'static>(self, path: &str, handler: H, operation: ApiOperation) -> Self {
        self.route("delete", path, routing::delete(handler), operation)
    }

    /// Describes a further method of a route.
    #[cfg(feature = "oauth")]
    pub(crate) fn described(mut self, method: &'static str, path: &str, operation: ApiOperation) -> Self {
        self.section.add(method, path, operation);
        self
    }

    /// Adds a route that the document does not mention.
    pub(crate) fn undocumented(mut self, path: &str, handler: MethodRouter<S>) -> Self {
        self.router = self.router.route(path, handler);
        self
    }

    pub(crate) fn finish(self) -> (Router<S>, Section) {
        (self.router, self.section)
    }
}
