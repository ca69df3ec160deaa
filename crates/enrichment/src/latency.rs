//! Latency statistics: the time from a write until the background has done its jobs.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use memory_engine_core::Job;
use memory_engine_core::sync::Mutex;
use serde::{Serialize, Serializer};

/// Maximum number of latencies that are stored per job: those of the latest items.
const SAMPLES_PER_JOB: usize = 1000;

/// Latency statistics of a job: the time from the write that queued it until it was done.
///
/// The latency of [`Job::Embedding`] is the time until vector search finds a record; keyword search finds it as soon
/// as it is written. Serialized as numbers of seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct LatencyStats {
    /// Number of items: the latest ones, at most 1000.
    pub items: usize,
    /// Median.
    #[serde(serialize_with = "seconds")]
    pub p50: Duration,
    /// 95th percentile.
    #[serde(serialize_with = "seconds")]
    pub p95: Duration,
    /// Maximum.
    #[serde(serialize_with = "seconds")]
    pub longest: Duration,
}

fn seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

impl LatencyStats {
    /// Returns the statistics of these times.
    fn of(times: impl IntoIterator<Item = Duration>) -> Self {
        let mut times: Vec<Duration> = times.into_iter().collect();
        times.sort();
        // Nearest rank: a time that was measured.
        let at = |percent: usize| times.get((times.len() * percent).div_ceil(100).max(1) - 1).copied();
        let [p50, p95, longest] = [50, 95, 100].map(|percent| at(percent).unwrap_or_default());
        Self { items: times.len(), p50, p95, longest }
    }
}

/// The latest latencies of each job.
#[derive(Debug, Default)]
pub(crate) struct LatencyLog(Mutex<BTreeMap<Job, VecDeque<Duration>>>);

impl LatencyLog {
    /// Adds the latencies of items of a job.
    pub(crate) fn add(&self, job: Job, times: impl IntoIterator<Item = Duration>) {
        let mut jobs = self.0.lock();
        let samples = jobs.entry(job).or_default();
        samples.extend(times);
        samples.drain(..samples.len().saturating_sub(SAMPLES_PER_JOB));
    }

    /// Returns the statistics of each job.
    pub(crate) fn statistics(&self) -> BTreeMap<Job, LatencyStats> {
        let jobs = self.0.lock();
        let done = jobs.iter().filter(|(_, times)| !times.is_empty());
        done.map(|(job, times)| (*job, LatencyStats::of(times.iter().copied()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds_to_durations(times: impl IntoIterator<Item = u64>) -> Vec<Duration> {
        times.into_iter().map(Duration::from_secs).collect()
    }

    #[test]
    fn percentiles_are_measured_times() {
        let stats = LatencyStats::of(seconds_to_durations((1..=100).rev()));
        assert_eq!(
            (stats.items, stats.p50.as_secs(), stats.p95.as_secs(), stats.longest.as_secs()),
            (100, 50, 95, 100)
        );
        let one = LatencyStats::of(seconds_to_durations([7]));
        assert_eq!((one.p50.as_secs(), one.p95.as_secs(), one.longest.as_secs()), (7, 7, 7));
        assert_eq!(LatencyStats::of([]), LatencyStats::default());
    }

    #[test]
    fn statistics_cover_the_latest_items() {
        let log = LatencyLog::default();
        log.add(Job::Embedding, seconds_to_durations((0..700).map(|_| 60)));
        log.add(Job::Embedding, seconds_to_durations((0..999).map(|_| 1)));
        let stats = LatencyStats::of(log.0.lock()[&Job::Embedding].iter().copied());
        assert_eq!((stats.items, stats.p95.as_secs(), stats.longest.as_secs()), (1000, 1, 60));
    }
}
