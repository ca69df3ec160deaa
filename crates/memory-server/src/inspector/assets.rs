//! The files of the page, embedded in the program.
//!
//! Reasons: `docs/design/decisions/0057-inspector-without-a-build-step.md`.

use axum::{
    Router,
    extract::Path,
    http::{
        HeaderMap, HeaderValue, StatusCode,
        header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, X_CONTENT_TYPE_OPTIONS},
    },
    response::{IntoResponse, Redirect, Response},
    routing::get,
};

use crate::{fault::Fault, part::ServerPart};

/// Only files of this server are loaded, and no script can turn a text into HTML (Trusted Types).
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

/// A file of the page.
#[derive(Debug)]
struct Asset {
    /// The path below `/ui/`.
    path: &'static str,
    content: &'static [u8],
}

/// Embeds files of the folder `ui`.
macro_rules! assets {
    ($($path:literal),+ $(,)?) => {
        &[$(Asset { path: $path, content: include_bytes!(concat!("../../ui/", $path)) }),+]
    };
}

const ASSETS: &[Asset] = assets![
    "app.css",
    "app.js",
    "dark.css",
    "icon.svg",
    "index.html",
    "lib/add_memory.js",
    "lib/api.js",
    "lib/audit_table.js",
    "lib/certificate.js",
    "lib/chart.js",
    "lib/choose_user.js",
    "lib/components.js",
    "lib/context_form.js",
    "lib/context_parts.js",
    "lib/context_texts.js",
    "lib/delete_dialog.js",
    "lib/dialog.js",
    "lib/download.js",
    "lib/evidence.js",
    "lib/explanation.js",
    "lib/fact_actions.js",
    "lib/fact_badges.js",
    "lib/fact_detail.js",
    "lib/fact_names.js",
    "lib/force_layout.js",
    "lib/format.js",
    "lib/graph_evidence.js",
    "lib/graph_kinds.js",
    "lib/graph_lines.js",
    "lib/graph_lists.js",
    "lib/graph_picture.js",
    "lib/keys.js",
    "lib/live.js",
    "lib/memory_filters.js",
    "lib/names.js",
    "lib/owner.js",
    "lib/rank_chart.js",
    "lib/record.js",
    "lib/retractions.js",
    "lib/review_queue.js",
    "lib/route.js",
    "lib/row_window.js",
    "lib/search_form.js",
    "lib/search_hit.js",
    "lib/selection.js",
    "lib/sentence.js",
    "lib/texts.js",
    "lib/theme.js",
    "lib/timeline.js",
    "lib/topics.js",
    "lib/ui.js",
    "vendor/cytoscape.js",
    "vendor/hooks.js",
    "vendor/htm.js",
    "vendor/preact.js",
    "vendor/uplot.css",
    "vendor/uplot.js",
    "views/about.js",
    "views/audit.js",
    "views/companion.js",
    "views/context.js",
    "views/conversations.js",
    "views/deletion.js",
    "views/facts.js",
    "views/graph.js",
    "views/memories.js",
    "views/operations.js",
    "views/overview.js",
    "views/record.js",
    "views/search.js",
    "views/server.js",
    "views/undo.js",
];

/// Returns the part with the files. They contain no memories, so they need no key.
pub(super) fn part() -> ServerPart {
    let router = Router::new()
        .route("/", get(async || Redirect::temporary("/ui/")))
        .route("/ui", get(async || Redirect::permanent("/ui/")))
        .route("/ui/", get(async |headers: HeaderMap| serve("index.html", &headers)))
        .route("/ui/{*path}", get(async |Path(path): Path<String>, headers: HeaderMap| serve(&path, &headers)));
    ServerPart { name: "inspector page", router, sections: Vec::new(), errors: Fault::into_response, background: None }
}

fn serve(path: &str, headers: &HeaderMap) -> Response {
    let Some(asset) = ASSETS.iter().find(|asset| asset.path == path) else {
        return Fault::not_found("the inspector has no such file; open /ui/").into_response();
    };
    let tag = format!("\"{}\"", &blake3::hash(asset.content).to_hex()[..32]);
    let is_known = headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut response = if is_known { StatusCode::NOT_MODIFIED.into_response() } else { asset.content.into_response() };
    let headers = response.headers_mut();
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    // A browser asks again each time, so that a newer program is never shown with older files.
    let fixed = [
        (CACHE_CONTROL, "no-cache"),
        (CONTENT_SECURITY_POLICY, CONTENT_POLICY),
        (CONTENT_TYPE, content_type(path)),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert("referrer-policy", HeaderValue::from_static("no-referrer"));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    response
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/html; charset=utf-8",
    }
}

#[cfg(test)]
mod tests;
