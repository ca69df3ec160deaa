//! The names of the default scenes.

/// Everyday life, the default scene.
pub const DAILY: &str = "daily";
/// Role-play: its events are not real.
pub const PLOT: &str = "plot";
/// Messages about the system itself. A label for single messages, never the scene of a session.
pub const META: &str = "meta";
