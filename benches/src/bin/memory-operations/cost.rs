//! The cost of repeated calls.

use std::time::Instant;

use memory_engine_benches::{
    process,
    times::{percentile, rounded},
};
use serde::Serialize;

/// The cost of one operation.
#[derive(Debug, Serialize)]
pub(crate) struct Cost {
    /// Number of counted calls.
    repetitions: usize,
    /// Processor time of all threads per call, in milliseconds.
    cpu_ms: f64,
    /// Median duration of a call, in milliseconds.
    wall_ms_median: f64,
}

/// Measures calls, one after another.
#[derive(Debug)]
pub(crate) struct CostMeter {
    cpu_s: f64,
    last: Instant,
    wall_ms: Vec<f64>,
}

impl CostMeter {
    /// Starts to measure.
    pub(crate) fn start() -> Self {
        Self { cpu_s: process::cpu_s(), last: Instant::now(), wall_ms: Vec::new() }
    }

    /// Ends the measurement of one call and starts that of the next.
    pub(crate) fn next(&mut self) {
        let now = Instant::now();
        self.wall_ms.push((now - self.last).as_secs_f64() * 1e3);
        self.last = now;
    }

    /// Returns the cost of the calls so far.
    pub(crate) fn finish(self) -> Cost {
        let repetitions = self.wall_ms.len();
        let cpu_ms = (process::cpu_s() - self.cpu_s) * 1e3 / repetitions.max(1) as f64;
        let wall_ms_median = if repetitions == 0 { 0.0 } else { percentile(&self.wall_ms, 0.5) };
        Cost { repetitions, cpu_ms: rounded(cpu_ms), wall_ms_median: rounded(wall_ms_median) }
    }
}
