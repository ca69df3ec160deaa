//! The span and the metrics of a verb: a public method of the engine or of a handle, as in `docs/reference/metrics.md`.

use memory_engine_core::{
    Result,
    audit::{AuditAction, AuditContext, in_context},
    observe::{Operation, observe},
};
use tracing::Span;

/// Runs the work of a verb in the span `memory_engine.NAME`, with the fields of its scope, if it has one, and its own
/// fields. `note` records the fields that depend on the result. `docs/reference/metrics.md` lists all spans and fields.
#[macro_export]
macro_rules! verb {
    ($name:literal, $scope:expr, { $($fields:tt)* }, $work:expr) => {
        $crate::verb!($name, $scope, { $($fields)* }, $work, |_, _| ())
    };
    ($name:literal, $scope:expr, { $($fields:tt)* }, $work:expr, $note:expr) => {{
        let span = memory_engine_core::operation_span!(
            DEBUG, concat!("memory_engine.", $name), scope: $scope, $($fields)*
        );
        $crate::verb::run($name, &span, $work, $note).await
    }};
    ($name:literal, { $($fields:tt)* }, $work:expr) => {{
        let span = memory_engine_core::operation_span!(DEBUG, concat!("memory_engine.", $name), $($fields)*);
        $crate::verb::run($name, &span, $work, |_, _| ()).await
    }};
}

/// Runs the work of a verb in its span. If it succeeds, calls `note` with the span and the value.
///
/// # Errors
/// Those of the work.
pub fn run<T>(
    name: &'static str,
    span: &Span,
    work: impl Future<Output = Result<T>>,
    note: impl FnOnce(&Span, &T),
) -> impl Future<Output = Result<T>> {
    let observed = observe(span, Operation::Verb(name), in_verb(name, work));
    async move {
        let result = observed.await?;
        note(span, &result);
        Ok(result)
    }
}

/// Runs the work of a verb so that the changes that it makes are logged as its action, or as that of the work that it
/// is a part of.
async fn in_verb<T>(name: &'static str, work: impl Future<Output = T>) -> T {
    let Some(action) = audit_action(name) else { return work.await };
    let context = AuditContext::current();
    if context.verb().is_some() {
        return work.await;
    }
    in_context(context.with_verb(action, name), Box::pin(work)).await
}

/// Returns the action of a verb in the audit log; `None` for a verb that changes no record. A change within a verb
/// without an action would be logged as background work: a test compares the two lists with the verbs in the source.
fn audit_action(verb: &str) -> Option<AuditAction> {
    Some(match verb {
        "remember"
        | "remember_all"
        | "store"
        | "fork"
        | "admin.write"
        | "admin.remember_without"
        | "admin.store_embedded"
        | "admin.store_from"
        | "remember_from" => AuditAction::Write,
        "update" | "patch" => AuditAction::Change,
        "retract" | "rewind" | "forget_topic" => AuditAction::Retract,
        "restore" | "restore_topic" => AuditAction::Restore,
        "forget" | "forget_with_certificate" | "block" => AuditAction::Delete,
        "accept" | "accept_edited" | "reject" => AuditAction::Review,
        "scan_secrets" => AuditAction::Redact,
        "import" | "admin.import_tombstones" => AuditAction::Import,
        "admin.enrich" | "admin.facts_from" | "admin.summarize_now" => AuditAction::Derive,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    /// The verbs that change no record.
    const READING_VERBS: &[&str] = &[
        "admin.adopt_vectors",
        "admin.analyze_texts",
        "admin.cut_over",
        "admin.damaged_records",
        "admin.drop_second_embedding_version",
        "admin.failures",
        "admin.embedding_versions",
        "admin.reindex",
        "admin.requeue_enrichment",
        "admin.retry_dead_letters",
        "admin.search_vectors",
        "admin.tombstones",
        "audit.chain",
        "audit.log_export",
        "audit.prune",
        "audit.read",
        "audit.start",
        "audit.verify",
        "close",
        "context",
        "derived",
        "drain",
        "explain",
        "facts",
        "fork_of",
        "get",
        "get_all",
        "get_as_of",
        "graph.facts",
        "graph.index",
        "graph.rebuild",
        "kept_out",
        "pending_reviews",
        "period_counts",
        "preview_forget",
        "recall",
        "recall_enhanced",
        "record_groups",
        "retractions",
        "scan",
        "scan_as_of",
        "stats",
        "timeline",
        "verify_certificate",
        "warm_up",
    ];

    /// Adds the names of the verbs in the sources of a directory.
    fn collect_verbs(directory: &Path, verbs: &mut BTreeSet<String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect_verbs(&path, verbs);
            } else if !path.ends_with("verb.rs") {
                let source = fs::read_to_string(&path).unwrap();
                let calls = source.split("verb!(").skip(1);
                let name = |call: &str| Some(call.trim_start().strip_prefix('"')?.split_once('"')?.0.to_owned());
                verbs.extend(calls.filter_map(name));
            }
        }
    }

    #[test]
    fn every_verb_has_an_audit_action_or_changes_no_record() {
        let mut verbs = BTreeSet::new();
        for verbs_of in ["memory-engine/src", "recall/src"] {
            collect_verbs(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(verbs_of), &mut verbs);
        }
        assert!(verbs.len() > 40, "{verbs:?}");
        for verb in &verbs {
            let is_reading = READING_VERBS.contains(&verb.as_str());
            assert_ne!(
                is_reading,
                audit_action(verb).is_some(),
                "give the verb {verb} an action in `audit_action`, or list it as one that changes no record"
            );
        }
    }
}
