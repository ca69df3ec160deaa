//! The CPU time of a process.

/// Clock ticks per second in `/proc`: a constant of Linux for programs, independent of the kernel's timer.
const TICKS: f64 = 100.0;

/// The seconds that all threads of this process have computed, to a hundredth; `None` where there is no `/proc`.
pub(crate) fn spent() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program comes second, in brackets, and may hold blanks; user and system time are fields 14 and
    // 15.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let ticks: u64 = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(ticks as f64 / TICKS)
}
