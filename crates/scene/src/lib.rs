#![doc = include_str!("../README.md")]

mod detector;
mod names;
mod policy;
mod rules;
mod sessions;

pub use detector::{Detection, SceneChange, SceneDetector, SceneReason};
pub use names::{DAILY, META, PLOT};
pub use policy::{ScenePolicy, SceneView};
pub use rules::{LabelRule, SceneRule, SceneRules};
pub use sessions::SessionLimits;
