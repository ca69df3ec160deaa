//! Everything that needs a server, against the one that the variable `DATABASE_URL` names (`scripts/with-postgres` provides
//! one). Without it the tests are listed as ignored; where `CONFORMANCE_REQUIRE` names `postgres`, they then fail.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod conformance;
mod given;

use libtest_mimic::{Arguments, Trial};

/// Makes a trial of each function: a sentence about a database that is its own.
macro_rules! sentences {
    ($module:ident: $($name:ident),* $(,)?) => {
        vec![$(crate::trial(concat!(stringify!($module), "::", stringify!($name)), |database| {
            crate::given::block_on($module::$name(database));
        })),*]
    };
}

fn trial(name: &str, run: impl FnOnce(&given::Database) + Send + 'static) -> Trial {
    let trial = Trial::test(name, move || {
        run(&given::Database::new()?);
        Ok(())
    });
    trial.with_ignored_flag(given::url().is_none() && !given::is_required())
}

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = conformance::trials();
    trials.extend(sentences!(given: a_database_of_a_test_is_its_own));
    libtest_mimic::run(&arguments, trials).exit();
}
