//! The names of the default scenes.

/// Everyday life: the scene of a conversation in which none was entered.
pub const DAILY: &str = "daily";
/// A story that is played; what happens in it is not true.
pub const PLOT: &str = "plot";
/// Talk about the system itself: a label for one message, never the scene of a session.
pub const META: &str = "meta";
