use super::*;

#[test]
fn empty_file_is_the_default() {
    assert_eq!(SceneRules::from_toml("").unwrap(), SceneRules::default());
    let written = toml::to_string(&SceneRules::default()).unwrap();
    assert_eq!(SceneRules::from_toml(&written).unwrap(), SceneRules::default());
}

#[test]
fn lists_replace_and_more_lists_append() {
    let text = "default_scene = 'life'\n[[labels]]\nname = 'meta'\nmore_words = ['ping']\n\
        [[scenes]]\nname = 'plot'\nenter = ['开演']";
    let rules = SceneRules::from_toml(text).unwrap();
    assert_eq!(rules.default_scene, "life");
    assert_eq!(rules.labels[0].words.len(), SceneRules::default().labels[0].words.len() + 1);
    assert_eq!(rules.scenes[0].enter, ["开演"]);
    assert_eq!(rules.scenes[0].exit, SceneRules::default().scenes[0].exit);
}

#[test]
fn invalid_rules_are_explained() {
    for (text, part) in [
        ("[[scenes]]\nname = 'plot'\nenters = ['x']", "unknown field `enters`"),
        ("[[scenes]]\nname = 'plot'\nenters = ['x']", "line 3"),
        ("scenes = 3", "expected a sequence"),
        ("[[scenes]]\nname = 'plot'\nexit = [''] ", "'exit' of 'plot' is empty"),
        ("[[scenes]]\nname = 'meta'", "'meta' is used twice"),
        ("[[scenes]]\nname = ' '", "no name for a scene"),
    ] {
        let message = SceneRules::from_toml(text).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn a_list_that_replaces_the_default_drops_its_patterns() {
    let patterns = |rules: &SceneRules, effect| rules.patterns.iter().filter(|own| own.effect == effect).count();
    let default = SceneRules::default();
    let rules = SceneRules::from_toml("[[scenes]]\nname = 'plot'\nenter = ['开演']\nmore_exit = ['散了']").unwrap();
    assert_eq!(patterns(&rules, PatternEffect::Enter), 0);
    assert_eq!(patterns(&rules, PatternEffect::Exit), patterns(&default, PatternEffect::Exit));
    assert_eq!(patterns(&rules, PatternEffect::Label), patterns(&default, PatternEffect::Label));
    let meta = SceneRules::from_toml("[[labels]]\nname = 'meta'\nwords = ['ping']").unwrap();
    assert_eq!(patterns(&meta, PatternEffect::Label), 0);
    let rule = default.scenes[0].clone();
    assert_eq!(patterns(&default.with_scene(rule), PatternEffect::Exit), 0);
}

#[test]
fn a_pattern_of_a_file_replaces_the_pattern_with_its_id() {
    let id = SceneRules::default().patterns[0].id.clone();
    let text = format!("[[patterns]]\nid = '{id}'\nscene = 'plot'\neffect = 'enter'\nmatch = ['x']");
    let rules = SceneRules::from_toml(&text).unwrap();
    assert_eq!(rules.patterns.len(), SceneRules::default().patterns.len());
    assert_eq!(rules.patterns[0].forms, ["x"]);
    for (list, part) in [("[]", "has no expression"), ("['a']\nmaybe = true", "unknown field `maybe`")] {
        let text = format!("[[patterns]]\nid = 'own'\nscene = 'plot'\neffect = 'enter'\nmatch = {list}");
        let message = SceneRules::from_toml(&text).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
}
