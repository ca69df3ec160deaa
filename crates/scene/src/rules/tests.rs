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

/// A default list, a message that one of its words decides, and a near miss.
const CASES: &[(&str, &str, &str)] = &[
    ("meta.words", "帮我测试一下MCP", "the latest news about toolboxes"),
    ("plot.enter", "我们来角色扮演吧", "sharp corners"),
    ("plot.exit", "先暂停一下", "我们继续吧"),
];

#[test]
fn every_default_list_has_a_message_and_a_near_miss() {
    let rules = SceneRules::default();
    let mut lists: Vec<(String, &Vec<String>)> = Vec::new();
    for label in &rules.labels {
        lists.push((format!("{}.words", label.name), &label.words));
    }
    for scene in &rules.scenes {
        lists.push((format!("{}.enter", scene.name), &scene.enter));
        lists.push((format!("{}.exit", scene.name), &scene.exit));
    }
    assert_eq!(lists.len(), CASES.len());
    for ((name, words), (id, message, near_miss)) in lists.iter().zip(CASES) {
        assert_eq!(name, id);
        let phrases = memory_engine_core::Phrases::new(words.iter());
        assert!(phrases.find(message).is_some(), "{id}: {message}");
        assert_eq!(phrases.find(near_miss), None, "{id}: {near_miss}");
    }
}
