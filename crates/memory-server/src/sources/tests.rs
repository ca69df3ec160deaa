#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;

use super::*;

fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.toml");
    fs::write(&path, text).unwrap();
    (folder, path)
}

fn variable(name: &str, value: &str) -> [(String, String); 1] {
    [(name.to_owned(), value.to_owned())]
}

#[test]
fn flags_override_variables_and_variables_the_file() {
    let (_folder, path) = file("listen = \"127.0.0.1:1\"\ndigest = \"none\"\n[limits]\nmax_concurrent = 7\n");
    let sources = || Sources::new().with_file(&path);
    let load = |sources: Sources| sources.load().unwrap().config;
    assert_eq!(load(Sources::new()), Config::default());
    assert_eq!((load(sources()).listen.port(), load(sources()).limits.max_concurrent), (1, 7));
    let with_variable = || sources().with_variables(variable("MEMORY_LISTEN", "127.0.0.1:2"));
    assert_eq!(load(with_variable()).listen.port(), 2);
    assert_eq!(load(with_variable().with_flag("listen", "127.0.0.1:3")).listen.port(), 3);
    let nested = Sources::new().with_variables(variable("MEMORY_LIMITS__MAX_CONCURRENT", "9"));
    assert_eq!(load(nested).limits.max_concurrent, 9);
}

#[test]
fn variables_set_settings_without_a_default() {
    let variables = [("MEMORY_ZONE", "+08:00"), ("MEMORY_LANGUAGE", "zh"), ("MEMORY_GATEWAY__MAX_CHARS", "700")];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let config = Sources::new().with_variables(variables).load().unwrap().config;
    assert_eq!(config.zone.as_deref(), Some("+08:00"));
    assert_eq!(config.language, Some(memory_engine::Language::Chinese));
    assert_eq!(config.gateway.max_chars, Some(700));
}

