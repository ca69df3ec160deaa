//! Forgetting a user also deletes the user's synonyms.

use std::path::Path;

use memory_engine::{
    Forget, MemoryEngine, Scope,
    synonyms::{PairVerdict, SynonymGroup, SynonymStore, WordPair},
};

/// Forgets a part of a user, the whole user, and the tenant, and checks the synonyms after each.
pub(crate) async fn a_user_who_is_forgotten_leaves_no_synonyms(memory: &MemoryEngine) {
    let synonyms = memory.settings().synonyms().store().clone();
    let tenant = Scope::tenant_wide("forgetting").unwrap();
    let [lin, mo] = ["lin", "mo"].map(|user| tenant.clone().with_user(user).unwrap());
    for (scope, term, member) in [(&tenant, "tea", "茶"), (&lin, "小橘", "ginger"), (&mo, "小橘", "marmalade")] {
        synonyms.put(scope, &[SynonymGroup::new(term, [member])]).await.unwrap();
        let pair = WordPair::new(term, "cat").unwrap();
        synonyms.judge(scope, &[PairVerdict { pair, accepted: false }]).await.unwrap();
    }
    let hits = async |scope: &Scope, question: &str| memory.recall(scope, question).await.unwrap().hits.len();
    for scope in [&lin, &mo] {
        memory.remember(scope, "my ginger cat and my marmalade sleep").await.unwrap();
        memory.remember(&scope.clone().with_session("s").unwrap(), "喝茶").await.unwrap();
        assert_eq!((hits(scope, "小橘").await, hits(scope, "tea").await), (1, 1), "synonyms are in use");
    }
    let count_synonyms = async |scope: &Scope| {
        (synonyms.list(scope).await.unwrap().len(), synonyms.verdicts(scope).await.unwrap().len())
    };

    let session = lin.clone().with_session("s").unwrap();
    assert_eq!(memory.forget(&session, Forget::Everything).await.unwrap().records(), 1);
    assert_eq!(count_synonyms(&lin).await, (1, 1), "a conversation is not the user");

    let forgotten = memory.forget(&lin, Forget::Everything).await.unwrap();
    assert_eq!((forgotten.records(), forgotten.synonyms), (1, 2), "with a group and a verdict");
    assert_eq!(
        (count_synonyms(&lin).await, count_synonyms(&mo).await, count_synonyms(&tenant).await),
        ((0, 0), (1, 1), (1, 1))
    );
    memory.remember(&lin, "another ginger cat").await.unwrap();
    memory.remember(&lin, "绿茶").await.unwrap();
    assert_eq!(hits(&lin, "小橘").await, 0, "nothing that was loaded stays in use");
    assert_eq!((hits(&lin, "tea").await, hits(&mo, "小橘").await), (1, 1));

    memory.forget(&tenant, Forget::Everything).await.unwrap();
    for scope in [&tenant, &lin, &mo] {
        assert_eq!(count_synonyms(scope).await, (0, 0));
    }
}

/// Runs it on a SQLite file.
pub(crate) async fn on_sqlite(folder: &Path) {
    let memory = MemoryEngine::builder().sqlite(folder.join("memory.db")).background(false).build().await.unwrap();
    a_user_who_is_forgotten_leaves_no_synonyms(&memory).await;
}
