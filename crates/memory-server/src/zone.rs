//! Time zones, as people write them.

use jiff::{fmt::temporal::DateTimeParser, tz::TimeZone};
use memory_engine::{Error, Result};

/// The zone of this name: `Asia/Shanghai`, `UTC`, or an offset such as `+08:00`, `+0800`, `+08` or `+8`.
///
/// # Errors
/// `InvalidInput` for what is none of these.
///
/// ```
/// # use memory_engine_server::zone;
/// assert_eq!(zone("+8")?, zone("+08:00")?);
/// assert_eq!(zone("Asia/Shanghai")?.iana_name(), Some("Asia/Shanghai"));
/// # Ok::<(), memory_engine::Error>(())
/// ```
pub fn zone(name: &str) -> Result<TimeZone> {
    let unknown = |e| {
        let message = format!("there is no time zone '{name}'; write Asia/Shanghai, +08:00 or UTC");
        Error::invalid("zone", message).with_source(e)
    };
    DateTimeParser::new().parse_time_zone(padded(name.trim())).map_err(unknown)
}

/// An hour of one digit with another before it.
fn padded(name: &str) -> String {
    let bytes = name.as_bytes();
    let is_short = matches!(bytes, [b'+' | b'-', hour, rest @ ..]
        if hour.is_ascii_digit() && rest.first().is_none_or(|next| *next == b':'));
    if is_short { format!("{}0{}", &name[..1], &name[1..]) } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use jiff::tz::Offset;

    use super::*;

    #[test]
    fn a_zone_has_a_name_or_an_offset_however_short() {
        let fixed = |seconds: i32| TimeZone::fixed(Offset::from_seconds(seconds).unwrap());
        for (name, seconds) in [
            ("+08:00", 28_800),
            ("+8", 28_800),
            ("+0800", 28_800),
            ("+08", 28_800),
            ("-5", -18_000),
            ("-3:30", -12_600),
        ] {
            assert_eq!(zone(name).unwrap(), fixed(seconds), "{name}");
        }
        assert_eq!(zone("Asia/Shanghai").unwrap().iana_name(), Some("Asia/Shanghai"));
        assert!(zone("UTC").is_ok());
        for wrong in ["", "Mars", "+", "+8h", "8", "+80", "北京"] {
            assert!(zone(wrong).unwrap_err().to_string().contains("Asia/Shanghai"), "{wrong}");
        }
    }
}
