//! The values of random records and filters.

/// Texts that differ in case folding, collation, quoting or length between query languages.
pub(super) const TEXTS: &[&str] = &[
    "", " ", "a", "A", "b", "aa", "é", "e\u{301}", "ß", "雨", "\u{fffd}", "😀", "%", "_", "a%", "*", "'", "\"", "\\",
    "1", "1.0", "true", "null", "[1]", "a\n",
];

/// Metadata keys that a filter can name. Some contain characters with a meaning in JSON paths.
pub(super) const KEYS: &[&str] = &["mood", "a", "A", "a.b", "a-b", "0", "_", "键", "length"];

/// Numbers near the limits of exact integers in floating point, and other edge cases.
pub(super) const NUMBERS: &[f64] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.1,
    0.1 + 0.2,
    0.3,
    0.5,
    2.5,
    9_007_199_254_740_992.0,
    9_007_199_254_740_994.0,
    9.223_372_036_854_776e18,
    -9.223_372_036_854_776e18,
    1.844_674_407_370_955_2e19,
    4_294_967_295.0,
    1e300,
    -1e300,
    5e-324,
];

/// Sequence numbers. Some are different as integers and equal as floating-point numbers.
pub(super) const SEQUENCES: &[i64] =
    &[0, 1, -1, i64::MIN, i64::MAX, i64::MAX - 1, 1 << 53, (1 << 53) + 1, (1 << 53) + 2];

/// Shares between 0 and 1.
pub(super) const SHARES: &[f64] = &[0.0, 0.1, 0.1 + 0.2, 0.3, 0.5, 1.0];

/// Points in time, in microseconds since the Unix epoch.
pub(super) const TIMES: &[i64] =
    &[i64::MIN, -62_135_596_800_000_000, -1, 0, 1, 999_999, 1_000_000, 1_772_000_000_123_456, i64::MAX];
