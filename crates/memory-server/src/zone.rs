//! Time zones by name.

use jiff::{fmt::temporal::DateTimeParser, tz::TimeZone};
use memory_engine::{Error, Result};

/// Returns the zone with this name: `Asia/Shanghai`, `UTC`, or an offset such as `+08:00`, `+0800`, `+08` or `+8`.
///
/// # Errors
/// `InvalidInput` for any other text.
///
/// ```
/// # use memory_engine_server::zone;
/// assert_eq!(zone("+8")?, zone("+08:00")?);
/// assert_eq!(zone("Asia/Shanghai")?.iana_name(), Some("Asia/Shanghai"));
/// # Ok::<(), memory_engine::Error>(())
/// ```
pub fn zone(name: &str) -> Result<TimeZone> {
    DateTimeParser::new().parse_time_zone(with_two_digit_hour(name.trim())).map_err(|e| {
        let message = format!("'{name}' is not a time zone; write for example Asia/Shanghai, +08:00 or UTC");
        Error::invalid("zone", message).with_source(e)
    })
}

/// Returns the time zone of this machine, or UTC if it is unknown.
pub fn local_zone() -> TimeZone {
    TimeZone::try_system().unwrap_or(TimeZone::UTC)
}

/// Adds the leading zero to an offset with a one-digit hour, as `+8`.
fn with_two_digit_hour(name: &str) -> String {
    let bytes = name.as_bytes();
    let is_short = matches!(bytes, [b'+' | b'-', hour, rest @ ..]
        if hour.is_ascii_digit() && rest.first().is_none_or(|next| *next == b':'));
    if is_short { format!("{}0{}", &name[..1], &name[1..]) } else { name.to_owned() }
}

#[cfg(test)]
mod tests;
