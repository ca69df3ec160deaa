#![doc = include_str!("../README.md")]

mod compiled;
mod daily_life;
mod detector;
mod message;
mod names;
mod patterns;
mod policy;
mod rules;
mod sessions;

pub use detector::{Detection, SceneChange, SceneDetector, SceneReason};
pub use message::MessagePart;
pub use names::{DAILY, META, PLOT};
pub use patterns::{PatternEffect, ScenePattern};
pub use policy::{ScenePolicy, SceneView};
pub use rules::{LabelRule, SceneRule, SceneRules};
pub use sessions::SessionLimits;
