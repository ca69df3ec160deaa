//! Property tests for asynchronous scenarios. The random cases are the same in every run.

use std::{error::Error, fmt::Debug};

use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::TestRunner,
};

/// The result of a case, with the reason of a failure.
pub(crate) type CaseResult = Result<(), Box<dyn Error>>;

/// Fails the case with a message if the condition is false.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+).into());
        }
    };
}
pub(crate) use ensure;

/// Number of generated cases if the variable `CONFORMANCE_CASES` is not set.
const CASES: u32 = 24;
/// Maximum number of attempts to shrink a failed case before it is shown.
const MAX_SHRINK_STEPS: usize = 400;

/// Generates random cases and checks each of them.
///
/// `check` gets a tenant that no other case uses, so that all cases can share one world.
///
/// # Panics
/// Panics if a case fails. The message contains the smallest failing case found.
pub(crate) async fn for_all<S: Strategy>(strategy: S, check: impl AsyncFn(&str, &S::Value) -> CaseResult)
where
    S::Value: Debug,
{
    let cases = std::env::var("CONFORMANCE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(CASES);
    let mut runner = TestRunner::deterministic();
    for case in 0..cases {
        let mut tree = strategy.new_tree(&mut runner).unwrap();
        let Err(error) = check(&format!("case-{case}"), &tree.current()).await else { continue };
        let mut smallest = tree.current();
        let mut reason = error.to_string();
        let mut can_shrink = tree.simplify();
        for shrink_step in 0..MAX_SHRINK_STEPS {
            if !can_shrink {
                break;
            }
            let smaller = tree.current();
            can_shrink = match check(&format!("case-{case}-{shrink_step}"), &smaller).await {
                Ok(()) => tree.complicate(),
                Err(error) => {
                    smallest = smaller;
                    reason = error.to_string();
                    tree.simplify()
                }
            };
        }
        panic!("case {case} failed: {reason}\n smallest failing case: {smallest:#?}");
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, executor::block_on};

    use super::*;

    #[test]
    fn a_failing_case_is_shrunk_and_shown() {
        let cases = for_all(0_u32..10_000, async |_, n| {
            ensure!(*n < 77, "{n} is too many");
            Ok(())
        });
        let panic = block_on(std::panic::AssertUnwindSafe(cases).catch_unwind()).unwrap_err();
        let message = panic.downcast_ref::<String>().unwrap();
        assert!(message.contains("77 is too many"), "{message}");
    }
}
