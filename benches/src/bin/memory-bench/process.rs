//! What this process has used.

use std::{fs, path::Path};

use rustix::time::{ClockId, clock_gettime};

/// The seconds that all threads of this process have computed.
pub(crate) fn cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Has the peak of the resident set begin anew. Where that cannot be done, it stays what it was.
pub(crate) fn reset_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The peak of the resident set in MiB; 0 where there is no `/proc`.
pub(crate) fn peak_mb() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|peak| peak.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or_default() / 1024.0
}

/// What all files of a directory take on the disk, in MB.
pub(crate) fn disk_mb(directory: &Path) -> f64 {
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
