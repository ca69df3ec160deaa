//! Error messages for people.

/// Joins the messages of an error's chain down to the engine's own error. The causes below it are for debugging. A
/// message that a later one contains, such as a path, is left out.
pub(crate) fn describe(error: &anyhow::Error) -> String {
    let engine = error.chain().position(|e| e.is::<memory_engine::Error>());
    let mut parts: Vec<String> = Vec::new();
    for part in error.chain().take(engine.map_or(usize::MAX, |n| n + 1)).map(ToString::to_string) {
        parts.retain(|earlier| !part.contains(earlier.as_str()));
        parts.push(part);
    }
    parts.join(": ")
}

/// Returns the command or the option that solves the problem, if there is one.
pub(crate) fn hint(error: &anyhow::Error) -> Option<String> {
    let error = error.chain().find_map(|e| e.downcast_ref::<memory_engine::Error>())?;
    let message = error.message();
    if message.contains("drop_second_embedding_version") {
        Some("`memory reindex --drop` removes the second vectors.".into())
    } else if message.contains("Mismatch::") {
        let option = stored_model(message).map_or("--embedder NAME".into(), embedder_option);
        Some(format!(
            "{option} opens the store with the embedder of its vectors. `memory reindex` with this embedder rebuilds \
             the indexes; others can search the old ones meanwhile."
        ))
    } else if message.contains("is encrypted; give its key") {
        Some("Set MEMORY_DATABASE_KEY to the key, or MEMORY_DATABASE_KEY_FILE to the path of a file with it.".into())
    } else if message.contains("is not encrypted, but a key is given") {
        Some("`memory rekey` encrypts it: unset MEMORY_DATABASE_KEY, and set MEMORY_DATABASE_NEW_KEY instead.".into())
    } else {
        None
    }
}

/// Returns the name of the model whose vectors are stored, from the message about other vectors.
fn stored_model(message: &str) -> Option<&str> {
    let (_, space) = message.split_once("in the embedding space '")?;
    space.split_once(" (").map(|(model, _)| model)
}

/// Returns the option that selects the embedder with a model.
fn embedder_option(model: &str) -> String {
    match model {
        "e5-small-q4" | "multilingual-e5-small" => {
            "--embedder local:e5-small (with --models-dir DIR for the folder of its model)".into()
        }
        _ if model.starts_with("words") => "--embedder words".into(),
        _ if model.starts_with("hash") => "--embedder hash".into(),
        _ => format!("--embedder local:PATH or --embedder SERVICE:MODEL, for the model {model},"),
    }
}

/// Returns true if standard output was closed by its reader, for example by `head`.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|e| e.downcast_ref::<std::io::Error>());
    causes.any(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_cause_says_is_not_said_twice() {
        let error = |cause: &'static str| anyhow::Error::msg(cause).context("a.db").context("the copy is incomplete");
        assert_eq!(describe(&error("open: a.db: no access")), "the copy is incomplete: open: a.db: no access");
        assert_eq!(describe(&error("disk full")), "the copy is incomplete: a.db: disk full");
    }

    #[test]
    fn a_hint_names_the_option_for_the_stored_vectors() {
        let hint = |model: &str| {
            let message =
                format!("the vectors are in the embedding space '{model} (384-d, cosine)', but … Mismatch::Refill");
            let error = memory_engine::Error::new(memory_engine::ErrorKind::SchemaMismatch, "open", message);
            hint(&anyhow::Error::new(error)).unwrap_or_default()
        };
        assert!(hint("e5-small-q4").starts_with("--embedder local:e5-small "), "{}", hint("e5-small-q4"));
        assert!(hint("words-v1").starts_with("--embedder words opens"));
        assert!(hint("text-embedding-3-small").contains("for the model text-embedding-3-small"));
    }
}
