//! The numbered migrations. Both backends have the same ones, so that a number of a schema means the same for both.
//!
//! The SQL is in `migrations/NAME.up.sql` and `migrations/NAME.down.sql` of each backend.

/// A numbered step of the schema, and its reversal.
#[derive(Debug)]
pub struct Migration {
    /// The number and the subject.
    pub name: &'static str,
    /// The statements of the step.
    pub up: &'static str,
    /// The statements that revert it.
    pub down: &'static str,
}

/// Returns the migrations of a backend in order. The version of the schema is their count. The calling file must be in
/// `src/FOLDER/`: the paths lead to `migrations` next to `src`.
#[macro_export]
macro_rules! migrations {
    () => {
        $crate::migrations!["0001_initial"]
    };
    ($($name:literal),+) => {
        [$(
            $crate::migrations::Migration {
                name: $name,
                up: include_str!(concat!("../../migrations/", $name, ".up.sql")),
                down: include_str!(concat!("../../migrations/", $name, ".down.sql")),
            }
        ),+]
    };
}
