use super::*;
use crate::errors;

fn cases(text: &str) -> Vec<TestCase> {
    parse(text, &TimeZone::UTC).unwrap().cases
}

/// Asserts that a file is refused with an error that contains these texts.
#[track_caller]
fn assert_refused(text: &str, words: &[&str]) {
    let message = match parse(text, &TimeZone::UTC) {
        Ok(file) => panic!("accepted: {file:?}"),
        Err(e) => errors::describe(&e),
    };
    for word in words {
        assert!(message.contains(word), "'{word}' is not in: {message}");
    }
}

#[test]
fn cases_take_the_defaults() {
    let text = r#"
        [defaults]
        user = "lin"
        limit = 3
        timezone = "Asia/Shanghai"
        now = 2026-03-05

        [[case]]
        query = "海鲜"
        expect = ["过敏", { regex = "虾|蟹", rank = 1 }]

        [[case]]
        name = "other user"
        user = "mo"
        query = "Where?"
        limit = 7
        now = "2026-01-01T00:00:00Z"
        forbid = [{ id = "m1", relevant = true }]
    "#;
    let cases = cases(text);
    let [first, second] = cases.as_slice() else { panic!("{cases:?}") };
    assert_eq!((first.name.as_str(), first.line, first.limit), ("海鲜", 8, 3));
    assert_eq!(first.scope.user_name(), Some("lin"));
    assert_eq!(first.now.unwrap().to_string(), "2026-03-04T16:00:00Z", "a day of the zone");
    assert_eq!((first.expect.len(), first.expect[1].rank), (2, Some(1)));
    assert_eq!((second.name.as_str(), second.limit), ("other user", 7));
    assert_eq!(second.scope.user_name(), Some("mo"));
    assert_eq!(second.now.unwrap().to_string(), "2026-01-01T00:00:00Z");
    assert_eq!(second.forbid[0].relevant, Some(true));
}

#[test]
fn filters_of_a_case_are_combined() {
    let text = r#"
        [[case]]
        query = "work"
        since = "2026-01-01"
        kind = "note"
        filter = { and = [{ field = "metadata.room", in = [3, 4] }, { not = { field = "tags", value = "done" } }] }
        expect = ["x"]
    "#;
    let filter = cases(text).remove(0).filter.unwrap();
    let json = memory_engine::serde_json::to_string(&filter).unwrap();
    for part in ["occurred_at", "\"note\"", "metadata.room", "[3,4]", "not"] {
        assert!(json.contains(part), "{part}: {json}");
    }
    assert_refused(
        "[[case]]\nquery = 'x'\nexpect = ['x']\nfilter = { field = 'kind', op = 'like', value = 'x' }",
        &["line 4", "like", "`eq`"],
    );
    assert_refused(
        "[[case]]\nquery = 'x'\nexpect = ['x']\nfilter = { field = 'room', value = 'x' }",
        &["line 4", "room"],
    );
}

#[test]
fn unknown_keys_and_wrong_types_have_a_line() {
    let case = |rest: &str| format!("[[case]]\nquery = \"x\"\n{rest}");
    assert_refused(&case("expected = [\"a\"]"), &["line 3", "`expected`", "`expect`"]);
    assert_refused(&case("expect = [{ txt = \"a\" }]"), &["line 3", "`txt`", "`text`"]);
    assert_refused(&case("expect = \"a\""), &["line 3", "sequence"]);
    assert_refused(&case("expect = [1]"), &["line 3", "a text in quotes"]);
    assert_refused(&case("limit = -1\nexpect = [\"a\"]"), &["line 3", "-1"]);
    assert_refused(&case("abstain = \"yes\""), &["line 3", "boolean"]);
    assert_refused(&case("target = \"gateway\"\nabstain = true"), &["line 3", "gateway", "`injection`"]);
    assert_refused(&case("now = 5\nabstain = true"), &["line 3", "2026-03-02", "integer"]);
    assert_refused("[[cases]]\nquery = \"x\"", &["line 1", "`cases`", "`case`"]);
    assert_refused("[[case]]\nexpect = [\"a\"]", &["line 1", "`query`"]);
    assert_refused("[case]\nquery = \"x\"", &["line 1"]);
    assert_refused("[[case]\nquery = \"x\"", &["line 1"]);
    assert_refused("[defaults]\nusr = \"lin\"", &["line 2", "`usr`", "`user`"]);
}

#[test]
fn patterns_that_select_nothing_or_everything_are_refused() {
    let expect = |entry: &str| format!("\n[[case]]\nquery = \"x\"\nexpect = [{entry}]");
    assert_refused(&expect("{}"), &["line 4", "exactly one of id, text and regex"]);
    assert_refused(&expect("{ text = \"a\", id = \"b\" }"), &["exactly one"]);
    assert_refused(&expect("\" \""), &["line 4", "empty"]);
    assert_refused(&expect("{ regex = \"a(\" }"), &["line 4", "regex is not valid", "unclosed group"]);
    assert_refused(&expect("{ regex = \"a*\" }"), &["matches every text"]);
    assert_refused(&expect("{ text = \"a\", rank = 0 }"), &["from 1"]);
}

#[test]
fn cases_without_sense_are_refused() {
    let case = |rest: &str| format!("\n\n[[case]]\nquery = \"x\"\n{rest}");
    assert_refused(&case(""), &["line 3", "expects nothing", "abstain = true"]);
    assert_refused(&case("abstain = true\nexpect = [\"a\"]"), &["line 3", "contradicts"]);
    assert_refused(&case("limit = 2\nexpect = [{ text = \"a\", rank = 3 }]"), &["rank 3", "limit = 3"]);
    assert_refused(&case("forbid = [{ text = \"a\", rank = 3 }]"), &["rank", "remove it from forbid"]);
    assert_refused(&case("limit = 0\nabstain = true"), &["limit is at least 1"]);
    assert_refused(&case("since = \"last week\"\nabstain = true"), &["since", "2026-03-02"]);
    assert_refused(&case("timezone = \"Mars\"\nabstain = true"), &["Mars", "Asia/Shanghai"]);
    assert_refused(&case("round = 2\nabstain = true"), &["round has no effect", "\"search\""]);
    assert_refused(&case("target = \"injection\"\nkind = \"fact\"\nabstain = true"), &["kind has no effect"]);
    let zone = "target = \"injection\"\ntimezone = \"UTC\"\nabstain = true";
    assert_refused(&case(zone), &["timezone has no effect", "[defaults]"]);
    assert_refused(&case("target = \"context\"\nabstain = true"), &["needs a user"]);
    let ranked = "target = \"injection\"\nexpect = [{ text = \"a\", rank = 1 }]";
    assert_refused(&case(ranked), &["rank and relevant apply to the hits"]);
    assert_refused("[[case]]\nquery = \" \"\nabstain = true", &["query is empty"]);
    assert_refused(&format!("{}{}", case("abstain = true"), case("abstain = true")), &["line 7", "the name \"x\""]);
    let irrelevant = case("abstain = true\nexpect = [{ text = \"a\", relevant = false }]");
    assert_eq!(cases(&irrelevant).len(), 1, "a record may be found without being relevant");
}
