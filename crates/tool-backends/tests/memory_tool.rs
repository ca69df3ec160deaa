//! The commands of the memory tool over an engine.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use memory_engine::{MemoryEngine, Scope, Turn};
use memory_engine_tool_backends::MemoryTool;
use serde_json::{Value, json};

struct Files {
    engine: MemoryEngine,
    tool: MemoryTool,
}

impl Files {
    async fn new() -> Self {
        let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
        let tool = MemoryTool::new(engine.clone(), lin());
        Self { engine, tool }
    }

    /// Returns the text of a command that succeeds.
    async fn ok(&self, input: Value) -> String {
        let result = self.tool.call(&input).await.unwrap();
        assert!(!result.is_error, "{input}: {}", result.content);
        result.content
    }

    /// Returns the text of a command that is refused.
    async fn refused(&self, input: Value) -> String {
        let result = self.tool.call(&input).await.unwrap();
        assert!(result.is_error, "{input}: {}", result.content);
        result.content
    }

    async fn create(&self, path: &str, text: &str) -> String {
        self.ok(json!({ "command": "create", "path": path, "file_text": text })).await
    }

    async fn view(&self, path: &str) -> String {
        self.ok(json!({ "command": "view", "path": path })).await
    }

    /// Returns the texts of the hits of a recall.
    async fn recall(&self, query: &str) -> Vec<String> {
        let recall = self.engine.recall(&lin(), query).await.unwrap();
        recall.hits.into_iter().map(|hit| hit.record.text).collect()
    }
}

fn lin() -> Scope {
    Scope::user("lin").unwrap()
}

#[tokio::test]
async fn files_are_created_and_viewed() {
    let files = Files::new().await;
    let empty = files.view("/memories").await;
    assert_eq!(
        empty,
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:\n0B\t/memories"
    );
    assert_eq!(
        files.create("/memories/diet.md", "虾\nnuts\n").await,
        "File created successfully at: /memories/diet.md"
    );
    assert_eq!(
        files.view("/memories/diet.md").await,
        "Here's the content of /memories/diet.md with line numbers:\n     1\t虾\n     2\tnuts\n     3\t"
    );
    let range = json!({ "command": "view", "path": "/memories/diet.md", "view_range": [2, -1] });
    assert!(files.ok(range).await.ends_with(":\n     2\tnuts\n     3\t"));
    let range = json!({ "command": "view", "path": "/memories/diet.md", "view_range": [7, 9] });
    assert!(files.refused(range).await.contains("[7, 9]. The file /memories/diet.md has the lines 1 to 3;"));
    let twice = json!({ "command": "create", "path": "/memories/diet.md", "file_text": "x" });
    assert_eq!(files.refused(twice).await, "File /memories/diet.md already exists");
    files.create("/memories/empty", "").await;
    assert!(files.view("/memories/empty").await.ends_with(":\n     1\t"));
}

#[tokio::test]
async fn folders_are_listed_two_levels_deep() {
    let files = Files::new().await;
    for path in ["b.md", "a/one.md", "a/b/two.md", "a/b/c/three.md", ".hidden", "a.md"] {
        files.create(&format!("/memories/{path}"), "1234").await;
    }
    let listed = files.view("/memories").await;
    let lines: Vec<&str> = listed.lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            "20B\t/memories",
            "12B\t/memories/a/",
            "8B\t/memories/a/b/",
            "4B\t/memories/a/one.md",
            "4B\t/memories/a.md",
            "4B\t/memories/b.md"
        ]
    );
    assert!(files.view("/memories/a/b/").await.contains("\t/memories/a/b/c/three.md"));
    assert!(files.refused(json!({ "command": "view", "path": "/memories/x" })).await.contains("does not exist"));
}

#[tokio::test]
async fn files_are_edited() {
    let files = Files::new().await;
    files.create("/memories/plan", "one\ntwo\nthree\ntwo\n").await;
    let replace = |old: &str, new: &str| json!({ "command": "str_replace", "path": "/memories/plan", "old_str": old, "new_str": new });
    assert!(files.refused(replace("two", "2")).await.ends_with("in lines: 2, 4. Please ensure it is unique"));
    assert!(files.refused(replace("four", "4")).await.contains("did not appear verbatim in /memories/plan."));
    let changed = files.ok(replace("three", "3")).await;
    assert!(changed.ends_with("\n     1\tone\n     2\ttwo\n     3\t3\n     4\ttwo\n     5\t"), "{changed}");
    let insert = |line: i64| json!({ "command": "insert", "path": "/memories/plan", "insert_line": line, "insert_text": "zero\n" });
    assert_eq!(files.ok(insert(0)).await, "The file /memories/plan has been edited.");
    assert!(files.refused(insert(6)).await.contains("within the range [0, 5]"));
    assert!(
        files
            .view("/memories/plan")
            .await
            .ends_with("1\tzero\n     2\tone\n     3\ttwo\n     4\t3\n     5\ttwo\n     6\t")
    );
    let missing = json!({ "command": "insert", "path": "/memories/x", "insert_line": 0, "insert_text": "a" });
    assert!(files.refused(missing).await.contains("does not exist"));
    files.create("/memories/f/x", "a").await;
    let folder = json!({ "command": "insert", "path": "/memories/f", "insert_line": 0, "insert_text": "a" });
    assert_eq!(files.refused(folder).await, "The path /memories/f is not a file.");
}

