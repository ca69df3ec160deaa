//! Durations on the command line.

use std::{str::FromStr, time::Duration};

use memory_engine::retention::parse_time_to_live;

/// A time to live, such as `30d`, `12h` or `2 weeks`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeToLive(pub(crate) Duration);

impl FromStr for TimeToLive {
    type Err = memory_engine::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_time_to_live(text).map(Self)
    }
}
