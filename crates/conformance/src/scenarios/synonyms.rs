//! Synonym groups, and verdicts on suggested pairs.

use memory_engine_core::{ErrorKind, Scope};
use memory_engine_synonyms::{PairVerdict, SynonymGroup, SynonymStore, SynonymStoreExt, WordPair};

use crate::{
    World,
    fixtures::{assert_error_kind, lin, mo, session},
};

fn group(term: &str, members: &[&str]) -> SynonymGroup {
    SynonymGroup::new(term, members.iter().copied())
}

fn verdict(a: &str, b: &str, accepted: bool) -> PairVerdict {
    PairVerdict { pair: WordPair::new(a, b).unwrap(), accepted }
}

fn tenant() -> Scope {
    Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap()
}

fn names(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// The store. The runner ignores these scenarios in a world without one.
fn store(world: &World) -> &dyn SynonymStore {
    world.synonyms.as_deref().unwrap()
}

pub async fn groups_are_listed_in_the_order_of_their_terms(world: &World) {
    let store = store(world);
    let groups = [
        group("纹身", &["双头鹰"]),
        group("Zebra", &["斑马"]).with_category("animal"),
        group("ant", &["蚂蚁", "Ameise"]),
    ];
    store.put(&lin(), &groups).await.unwrap();
    let [tattoo, zebra, ant] = groups;
    assert_eq!(store.list(&lin()).await.unwrap(), [ant, zebra, tattoo], "case is ignored");
}

pub async fn a_group_replaces_the_one_with_an_equivalent_term(world: &World) {
    let store = store(world);
    store.put(&lin(), &[group("KSK", &["a"]), group("臺灣", &["b"])]).await.unwrap();
    store.put(&lin(), &[group("ｋｓｋ", &["c"]).with_category("org"), group("台湾", &["d"])]).await.unwrap();
    let expected = [group("ｋｓｋ", &["c"]).with_category("org"), group("台湾", &["d"])];
    assert_eq!(store.list(&lin()).await.unwrap(), expected);
    store.put(&lin(), &[group("x", &["first"]), group("X", &["second"])]).await.unwrap();
    assert!(store.list(&lin()).await.unwrap().contains(&group("X", &["second"])), "the last group of a batch wins");
    assert_eq!(store.list(&lin()).await.unwrap().len(), 3);
}

pub async fn an_invalid_group_rejects_its_batch(world: &World) {
    let store = store(world);
    for bad in [group("", &["x"]), group("x", &[]), group("x", &["X"]), group("x", &["y\0"])] {
        assert_error_kind(ErrorKind::InvalidInput, store.put(&lin(), &[group("good", &["gut"]), bad]).await);
    }
    assert_eq!(store.list(&lin()).await.unwrap(), []);
}

pub async fn remove_matches_equivalent_terms_and_counts_groups(world: &World) {
    let store = store(world);
    store.put(&lin(), &[group("Krueger", &["K"]), group("纹身", &["胸前"])]).await.unwrap();
    assert_eq!(store.remove(&lin(), &names(&["KRUEGER", "K", "unknown", "krueger"])).await.unwrap(), 1);
    assert_eq!(store.list(&lin()).await.unwrap(), [group("纹身", &["胸前"])], "a member does not identify its group");
    assert_eq!(store.remove(&mo(), &names(&["纹身"])).await.unwrap(), 0);
    assert_eq!(store.remove(&lin(), &names(&["紋身"])).await.unwrap(), 1);
}

pub async fn special_characters_round_trip_in_groups(world: &World) {
    let store = store(world);
    let members =
        ["Kommando Spezialkräfte", "a'b\"c\\d", "%_*", "[\"json\"]", "🦅", "'; DROP TABLE synonym_groups; --"];
    let odd = group("\"quoted\" \\ term", &members).with_category("it's");
    store.put(&lin(), std::slice::from_ref(&odd)).await.unwrap();
    store.judge(&lin(), &[verdict("a'b", "\"c\"", true)]).await.unwrap();
    assert_eq!(store.list(&lin()).await.unwrap(), [odd]);
    assert_eq!(store.verdicts(&lin()).await.unwrap(), [verdict("a'b", "\"c\"", true)]);
}

pub async fn users_and_tenants_have_separate_groups(world: &World) {
    let store = store(world);
    let other = Scope::tenant_wide("other").unwrap();
    let scopes = [tenant(), lin(), mo(), other.clone(), other.with_user("lin").unwrap()];
    store.put(&tenant(), &[group("same", &["of all"])]).await.unwrap();
    // With groups of the tenant alone, both answers to `is_same_for_all_users` are allowed.
    assert_eq!(store.applicable_groups(&lin()).await.unwrap().groups, [group("same", &["of all"])]);
    for (n, scope) in scopes.iter().enumerate() {
        store.put(scope, &[group("same", &[&format!("of {n}")])]).await.unwrap();
        store.judge(scope, &[verdict("same", &format!("of {n}"), true)]).await.unwrap();
    }
    for (n, scope) in scopes.iter().enumerate() {
        assert_eq!(store.list(scope).await.unwrap(), [group("same", &[&format!("of {n}")])]);
        assert_eq!(store.verdicts(scope).await.unwrap(), [verdict("same", &format!("of {n}"), true)]);
    }
    let applicable = store.applicable(&lin()).await.unwrap();
    assert_eq!(applicable, [group("same", &["of 0"]), group("same", &["of 1"])]);
    for scope in &scopes {
        assert!(!store.applicable_groups(scope).await.unwrap().is_same_for_all_users, "{scope}");
    }
}

pub async fn a_narrower_scope_means_its_user(world: &World) {
    let store = store(world);
    store.put(&session("monday"), &[group("a", &["b"])]).await.unwrap();
    assert_eq!(store.list(&lin()).await.unwrap(), [group("a", &["b"])]);
    let kai = lin().with_agent("kai").unwrap();
    assert_eq!(store.list(&kai).await.unwrap(), [group("a", &["b"])]);
    assert_eq!(store.remove(&kai, &names(&["a"])).await.unwrap(), 1);
    assert_eq!(store.list(&lin()).await.unwrap(), []);
}

pub async fn a_verdict_holds_until_it_is_replaced(world: &World) {
    let store = store(world);
    store.judge(&lin(), &[verdict("猫", "狗", false), verdict("cat", "猫", true)]).await.unwrap();
    let expected = [verdict("cat", "猫", true), verdict("猫", "狗", false)];
    assert_eq!(store.verdicts(&lin()).await.unwrap(), expected);
    store.judge(&lin(), &[verdict("狗", "猫", true)]).await.unwrap();
    assert_eq!(store.verdicts(&lin()).await.unwrap()[1], verdict("猫", "狗", true));
    assert_eq!(store.list(&lin()).await.unwrap(), [], "a verdict does not create a group");
}

pub async fn clear_removes_groups_and_verdicts_in_scope(world: &World) {
    let store = store(world);
    let same_name_elsewhere = Scope::tenant_wide("other").unwrap().with_user("lin").unwrap();
    for scope in [&tenant(), &lin(), &mo(), &same_name_elsewhere] {
        store.put(scope, &[group("a", &["b"])]).await.unwrap();
        store.judge(scope, &[verdict("a", "c", false)]).await.unwrap();
    }
    let count =
        async |scope: &Scope| (store.list(scope).await.unwrap().len(), store.verdicts(scope).await.unwrap().len());
    store.clear(&session("monday")).await.unwrap();
    assert_eq!((count(&lin()).await, count(&mo()).await, count(&tenant()).await), ((0, 0), (1, 1), (1, 1)));
    store.clear(&tenant()).await.unwrap();
    assert_eq!(
        (count(&mo()).await, count(&tenant()).await, count(&same_name_elsewhere).await),
        ((0, 0), (0, 0), (1, 1))
    );
}

pub async fn empty_synonym_calls_change_nothing(world: &World) {
    let store = store(world);
    store.put(&lin(), &[]).await.unwrap();
    store.judge(&lin(), &[]).await.unwrap();
    assert_eq!(store.remove(&lin(), &[]).await.unwrap(), 0);
    store.clear(&mo()).await.unwrap();
    assert_eq!((store.list(&lin()).await.unwrap(), store.verdicts(&mo()).await.unwrap()), (vec![], vec![]));
}
