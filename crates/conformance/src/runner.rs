//! Runs the scenarios as `libtest-mimic` trials, for a test with `harness = false`.
//!
//! Reasons: `docs/design/decisions/0049-conformance-reports-ignored.md`.

use std::{env, process::ExitCode};

use libtest_mimic::{Arguments, Trial};

use crate::{
    catalogue::{SCENARIOS, Scenario},
    world::{Skip, World, require},
};

/// Runs one scenario in one world.
type RunScenario = fn(&Scenario, &World);
/// Creates a new, empty world.
type MakeWorld = fn() -> Result<World, Skip>;

/// Runs the scenarios that the arguments of the process select. Use [`suite!`](crate::suite), which calls it.
pub fn run(run_scenario: RunScenario, world: MakeWorld) -> ExitCode {
    let arguments = Arguments::from_args();
    let required = env::var("CONFORMANCE_REQUIRE").unwrap_or_default();
    let trials = trials(run_scenario, world, &required);
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Returns one trial for each scenario. If no world can be created, all are ignored unless the backend is required.
fn trials(run_scenario: RunScenario, make: MakeWorld, required: &str) -> Vec<Trial> {
    let probe = make().map_err(|skip| require(skip, required));
    if let Err(Ok(reason)) = &probe {
        eprintln!("all scenarios are ignored: {reason}");
    }
    let trial = |scenario: &'static Scenario| {
        let is_ignored = match &probe {
            Ok(world) => scenario.missing(world).is_some(),
            Err(reason) => reason.is_ok(),
        };
        let name = format!("{}::{}", scenario.group, scenario.name);
        let trial = Trial::test(name, move || {
            let world = make().map_err(|skip| skip.reason)?;
            if let Some(capability) = scenario.missing(&world) {
                return Err(format!("the backend lacks {capability}").into());
            }
            run_scenario(scenario, &world);
            Ok(())
        });
        trial.with_ignored_flag(is_ignored)
    };
    SCENARIOS.iter().map(trial).collect()
}

#[cfg(test)]
mod tests;
