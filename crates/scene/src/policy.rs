//! Which scenes a recall may see.

use std::collections::BTreeMap;

use memory_engine_core::{Error, Field, Filter, Result, Value};
use serde::{Deserialize, Serialize};

use crate::{DAILY, META, PLOT};

/// For each scene that a conversation may be in, which scenes a recall sees from there, and with what weight.
///
/// The default: from `daily` life everything but `meta`, with `daily` before the rest; from a `plot` only plots; from
/// `meta` nothing at all. A scene that the policy does not name sees only itself. A record without a scene counts as one of
/// `unlabelled`, so that a plot does not see it.
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

/// What a recall sees from one scene. A weight of 0 is not seen at all.
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
    /// A view of nothing.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Sees this scene with this weight.
    #[must_use]
    pub fn with_scene(mut self, scene: impl Into<String>, weight: f64) -> Self {
        self.scenes.insert(scene.into(), weight);
        self
    }

    /// Sees every scene that is not named with this weight.
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
    /// Another view from a scene.
    #[must_use]
    pub fn with_view(mut self, scene: impl Into<String>, view: SceneView) -> Self {
        self.views.insert(scene.into(), view);
        self
    }

    /// Another scene for records that have none.
    #[must_use]
    pub fn with_unlabelled(mut self, scene: impl Into<String>) -> Self {
        self.unlabelled = scene.into();
        self
    }

    /// Reads a policy from TOML, laid over the default view by view, and checks it.
    ///
    /// # Errors
    /// `InvalidInput` with line and column for what is no TOML or no field of ours, and as [`ScenePolicy::validate`].
    pub fn from_toml(text: &str) -> Result<Self> {
        let policy: Self =
            toml::from_str(text).map_err(|e| Error::invalid("scene policy", e.to_string().trim_end()))?;
        policy.validate()?;
        Ok(policy)
    }

    /// Refuses weights that mean nothing.
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

    /// Whether there is anything to recall from this scene.
    pub fn recalls(&self, current: &str) -> bool {
        self.views.get(current).is_none_or(SceneView::sees_anything)
    }

    /// How much a record of a scene counts in a recall from the current one; 0 when it is not to be seen.
    pub fn weight(&self, current: &str, record: Option<&str>) -> f64 {
        let scene = record.unwrap_or(&self.unlabelled);
        match self.views.get(current) {
            Some(view) => view.weight(scene),
            None => f64::from(scene == current),
        }
    }

    /// The condition that a record is seen from this scene, for the stores; `None` when everything is. It lets through
    /// exactly what has a [`weight`](Self::weight) above 0.
    pub fn filter(&self, current: &str) -> Option<Filter> {
        let own = SceneView::nothing().with_scene(current, 1.0);
        let view = self.views.get(current).unwrap_or(&own);
        let named = |seen: bool| -> Vec<Value> {
            let scenes = view.scenes.iter().filter(|(_, weight)| (**weight > 0.0) == seen);
            scenes.map(|(scene, _)| Value::Text(scene.clone())).collect()
        };
        let missing = || Filter::Not(Box::new(Filter::Exists(Field::Scene)));
        let labelled = if view.others > 0.0 {
            // True of a record without a scene, too.
            Filter::Not(Box::new(Filter::In(Field::Scene, named(false))))
        } else {
            Filter::In(Field::Scene, named(true))
        };
        match (view.weight(&self.unlabelled) > 0.0, view.others > 0.0) {
            (true, true) if named(false).is_empty() => None,
            (true, true) | (false, false) => Some(labelled),
            (true, false) => Some(Filter::Or(vec![labelled, missing()])),
            (false, true) => Some(labelled.and(Filter::Exists(Field::Scene))),
        }
    }
}

/// What a file says, to be laid over the default.
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
mod tests {
    use memory_engine_core::{Kind, Record, Scope, SystemClock};
    use proptest::{option, prelude::*};

    use super::*;

    #[test]
    fn k5_daily_prefers_daily_a_plot_sees_plots_and_meta_sees_nothing() {
        let policy = ScenePolicy::default();
        let daily = policy.weight(DAILY, Some(DAILY));
        assert!(daily > policy.weight(DAILY, Some(PLOT)) && policy.weight(DAILY, Some(PLOT)) > 0.0);
        assert_eq!((policy.weight(PLOT, Some(PLOT)), policy.weight(PLOT, Some(DAILY))), (1.0, 0.0));
        assert!(policy.recalls(DAILY) && policy.recalls(PLOT) && !policy.recalls(META));
        assert_eq!(policy.weight(DAILY, Some(META)), 0.0);
        assert!([DAILY, PLOT, META].iter().all(|scene| policy.weight(META, Some(scene)) == 0.0));
    }

    #[test]
    fn a_record_without_a_scene_counts_as_daily() {
        let policy = ScenePolicy::default();
        assert_eq!((policy.weight(DAILY, None), policy.weight(PLOT, None)), (1.0, 0.0));
        assert_eq!(policy.with_unlabelled(PLOT).weight(PLOT, None), 1.0);
    }

    #[test]
    fn k5_a_scene_that_is_not_named_sees_itself() {
        let policy = ScenePolicy::default();
        assert_eq!((policy.weight("study", Some("study")), policy.weight("study", Some(DAILY))), (1.0, 0.0));
        assert!(policy.recalls("study") && policy.weight(DAILY, Some("study")) > 0.0);
    }

    #[test]
    fn a_mistake_is_named() {
        let message = |text| ScenePolicy::from_toml(text).unwrap_err().to_string();
        assert!(message("[views.plot]\nscene = {}").contains("unknown field `scene`"));
        assert!(message("[views.plot]\nothers = -1.0").contains("from 'plot' has a weight of -1"));
        assert!(message("[views.plot]\nothers = nan").contains("weight"));
        assert_eq!(ScenePolicy::from_toml("").unwrap(), ScenePolicy::default());
        let written = toml::to_string(&ScenePolicy::default()).unwrap();
        assert_eq!(ScenePolicy::from_toml(&written).unwrap(), ScenePolicy::default());
    }

    fn policies() -> impl Strategy<Value = ScenePolicy> {
        let scene = || prop_oneof![Just("daily"), Just("plot"), Just("meta"), Just("study")];
        let weight = || prop_oneof![Just(0.0), 0.1..2.0];
        let view = (proptest::collection::btree_map(scene(), weight(), 0..3), weight()).prop_map(|(scenes, others)| {
            let view = SceneView::nothing().with_others(others);
            scenes.into_iter().fold(view, |view, (scene, weight)| view.with_scene(scene, weight))
        });
        (proptest::collection::btree_map(scene(), view, 0..3), scene()).prop_map(|(views, unlabelled)| {
            let policy = ScenePolicy::default().with_unlabelled(unlabelled);
            views.into_iter().fold(policy, |policy, (scene, view)| policy.with_view(scene, view))
        })
    }

    proptest! {
        #[test]
        fn the_filter_lets_through_what_has_a_weight(
            policy in policies(),
            current in "daily|plot|meta|study|other",
            scene in option::of("daily|plot|meta|study|other"),
        ) {
            let mut record = Record::new(Scope::user("lin").unwrap(), Kind::TURN, "x", &SystemClock);
            record.scene = scene;
            let seen = policy.weight(&current, record.scene.as_deref()) > 0.0;
            let filter = policy.filter(&current);
            prop_assert!(filter.as_ref().is_none_or(|f| f.validate().is_ok()));
            prop_assert_eq!(filter.is_none_or(|f| f.matches(&record)), seen);
            prop_assert!(!seen || policy.recalls(&current));
        }
    }
}
