use futures::executor::block_on;

use super::*;
use crate::memory::MemorySynonymStore;

#[test]
fn accepted_word_joins_existing_group() {
    let (store, lin) = (MemorySynonymStore::new(), Scope::user("lin").unwrap());
    block_on(async {
        store.put(&lin, &[SynonymGroup::new("Krueger", ["K"])]).await.unwrap();
        assert_eq!(store.accept(&lin, "克鲁格", "krueger").await.unwrap().members, ["K", "克鲁格"]);
        assert_eq!(store.accept(&lin, "k", "克鲁格").await.unwrap().members.len(), 2, "it is there already");
        store.accept(&lin, "猫", "cat").await.unwrap();
        store.reject(&lin, "猫", "狗").await.unwrap();
        assert_eq!(store.list(&lin).await.unwrap().len(), 2);
        let verdicts = store.verdicts(&lin).await.unwrap();
        assert_eq!(verdicts.iter().filter(|v| v.accepted).count(), 3);
        assert_eq!(verdicts.iter().filter(|v| !v.accepted).count(), 1);
        assert!(store.reject(&lin, "Ａ", "a").await.is_err());
    });
}

#[test]
fn tenant_groups_apply_to_users() {
    let (store, lin) = (MemorySynonymStore::new(), Scope::user("lin").unwrap());
    let tenant = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap();
    block_on(async {
        store.put(&tenant, &[SynonymGroup::new("a", ["b"])]).await.unwrap();
        store.put(&lin, &[SynonymGroup::new("c", ["d"])]).await.unwrap();
        assert_eq!(store.applicable(&lin.with_session("s").unwrap()).await.unwrap().len(), 2);
        assert_eq!(store.applicable(&tenant).await.unwrap().len(), 1);
    });
}
