use memory_engine_core::{Kind, Record, Scope, SystemClock};
use proptest::{option, prelude::*};

use super::*;

#[test]
fn k5_default_views() {
    let policy = ScenePolicy::default();
    let daily = policy.weight(DAILY, Some(DAILY));
    assert!(daily > policy.weight(DAILY, Some(PLOT)) && policy.weight(DAILY, Some(PLOT)) > 0.0);
    assert_eq!((policy.weight(PLOT, Some(PLOT)), policy.weight(PLOT, Some(DAILY))), (1.0, 0.0));
    assert!(policy.recalls(DAILY) && policy.recalls(PLOT) && !policy.recalls(META));
    assert_eq!(policy.weight(DAILY, Some(META)), 0.0);
    assert!([DAILY, PLOT, META].iter().all(|scene| policy.weight(META, Some(scene)) == 0.0));
}

#[test]
fn unlabelled_record_counts_as_daily() {
    let policy = ScenePolicy::default();
    assert_eq!((policy.weight(DAILY, None), policy.weight(PLOT, None)), (1.0, 0.0));
    assert_eq!(policy.with_unlabelled(PLOT).weight(PLOT, None), 1.0);
}

#[test]
fn k5_unknown_scene_sees_only_itself() {
    let policy = ScenePolicy::default();
    assert_eq!((policy.weight("study", Some("study")), policy.weight("study", Some(DAILY))), (1.0, 0.0));
    assert!(policy.recalls("study") && policy.weight(DAILY, Some("study")) > 0.0);
}

#[test]
fn invalid_policy_is_explained() {
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
    fn filter_passes_visible_records(
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
