#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::LazyLock;

use memory_engine::{Kind, Record, SystemClock};
use proptest::prelude::*;
use serde_json::json;

use super::*;

const USERS: [Option<&str>; 4] = [Some("lin"), Some("mei"), Some("eve"), None];

/// Records of three users and without a user, with different agents, texts and metadata.
static RECORDS: LazyLock<Vec<Record>> = LazyLock::new(|| {
    let mut records = Vec::new();
    for user in USERS {
        for agent in [Some("kai"), Some("zoe"), None] {
            for (text, note) in [("green tea", json!("a")), ("black tea", json!(["a", "b"])), ("water", json!(null))] {
                let mut scope = Scope::tenant_wide("acme").unwrap();
                scope = user.map_or(scope.clone(), |user| scope.with_user(user).unwrap());
                scope = agent.map_or(scope.clone(), |agent| scope.with_agent(agent).unwrap());
                let mut record = Record::new(scope, Kind::NOTE, text, &SystemClock);
                record.metadata.insert("note".into(), note);
                records.push(record);
            }
        }
    }
    records
});

fn condition() -> impl Strategy<Value = FilterCondition> {
    let leaf = prop_oneof![
        prop::sample::select(vec!["lin", "mei"]).prop_map(|user| FilterCondition::Users([user.to_owned()].into())),
        Just(FilterCondition::AnyUser),
        prop::sample::select(vec!["kai", "zoe"])
            .prop_map(|agent| FilterCondition::Field(Filter::eq(Field::Agent, agent))),
        Just(FilterCondition::Field(Filter::Exists(Field::Metadata("note".into())))),
        Just(FilterCondition::Contains(TextField::Text, "TEA".into(), CaseSensitivity::Folded)),
        Just(FilterCondition::Contains(TextField::Metadata("note".into()), "a".into(), CaseSensitivity::Exact)),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(FilterCondition::All),
            prop::collection::vec(inner.clone(), 0..4).prop_map(FilterCondition::Any),
            inner.prop_map(|one| FilterCondition::Not(Box::new(one))),
        ]
    })
}

/// Returns the number of areas that contain the record.
fn count_areas_with(areas: &[SearchArea], record: &Record) -> usize {
    let contains =
        |area: &&SearchArea| area.scope.covers(&record.scope) && area.filter.matches(record) && area.matches(record);
    areas.iter().filter(contains).count()
}

proptest! {
    #[test]
    fn areas_contain_each_matching_record_once(condition in condition()) {
        let access = Access::tenant("all", "acme").unwrap();
        let areas = condition.clone().areas(&access, &access.scopes().unwrap()).unwrap();
        for record in RECORDS.iter() {
            prop_assert_eq!(count_areas_with(&areas, record), usize::from(condition.matches(record)));
        }
    }

    #[test]
    fn key_of_two_users_finds_only_their_records(condition in condition()) {
        let access = Access::tenant("two", "acme").unwrap().only_users(["lin", "mei"]).unwrap();
        let areas = condition.clone().areas(&access, &access.scopes().unwrap()).unwrap();
        for record in RECORDS.iter() {
            let theirs = matches!(record.scope.user_name(), Some("lin" | "mei"));
            prop_assert_eq!(count_areas_with(&areas, record), usize::from(theirs && condition.matches(record)));
        }
    }

    #[test]
    fn key_of_one_user_finds_only_their_records(condition in condition()) {
        let access = Access::tenant("one", "acme").unwrap().only_users(["lin"]).unwrap();
        let Ok(areas) = condition.clone().areas(&access, &access.scopes().unwrap()) else {
            let mut users = BTreeSet::new();
            condition.collect_users(&mut users);
            prop_assert!(users.contains("mei"), "a condition without other users was refused");
            return Ok(());
        };
        for record in RECORDS.iter() {
            let theirs = record.scope.user_name() == Some("lin");
            prop_assert_eq!(count_areas_with(&areas, record), usize::from(theirs && condition.matches(record)));
        }
    }
}

#[test]
fn required_agent_narrows_the_scope() {
    let access = Access::tenant("all", "acme").unwrap();
    let kai = FilterCondition::Field(Filter::eq(Field::Agent, "kai"));
    let areas =
        FilterCondition::Users(["lin".to_owned()].into()).and(kai).areas(&access, &access.scopes().unwrap()).unwrap();
    let scope = Scope::tenant_wide("acme").unwrap().with_user("lin").unwrap().with_agent("kai").unwrap();
    assert_eq!(areas.iter().map(|area| &area.scope).collect::<Vec<_>>(), [&scope]);
    assert!(areas[0].condition.is_none());
}
