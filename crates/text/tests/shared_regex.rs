//! Regular expressions with a shared cache.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed assertion panics")]

use std::{borrow::Cow, thread};

use memory_engine_text::{RegexOptions, SharedRegex};

fn compiled(expression: &str) -> SharedRegex {
    RegexOptions::ignoring_case().compile(expression).unwrap()
}

#[test]
fn matches_and_groups_have_their_positions() {
    let regex = compiled(r"(?P<name>[a-z]+)-(\d)?");
    let found = regex.captures("我 Lin-7 ok-").unwrap();
    assert_eq!((&found["name"], &found[2], found.get(0).unwrap().range()), ("Lin", "7", 4..9));
    let second = regex.captures_iter("Lin-7 ok-").nth(1).unwrap();
    assert_eq!((&second["name"], second.get(2), second.iter().count()), ("ok", None, 3));
    assert!(!regex.is_match("我"));
    assert_eq!(regex.find("x LIN-").map(|found| found.as_str()), Some("LIN-"));
}

#[test]
fn empty_matches_end_and_stay_between_characters() {
    let starts: Vec<usize> = compiled("x*").find_iter("我x我").map(|found| found.start()).collect();
    assert_eq!(starts, [0, 3, 7]);
}

#[test]
fn splits_and_replacements_keep_the_rest() {
    let comma = compiled("[,，]");
    assert_eq!(comma.split("a,b，,c").collect::<Vec<_>>(), ["a", "b", "", "c"]);
    assert_eq!(comma.replace("a,b,c", "-"), "a-b,c");
    assert_eq!(comma.replace_all("a,b，c", |found| format!("<{}>", &found[0])), "a<,>b<，>c");
    assert_eq!(comma.replace_all(",", |_| String::new()), "");
    assert!(matches!(comma.replace_all("abc", |_| String::new()), Cow::Borrowed("abc")));
}

#[test]
fn invalid_and_large_expressions_are_errors() {
    let error = RegexOptions::default().compile("(a").unwrap_err();
    assert!(error.to_string().contains("unclosed group"), "{error}");
    let error = RegexOptions { max_bytes: 1000, ..RegexOptions::default() }.compile(r"\w{50}").unwrap_err();
    assert!(error.to_string().contains("1000 bytes"), "{error}");
}

/// `regex::Regex` has a cache for each of these threads.
#[test]
fn threads_share_one_cache() {
    let regex = compiled(r"[a-z]+\d");
    assert_eq!(regex.cache_bytes(), 0);
    assert!(regex.is_match("a1"));
    let bytes = regex.cache_bytes();
    assert!(bytes > 0);
    let search = |regex: SharedRegex| move || (0..100).all(|_| regex.is_match("a1"));
    let threads: Vec<_> = (0..16).map(|_| thread::spawn(search(regex.clone()))).collect();
    assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
    assert_eq!(regex.cache_bytes(), bytes);
}