#[tokio::test]
async fn a_refused_replacement_names_few_lines_and_takes_little_time() {
    let files = Files::new().await;
    files.create("/memories/long", &"a\n".repeat(300_000)).await;
    let replace = json!({ "command": "str_replace", "path": "/memories/long", "old_str": "a", "new_str": "b" });
    let started = std::time::Instant::now();
    let refused = files.refused(replace).await;
    assert!(refused.contains("in lines: 1, 2, 3,") && refused.contains("20, …"), "{refused}");
    // Quadratic time would be hours.
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
    let absent = "x".repeat(10_000);
    let replace = json!({ "command": "str_replace", "path": "/memories/long", "old_str": absent, "new_str": "b" });
    assert!(files.refused(replace).await.len() < 1000);
}

#[tokio::test]
async fn deleted_files_are_gone_and_can_be_created_again() {
    let files = Files::new().await;
    for round in ["first", "second", "third"] {
        files.create("/memories/a/secret", &format!("the {round} word is swordfish")).await;
        assert_eq!(files.recall("swordfish").await.len(), 1);
        let delete = json!({ "command": "delete", "path": "/memories/a" });
        assert_eq!(files.ok(delete.clone()).await, "Successfully deleted /memories/a");
        assert!(files.recall("swordfish").await.is_empty());
        assert!(files.refused(delete).await.contains("does not exist"));
    }
    let root = json!({ "command": "delete", "path": "/memories/" });
    assert_eq!(files.refused(root).await, "Cannot delete the /memories directory itself");
}

#[tokio::test]
async fn files_and_folders_are_renamed() {
    let files = Files::new().await;
    files.create("/memories/a/one", "1").await;
    files.create("/memories/a/b/two", "2").await;
    files.create("/memories/c", "3").await;
    let rename = |old: &str, new: &str| json!({ "command": "rename", "old_path": old, "new_path": new });
    for (old, new, expected) in [
        ("/memories/a", "/memories/c", "The destination /memories/c already exists"),
        ("/memories/a", "/memories/a/d", "Cannot move /memories/a into itself"),
        ("/memories/x", "/memories/y", "The path /memories/x does not exist"),
        ("/memories", "/memories/y", "Cannot rename the /memories directory itself"),
        ("/memories/a", "/memories/c/d", "/memories/c is a file, and cannot contain /memories/c/d"),
    ] {
        assert_eq!(files.refused(rename(old, new)).await, expected);
    }
    let moved = files.ok(rename("/memories/a", "/memories/z")).await;
    assert_eq!(moved, "Successfully renamed /memories/a to /memories/z");
    assert!(files.view("/memories/z/b/two").await.ends_with("1\t2"));
    assert!(files.refused(json!({ "command": "view", "path": "/memories/a" })).await.contains("does not exist"));
    files.ok(rename("/memories/z", "/memories/a")).await;
    assert!(files.view("/memories/a/one").await.ends_with("1\t1"));
}

#[tokio::test]
async fn a_rename_that_meets_another_file_moves_nothing() {
    let files = Files::new().await;
    files.create("/memories/a/one", "1").await;
    files.create("/memories/a/two", "2").await;
    let rename = json!({ "command": "rename", "old_path": "/memories/a", "new_path": "/memories/b" });
    let create = json!({ "command": "create", "path": "/memories/b/two", "file_text": "other" });
    let (renamed, created) = tokio::join!(files.tool.call(&rename), files.tool.call(&create));
    let (renamed, created) = (renamed.unwrap(), created.unwrap());
    let listed = files.view("/memories").await;
    let paths: Vec<&str> = listed.lines().filter_map(|line| line.split('\t').nth(1)).collect();
    // No file is lost or in two places. If both commands meet, both may be refused.
    let expected: &[&str] = match (renamed.is_error, created.is_error) {
        (true, true) => &["/memories/a/", "/memories/a/one", "/memories/a/two"],
        (true, false) => &["/memories/a/", "/memories/a/one", "/memories/a/two", "/memories/b/", "/memories/b/two"],
        (false, true) => &["/memories/b/", "/memories/b/one", "/memories/b/two"],
        _ => panic!("{renamed:?} {created:?}"),
    };
    assert_eq!(paths[1..], *expected, "{renamed:?} {created:?}");
}

