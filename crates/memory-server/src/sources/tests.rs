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
fn flags_count_more_than_variables_and_those_more_than_the_file() {
    let (_folder, path) = file("listen = \"127.0.0.1:1\"\ndigest = \"none\"\n[limits]\nmax_concurrent = 7\n");
    let sources = || Sources::new().with_file(&path);
    let of = |sources: Sources| sources.load().unwrap().config;
    assert_eq!(of(Sources::new()), Config::default());
    assert_eq!((of(sources()).listen.port(), of(sources()).limits.max_concurrent), (1, 7));
    let above = || sources().with_variables(variable("MEMORY_LISTEN", "127.0.0.1:2"));
    assert_eq!(of(above()).listen.port(), 2);
    assert_eq!(of(above().with_flag("listen", "127.0.0.1:3")).listen.port(), 3);
    let nested = Sources::new().with_variables(variable("MEMORY_LIMITS__MAX_CONCURRENT", "9"));
    assert_eq!(of(nested).limits.max_concurrent, 9);
}

#[test]
fn settings_without_a_default_have_variables_too() {
    let variables = [("MEMORY_ZONE", "+08:00"), ("MEMORY_LANGUAGE", "zh"), ("MEMORY_GATEWAY__MAX_CHARS", "700")];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let config = Sources::new().with_variables(variables).load().unwrap().config;
    assert_eq!(config.zone.as_deref(), Some("+08:00"));
    assert_eq!(config.language, Some(memory_engine::Language::Chinese));
    assert_eq!(config.gateway.max_chars, Some(700));
}

#[test]
fn it_says_where_each_setting_comes_from() {
    let (_folder, path) = file("digest = \"none\"\n");
    let loaded = Sources::new().with_file(&path).with_variables(variable("MEMORY_MODELS_DIR", "/m")).load().unwrap();
    let source = |name: &str| loaded.settings.iter().find(|s| s.name == name).unwrap().source.clone();
    assert!(source("digest").ends_with("memory.toml"), "{}", source("digest"));
    assert_eq!(source("models_dir"), "the variable MEMORY_MODELS_DIR");
    assert_eq!(source("limits.max_concurrent"), "default");
}

#[test]
fn what_nobody_knows_is_an_error_that_says_where_it_stands() {
    let wrong = [
        ("lisen = \"127.0.0.1:1\"", "lisen"),
        ("listen = \"everywhere\"", "listen"),
        ("[limits]\nmax_concurrent = \"many\"", "limits.max_concurrent"),
        ("[[gateway.upstreams]]\nname = \"a\"\nbase_url = \"http://a\"\nkey = \"sk-hunter2\"", "key_env"),
        ("not toml", "memory.toml"),
        ("db = postgres://u:hunter2@h/d", "line 1"),
        ("keys = \"mk-hunter2\"", "keys"),
    ];
    for (text, named) in wrong {
        let (_folder, path) = file(text);
        let error = Sources::new().with_file(&path).load().unwrap_err().to_string();
        assert!(error.contains(named) && error.contains("memory.toml"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
    let error = Sources::new().with_variables(variable("MEMORY_LISTEN", "x")).load().unwrap_err().to_string();
    assert!(error.contains("MEMORY_LISTEN"), "{error}");
    assert!(Sources::new().with_file("nowhere.toml").load().unwrap_err().to_string().contains("nowhere.toml"));
}

#[test]
fn variables_of_others_are_passed_over_and_a_password_is_not_shown() {
    let variables = [("MEMORY_MODE", "graph"), ("MEMORY_DB", "postgres://u:hunter2@h/d"), ("LISTEN", "x")];
    let loaded = Sources::new().with_variables(variables.map(|(n, v)| (n.to_owned(), v.to_owned()))).load().unwrap();
    assert_eq!(loaded.config.db, "postgres://u:hunter2@h/d");
    assert!(!format!("{:?}", loaded.settings).contains("hunter2"));
}
