//! Tells addresses of databases from paths of files.

/// The kind of location that a text names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Notation {
    /// The path of a file.
    Path,
    /// The address of a Postgres database.
    Postgres,
    /// The address of something else, with its scheme if it certainly is one. It may contain a password.
    Unknown(Option<String>),
}

/// Returns the notation of a text.
///
/// A text with a scheme is an address. A text that only resembles an address, such as one in quotation marks or one
/// without slashes, is no path either: the message about a missing file would show its password. A path that begins
/// with `.` or `/` is always a path.
pub(super) fn notation(text: &str) -> Notation {
    if text.starts_with(['.', '/']) {
        return Notation::Path;
    }
    let bare = text.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<'));
    let (before_colon, after_colon) = bare.split_once(':').unwrap_or(("", ""));
    let is_drive = before_colon.len() == 1 && after_colon.starts_with(['/', '\\']);
    let scheme = Some(before_colon).filter(|name| is_scheme(name) && !is_drive);
    match scheme {
        Some(scheme) if after_colon.starts_with("//") => {
            let is_postgres = ["postgres", "postgresql"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
            if is_postgres && bare.len() == text.len() {
                Notation::Postgres
            } else {
                Notation::Unknown(Some(scheme.to_owned()))
            }
        }
        _ if text.contains('@') && (scheme.is_some() || text.contains("://")) => Notation::Unknown(None),
        _ => Notation::Path,
    }
}

fn is_scheme(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_paths_are_told_apart() {
        let unknown = |scheme: &str| Notation::Unknown(Some(scheme.to_owned()));
        for (text, expected) in [
            ("memory.db", Notation::Path),
            ("postgres", Notation::Path),
            ("./postgres://x", Notation::Path),
            ("./a:b@c.db", Notation::Path),
            ("C:\\lin@home\\memory.db", Notation::Path),
            ("C:/lin@home/memory.db", Notation::Path),
            ("lin@home.db", Notation::Path),
            ("12:30.db", Notation::Path),
            ("", Notation::Path),
            ("postgres://db/m", Notation::Postgres),
            ("PostgreSQL://db/m", Notation::Postgres),
            ("postgresql+psycopg://u:pw@h/x", unknown("postgresql+psycopg")),
            ("postgre://u:pw@h/x", unknown("postgre")),
            ("mysql://u:pw@h/x", unknown("mysql")),
            ("sqlite:///memory.db", unknown("sqlite")),
            (" postgres://u:pw@h/x", unknown("postgres")),
            ("\"postgres://u:pw@h/x\"", unknown("postgres")),
            ("postgres:u:pw@h/x", Notation::Unknown(None)),
            ("postgres:/u:pw@h/x", Notation::Unknown(None)),
            ("u:pw@h/x", Notation::Unknown(None)),
            ("db=postgres://u:pw@h/x", Notation::Unknown(None)),
        ] {
            assert_eq!(notation(text), expected, "{text}");
        }
    }
}