#[tokio::test]
async fn an_edit_during_a_rename_is_not_lost() {
    let files = Files::new().await;
    files.create("/memories/a/one", "1").await;
    files.create("/memories/a/two", "2").await;
    let rename = json!({ "command": "rename", "old_path": "/memories/a", "new_path": "/memories/b" });
    let edit = json!({ "command": "str_replace", "path": "/memories/a/two", "old_str": "2", "new_str": "two, edited" });
    let (renamed, edited) = tokio::join!(files.tool.call(&rename), files.tool.call(&edit));
    let folder = if renamed.unwrap().is_error { "a" } else { "b" };
    let text = files.view(&format!("/memories/{folder}/two")).await;
    assert_eq!(text.ends_with("two, edited"), !edited.unwrap().is_error, "{text}");
}

#[tokio::test]
async fn whitespace_is_kept() {
    let files = Files::new().await;
    for (path, text) in [("/memories/empty", ""), ("/memories/blank", " \n\t"), ("/memories/padded", "  a\n\n")] {
        files.create(path, text).await;
        let insert = json!({ "command": "insert", "path": path, "insert_line": 0, "insert_text": "first" });
        files.ok(insert).await;
        let lines: Vec<&str> =
            text.strip_suffix('\n').unwrap_or(text).split('\n').filter(|_| !text.is_empty()).collect();
        let shown = files.view(path).await;
        let shown: Vec<&str> = shown.lines().skip(2).filter_map(|line| Some(line.split_once('\t')?.1)).collect();
        assert_eq!(shown[..lines.len()], lines, "{path}");
    }
}

#[tokio::test]
async fn what_is_known_from_elsewhere_can_be_read() {
    let files = Files::new().await;
    files.create("/memories/own", "mine").await;
    assert!(!files.view("/memories").await.contains("known"));
    files.engine.remember(&lin(), Turn::note("Lin is allergic to shrimp")).await.unwrap();
    files.engine.remember(&lin(), "面试在周三下午").await.unwrap();
    let listed = files.view("/memories").await;
    assert!(listed.contains("/memories/known/facts.md") && listed.contains("/memories/known/recent.md"), "{listed}");
    let facts = files.view("/memories/known/facts.md").await;
    assert!(facts.contains("1\t- Lin is allergic to shrimp") && !facts.contains("mine"), "{facts}");
    assert!(files.view("/memories/known/recent.md").await.contains("user: 面试在周三下午"));
    for input in [
        json!({ "command": "delete", "path": "/memories/known" }),
        json!({ "command": "create", "path": "/memories/known/x", "file_text": "x" }),
        json!({ "command": "rename", "old_path": "/memories/own", "new_path": "/memories/known/own" }),
    ] {
        assert!(files.refused(input).await.contains("is read-only"));
    }
}

#[tokio::test]
async fn users_do_not_see_each_others_files() {
    let files = Files::new().await;
    files.create("/memories/a", "secret").await;
    let mei = MemoryTool::new(files.engine.clone(), Scope::user("mei").unwrap());
    let seen = mei.call(&json!({ "command": "view", "path": "/memories/a" })).await.unwrap();
    assert!(seen.is_error, "{}", seen.content);
    let own = json!({ "command": "create", "path": "/memories/a", "file_text": "mine" });
    assert!(!mei.call(&own).await.unwrap().is_error);
    assert!(files.view("/memories/a").await.ends_with("secret"));
}

#[tokio::test]
async fn of_two_writers_one_wins() {
    let files = Files::new().await;
    let create = |text: &str| json!({ "command": "create", "path": "/memories/a", "file_text": text });
    let (one, two) = (create("one"), create("two"));
    let (first, second) = tokio::join!(files.tool.call(&one), files.tool.call(&two));
    assert_ne!(first.unwrap().is_error, second.unwrap().is_error);
    assert_eq!(files.view("/memories").await.lines().count(), 3);
}

#[tokio::test]
async fn limits_are_explained() {
    let files = Files::new().await;
    let large = json!({ "command": "create", "path": "/memories/a", "file_text": "a".repeat(1_000_001) });
    assert!(files.refused(large).await.contains("at most 1000000 are allowed"));
    let nul = json!({ "command": "create", "path": "/memories/a", "file_text": "a\0b" });
    assert!(files.refused(nul).await.contains("NUL"));
    assert!(files.refused(json!({ "command": "view", "path": "/etc/passwd" })).await.contains("must start with"));
}
