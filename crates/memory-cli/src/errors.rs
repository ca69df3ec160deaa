//! Error messages for people.

/// Joins the messages of an error's chain down to the engine's own error. The causes below it are for debugging.
pub(crate) fn describe(error: &anyhow::Error) -> String {
    let engine = error.chain().position(|e| e.is::<memory_engine::Error>());
    let parts = error.chain().take(engine.map_or(usize::MAX, |n| n + 1)).map(ToString::to_string);
    parts.collect::<Vec<_>>().join(": ")
}

/// Returns the command that solves the problem, if there is one.
pub(crate) fn hint(error: &anyhow::Error) -> Option<&'static str> {
    let error = error.chain().find_map(|e| e.downcast_ref::<memory_engine::Error>())?;
    let message = error.message();
    if message.contains("drop_second_generation") {
        Some("`memory reindex --drop` removes the second vectors.")
    } else if message.contains("Mismatch::") {
        Some("`memory reindex` with this embedder rebuilds the indexes; others can search the old ones meanwhile.")
    } else {
        None
    }
}

/// Returns true if standard output was closed by its reader, for example by `head`.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|e| e.downcast_ref::<std::io::Error>());
    causes.any(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}
