//! Random cases, the same ones every time, for scenarios that are asynchronous.

use std::{error::Error, fmt::Debug};

use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::TestRunner,
};

/// The result of a case, with the reason of a failure.
pub(crate) type Verdict = Result<(), Box<dyn Error>>;

/// Fails the case with a message unless the condition holds.
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
const REDUCTIONS: usize = 400;

/// Draws cases and checks each; `check` is also given a tenant that no other case has, so that all can share a world.
///
/// # Panics
/// When a case does not hold, with the smallest one that was found.
pub(crate) async fn for_all<S: Strategy>(strategy: S, check: impl AsyncFn(&str, &S::Value) -> Verdict)
where
    S::Value: Debug,
{
    let cases = std::env::var("CONFORMANCE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(CASES);
    let mut runner = TestRunner::deterministic();
    for case in 0..cases {
        let mut tree = strategy.new_tree(&mut runner).unwrap();
        let Err(why) = check(&format!("case-{case}"), &tree.current()).await else { continue };
        let (mut smallest, mut why) = (tree.current(), why.to_string());
        let mut more = tree.simplify();
        for reduction in 0..REDUCTIONS {
            if !more {
                break;
            }
            let smaller = tree.current();
            more = match check(&format!("case-{case}-{reduction}"), &smaller).await {
                Ok(()) => tree.complicate(),
                Err(e) => {
                    (smallest, why) = (smaller, e.to_string());
                    tree.simplify()
                }
            };
        }
        panic!("case {case} does not hold: {why}\n the case, reduced: {smallest:#?}");
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, executor::block_on};

    use super::*;

    #[test]
    fn a_case_that_does_not_hold_is_reduced_and_shown() {
        let below = for_all(0_u32..10_000, async |_, n| {
            ensure!(*n < 77, "{n} is too many");
            Ok(())
        });
        let panic = block_on(std::panic::AssertUnwindSafe(below).catch_unwind()).unwrap_err();
        let message = panic.downcast_ref::<String>().unwrap();
        assert!(message.contains("77 is too many"), "{message}");
    }
}
