//! The resources of this process.

use std::{fs, path::Path};

use rustix::time::{ClockId, clock_gettime};

/// The seconds that all threads of this process have computed.
pub fn cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Resets the peak of the resident set, where the system supports it.
pub fn reset_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The peak of the resident set in MiB; 0 where there is no `/proc`.
pub fn peak_mb() -> f64 {
    kib("VmHWM:") / 1024.0
}

/// The resident set now, in MiB; 0 where there is no `/proc`.
pub fn resident_mb() -> f64 {
    kib("VmRSS:") / 1024.0
}

fn kib(name: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

/// Returns the disk space of all files of a directory, in MB.
pub fn disk_mb(directory: &Path) -> f64 {
    fn bytes(path: &Path) -> u64 {
        let Ok(entries) = fs::read_dir(path) else { return 0 };
        let size = |entry: fs::DirEntry| match entry.metadata() {
            Ok(about) if about.is_dir() => bytes(&entry.path()),
            Ok(about) => allocated(&about),
            Err(_) => 0,
        };
        entries.flatten().map(size).sum()
    }
    bytes(directory) as f64 / 1e6
}

#[cfg(unix)]
fn allocated(about: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::blocks(about) * 512
}

#[cfg(not(unix))]
fn allocated(about: &fs::Metadata) -> u64 {
    about.len()
}
