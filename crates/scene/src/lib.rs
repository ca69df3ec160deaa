#![doc = include_str!("../README.md")]

mod detector;
mod policy;
mod rules;
mod sessions;

pub use detector::{Detection, Reason, SceneChange, SceneDetector};
pub use policy::{ScenePolicy, SceneView};
pub use rules::{LabelRule, SceneRule, SceneRules};
pub use sessions::SessionLimits;

/// Everyday life: the scene of a conversation in which none was entered.
pub const DAILY: &str = "daily";
/// A story that is played; what happens in it is not true.
pub const PLOT: &str = "plot";
/// Talk about the system itself: a label for one message, never the scene of a session.
pub const META: &str = "meta";
