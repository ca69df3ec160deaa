#![allow(clippy::unwrap_used, reason = "a test may panic")]

use jiff::tz::Offset;

use super::*;

#[test]
fn zones_are_names_or_offsets() {
    let fixed = |seconds: i32| TimeZone::fixed(Offset::from_seconds(seconds).unwrap());
    for (name, seconds) in
        [("+08:00", 28_800), ("+8", 28_800), ("+0800", 28_800), ("+08", 28_800), ("-5", -18_000), ("-3:30", -12_600)]
    {
        assert_eq!(zone(name).unwrap(), fixed(seconds), "{name}");
    }
    assert_eq!(zone("Asia/Shanghai").unwrap().iana_name(), Some("Asia/Shanghai"));
    assert!(zone("UTC").is_ok());
    for invalid in ["", "Mars", "+", "+8h", "8", "+80", "北京"] {
        assert!(zone(invalid).unwrap_err().to_string().contains("Asia/Shanghai"), "{invalid}");
    }
}
