//! Decides which scenes a recall may see.

use std::collections::BTreeMap;

use memory_engine_core::{Error, Field, Filter, FilterValue, Result};
use serde::{Deserialize, Serialize};

use crate::names::{DAILY, META, PLOT};

/// The scenes that a recall sees from each scene of a conversation, with their weights.
///
/// By default `daily` sees everything except `meta` and prefers `daily`, `plot` sees only plots, and `meta` sees
/// nothing. A scene without a view sees only itself. A record without a scene counts as a record of the scene
/// `unlabelled` (default: `daily`), so a plot does not see it.
///
/// ```
/// use memory_engine_scene::ScenePolicy;
///
/// let policy = ScenePolicy::from_toml(r#"
///     [views.study]
///     scenes = { study = 1.0, daily = 0.5 }
/// "#)?;
/// assert_eq!(policy.weight("study", Some("daily")), 0.5);
/// assert_eq!(policy.weight("study", Some("plot")), 0.0);
/// # Ok::<(), memory_engine_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Overlay")]
#[non_exhaustive]
pub struct ScenePolicy {
    /// The scene of records that have none.
    pub unlabelled: String,
    /// The view from each scene.
    pub views: BTreeMap<String, SceneView>,
}

/// The scenes that a recall sees from one scene. A scene with weight 0 is invisible.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct SceneView {
    /// The weight of each scene.
    pub scenes: BTreeMap<String, f64>,
    /// The weight of every scene that is not named.
    pub others: f64,
}

impl SceneView {
    /// Returns a view that sees nothing.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Sets the weight of a scene.
    #[must_use]
    pub fn with_scene(mut self, scene: impl Into<String>, weight: f64) -> Self {
        self.scenes.insert(scene.into(), weight);
        self
    }

    /// Sets the weight of every scene that is not named.
    #[must_use]
    pub fn with_others(mut self, weight: f64) -> Self {
        self.others = weight;
        self
    }

    fn weight(&self, scene: &str) -> f64 {
        self.scenes.get(scene).copied().unwrap_or(self.others)
    }

    fn sees_anything(&self) -> bool {
        self.others > 0.0 || self.scenes.values().any(|weight| *weight > 0.0)
    }
}

impl Default for ScenePolicy {
    fn default() -> Self {
        let daily = SceneView::nothing().with_scene(DAILY, 1.0).with_scene(PLOT, 0.6).with_scene(META, 0.0);
        let views = [
            (DAILY, daily.with_others(0.6)),
            (PLOT, SceneView::nothing().with_scene(PLOT, 1.0)),
            (META, SceneView::nothing()),
        ];
        Self { unlabelled: DAILY.into(), views: views.map(|(name, view)| (name.into(), view)).into() }
    }
}

impl ScenePolicy {
    /// Sets the view from a scene.
    #[must_use]
    pub fn with_view(mut self, scene: impl Into<String>, view: SceneView) -> Self {
        self.views.insert(scene.into(), view);
        self
    }

    /// Sets the scene of records that have none.
    #[must_use]
    pub fn with_unlabelled(mut self, scene: impl Into<String>) -> Self {
        self.unlabelled = scene.into();
        self
    }

    /// Reads a policy from TOML and validates it. A view replaces the default view of the same scene.
    ///
    /// # Errors
    /// `InvalidInput` with line and column for invalid TOML and unknown fields, and the errors of
    /// [`ScenePolicy::validate`].
    pub fn from_toml(text: &str) -> Result<Self> {
        let policy: Self =
            toml::from_str(text).map_err(|e| Error::invalid("scene policy", e.to_string().trim_end()))?;
        policy.validate()?;
        Ok(policy)
    }

    /// Validates the weights.
    ///
    /// # Errors
    /// `InvalidInput` for a weight that is not between 0 and 10.
    pub fn validate(&self) -> Result<()> {
        for (scene, view) in &self.views {
            if let Some(weight) = view.scenes.values().chain([&view.others]).find(|w| !(0.0..=10.0).contains(*w)) {
                let message = format!("the view from '{scene}' has a weight of {weight}; weights go from 0 to 10");
                return Err(Error::invalid("scene policy", message));
            }
        }
        Ok(())
    }

    /// Returns true if any memories are visible from this scene.
    pub fn recalls(&self, current: &str) -> bool {
        self.views.get(current).is_none_or(SceneView::sees_anything)
    }

    /// Returns the weight of records of a scene in a recall from the current one; 0 if they are invisible.
    pub fn weight(&self, current: &str, record: Option<&str>) -> f64 {
        let scene = record.unwrap_or(&self.unlabelled);
        match self.views.get(current) {
            Some(view) => view.weight(scene),
            None => f64::from(scene == current),
        }
    }

    /// Returns the filter for records that are visible from this scene, those with a [`weight`](Self::weight) above 0.
    /// `None` if all records are visible.
    pub fn filter(&self, current: &str) -> Option<Filter> {
        let own = SceneView::nothing().with_scene(current, 1.0);
        let view = self.views.get(current).unwrap_or(&own);
        let named_scenes = |is_visible: bool| -> Vec<FilterValue> {
            let scenes = view.scenes.iter().filter(|(_, weight)| (**weight > 0.0) == is_visible);
            scenes.map(|(scene, _)| FilterValue::Text(scene.clone())).collect()
        };
        let is_unlabelled = || Filter::Not(Box::new(Filter::Exists(Field::Scene)));
        let labelled = if view.others > 0.0 {
            // This filter also passes records without a scene.
            Filter::Not(Box::new(Filter::In(Field::Scene, named_scenes(false))))
        } else {
            Filter::In(Field::Scene, named_scenes(true))
        };
        match (view.weight(&self.unlabelled) > 0.0, view.others > 0.0) {
            (true, true) if named_scenes(false).is_empty() => None,
            (true, true) | (false, false) => Some(labelled),
            (true, false) => Some(Filter::Or(vec![labelled, is_unlabelled()])),
            (false, true) => Some(labelled.and(Filter::Exists(Field::Scene))),
        }
    }
}

/// The settings of a file, which override the defaults.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Overlay {
    unlabelled: Option<String>,
    #[serde(default)]
    views: BTreeMap<String, SceneView>,
}

impl From<Overlay> for ScenePolicy {
    fn from(overlay: Overlay) -> Self {
        let mut policy = Self::default();
        if let Some(scene) = overlay.unlabelled {
            policy.unlabelled = scene;
        }
        policy.views.extend(overlay.views);
        policy
    }
}

#[cfg(test)]
mod tests;