#[test]
fn variables_reach_every_level_of_a_section() {
    let load = |name: &str, value: &str| Sources::new().with_variables(variable(name, value)).load();
    let loaded = load("MEMORY_SCENE_POLICY__VIEWS__STUDY__SCENES__DAILY", "0.5").unwrap();
    let policy = &loaded.config.scene_policy;
    assert_eq!((policy.weight("study", Some("daily")), policy.weight("study", Some("plot"))), (0.5, 0.0));
    assert_eq!(policy.weight("plot", Some("plot")), Config::default().scene_policy.weight("plot", Some("plot")));
    let set_by = |name: &str| loaded.settings.iter().find(|s| s.name == name).unwrap().source.clone();
    assert!(set_by("scene_policy.views.study.scenes.daily").contains("MEMORY_SCENE_POLICY"));
    for name in ["MEMORY_SCENE_POLICY__VIEWS__STUDY__SEES", "MEMORY_LIMITS__MAX_CONCURENT"] {
        let error = load(name, "1").unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn the_review_is_a_table_or_a_text() {
    use memory_engine::review::{ReviewMode, ReviewSource};

    let imports = |sources: Sources| sources.load().unwrap().config.review.mode(ReviewSource::Imports);
    let (_folder, path) = file("[review]\nimports = \"review\"\n");
    assert_eq!(imports(Sources::new().with_file(&path)), ReviewMode::Review);
    let (_folder, path) = file("review = \"imports=reject\"\n");
    assert_eq!(imports(Sources::new().with_file(&path)), ReviewMode::Reject);
    for (name, value) in [("MEMORY_REVIEW", "imports=review"), ("MEMORY_REVIEW__IMPORTS", "review")] {
        assert_eq!(imports(Sources::new().with_variables(variable(name, value))), ReviewMode::Review, "{name}");
    }
    let unknown = Sources::new().with_variables(variable("MEMORY_REVIEW", "import=review")).load().unwrap_err();
    assert!(unknown.to_string().contains("imports"), "{unknown}");
}

#[test]
fn an_unknown_place_of_memories_is_refused_with_the_known_ones() {
    let load = |value: &str| Sources::new().with_variables(variable("MEMORY_GATEWAY__PLACEMENT", value)).load();
    assert_eq!(load("system").unwrap().config.gateway.placement, crate::BlockPlacement::System);
    let (_folder, path) = file("[gateway]\nplacement = \"prompt\"\n");
    for error in [load("prompt").unwrap_err(), Sources::new().with_file(&path).load().unwrap_err()] {
        let error = error.to_string();
        assert!(["prompt", "`message`", "`system`"].iter().all(|part| error.contains(part)), "{error}");
    }
}

#[test]
fn values_out_of_range_are_refused() {
    for (text, name) in
        [("[recall]\nmin_relevance = 3", "min_relevance"), ("[scene_policy.views.daily]\nothers = -1", "scene_policy")]
    {
        let (_folder, path) = file(text);
        let error = Sources::new().with_file(&path).load().unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn each_setting_has_its_source() {
    let (_folder, path) = file("digest = \"none\"\n");
    let loaded = Sources::new().with_file(&path).with_variables(variable("MEMORY_MODELS_DIR", "/m")).load().unwrap();
    let source = |name: &str| loaded.settings.iter().find(|s| s.name == name).unwrap().source.clone();
    assert!(source("digest").ends_with("memory.toml"), "{}", source("digest"));
    assert_eq!(source("models_dir"), "the variable MEMORY_MODELS_DIR");
    assert_eq!(source("limits.max_concurrent"), "default");
}

#[test]
fn errors_name_the_setting_and_the_source() {
    let invalid = [
        ("lisen = \"127.0.0.1:1\"", "lisen"),
        ("listen = \"everywhere\"", "listen"),
        ("[limits]\nmax_concurrent = \"many\"", "limits.max_concurrent"),
        ("[[gateway.upstreams]]\nname = \"a\"\nbase_url = \"http://a\"\nkey = \"sk-hunter2\"", "key_env"),
        ("not toml", "memory.toml"),
        ("db = postgres://u:hunter2@h/d", "line 1"),
        ("keys = \"mk-hunter2\"", "keys"),
    ];
    for (text, name) in invalid {
        let (_folder, path) = file(text);
        let error = Sources::new().with_file(&path).load().unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("memory.toml"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
    let error = Sources::new().with_variables(variable("MEMORY_LISTEN", "x")).load().unwrap_err().to_string();
    assert!(error.contains("MEMORY_LISTEN"), "{error}");
    assert!(Sources::new().with_file("nowhere.toml").load().unwrap_err().to_string().contains("nowhere.toml"));
}

#[test]
fn an_unknown_setting_has_a_line_and_a_similar_name() {
    let unknown = [
        ("digest = \"none\"\nlisen = \"127.0.0.1:1\"", "line 2; did you mean listen?"),
        ("[limits]\n\nmax_concurent = 3", "line 3; did you mean max_concurrent?"),
        ("[[keys]]\nname = \"a\"\nhash = \"b\"\n\n[[keys]]\nusres = []", "line 6; did you mean users?"),
        ("# Port\nport = 80", "line 2; the settings are listed at "),
    ];
    for (text, message) in unknown {
        let (_folder, path) = file(text);
        let error = Sources::new().with_file(&path).load().unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
        assert!(!error.contains("page_cache_bytes"), "not a list of all settings: {error}");
    }
    let (_folder, path) = file("[limits]\nmax_concurrent = \"many\"");
    let error = Sources::new().with_file(&path).load().unwrap_err().to_string();
    assert!(error.ends_with("line 2"), "a wrong value has a line too: {error}");
    let variables = variable("MEMORY_LIMITS__MAX_CONCURENT", "1");
    let error = Sources::new().with_variables(variables).load().unwrap_err().to_string();
    assert!(error.ends_with("did you mean max_concurrent?"), "{error}");
}

#[test]
fn unknown_variables_are_ignored_and_passwords_hidden() {
    let variables = [("MEMORY_MODE", "graph"), ("MEMORY_DB", "postgres://u:hunter2@h/d"), ("LISTEN", "x")];
    let loaded = Sources::new().with_variables(variables.map(|(n, v)| (n.to_owned(), v.to_owned()))).load().unwrap();
    assert_eq!(loaded.config.db, "postgres://u:hunter2@h/d");
    assert!(!format!("{:?}", loaded.settings).contains("hunter2"));
}
