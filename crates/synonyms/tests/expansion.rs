//! Questions with their synonyms, down to what they find.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures::executor::block_on;
use memory_engine_core::{Kind, ManualClock, Record, RecordId, Result, Scope, Timestamp};
use memory_engine_keyword_store::{
    Analyzer, Clause, KeywordEntry, KeywordQuery, KeywordStore, MemoryKeywordStore, TextAnalyzer,
};
use memory_engine_synonyms::{
    ApplicableGroups, MemorySynonymStore, PairVerdict, SEED, SharedThesaurus, SynonymGroup, SynonymStore, Thesaurus,
    groups_from_toml,
};
use proptest::prelude::*;

fn seed() -> Thesaurus {
    Thesaurus::new(&TextAnalyzer, groups_from_toml(SEED).unwrap())
}

fn expand(question: &str) -> Vec<Clause> {
    seed().expand(question, TextAnalyzer.query(question))
}

fn looks_for(clauses: &[Clause], term: &str) -> bool {
    clauses.iter().any(|clause| clause.terms.iter().any(|wanted| wanted.term == term))
}

/// The texts that a question finds, the best first.
fn found(texts: &[&'static str], clauses: Vec<Clause>) -> Vec<&'static str> {
    let store = MemoryKeywordStore::new();
    let lin = Scope::user("lin").unwrap();
    let entry = |(text, n): (&&'static str, u8)| {
        let at = ManualClock::new(Timestamp::from_micros(n.into()));
        let mut record = Record::new(lin.clone(), Kind::TURN, *text, &at);
        record.id = RecordId::from_bytes([n; 16]);
        KeywordEntry { terms: TextAnalyzer.document(text), record: Arc::new(record) }
    };
    let entries: Vec<_> = texts.iter().zip(0..).map(entry).collect();
    block_on(store.upsert(&lin, &entries)).unwrap();
    let hits = block_on(store.search(&lin, &KeywordQuery::new(clauses, 20))).unwrap();
    hits.iter().map(|hit| texts[usize::from(hit.id.as_bytes()[0])]).collect()
}

#[test]
fn k2_specified_example_works_in_both_directions() {
    let words = |question| seed().expand_terms(question);
    assert_eq!(words("Krueger的纹身"), ["Krueger", "Sebastian", "克鲁格", "K", "纹身", "双头鹰", "胸前"]);
    assert_eq!(words("双头鹰"), ["双头鹰", "纹身", "胸前"]);
    assert_eq!(words("ＫＲＵＥＧＥＲ"), ["Krueger", "Sebastian", "克鲁格", "K"]);
    assert_eq!(words("那個特種部隊"), ["特种部队", "KSK", "Kommando Spezialkräfte"]);
    assert_eq!(words("kommando  spezialkräfte 在哪里"), ["Kommando Spezialkräfte", "KSK", "特种部队"]);
    assert!(words("在哪里?").is_empty());
}

#[test]
fn k2_every_word_finds_its_synonyms() {
    for group in groups_from_toml(SEED).unwrap() {
        for asked in group.words() {
            let clauses = expand(asked);
            for held in group.words() {
                let record = TextAnalyzer.document(&format!("记得 {held} 吧"));
                let finds = clauses.iter().flat_map(|c| &c.terms).any(|wanted| record.count(&wanted.term) > 0);
                assert!(finds, "{asked} does not find {held}: {clauses:?}");
            }
        }
    }
}

#[test]
fn exact_word_ranks_above_synonym() {
    let texts = ["胸前有图案", "他的纹身很旧", "今天喝咖啡"];
    assert_eq!(found(&texts, expand("纹身")), ["他的纹身很旧", "胸前有图案"]);
}

#[test]
fn group_counts_once() {
    let texts = ["Krueger, Sebastian, 克鲁格 and K: one man", "Krueger drinks coffee", "nobody drinks tea", "rain"];
    assert_eq!(found(&texts, expand("Krueger coffee"))[0], texts[1]);
    let clauses = expand("Krueger Sebastian coffee");
    assert_eq!(clauses.len(), 2, "both names are one thing to look for: {clauses:?}");
    let named = &clauses[0];
    let weight = |term: &str| named.terms.iter().find(|wanted| wanted.term == term).unwrap().weight;
    assert_eq!((weight("krueger"), weight("sebastian")), (1.0, 1.0));
    assert_eq!(weight("k"), Thesaurus::SYNONYM_WEIGHT);
}

#[test]
fn multi_term_word_counts_by_matching_terms() {
    let clauses = expand("KSK");
    assert_eq!(clauses.len(), 1);
    let of_two: f64 = ["kommando", "spezialkräfte"]
        .map(|term| clauses[0].terms.iter().find(|wanted| wanted.term == term).unwrap().weight)
        .iter()
        .sum();
    assert!((of_two - Thesaurus::SYNONYM_WEIGHT).abs() < 1e-9);
    assert_eq!(clauses[0].weight, 1.0);
}

#[test]
fn words_inside_other_words_do_not_match() {
    for (question, synonym) in [
        ("杀毒软件好用吗", "绞杀"),
        ("演员表", "剧情"),
        ("脸色不好", "面罩"),
        ("OK的", "krueger"),
        ("dreamland", "宝贝"),
    ] {
        assert!(!looks_for(&expand(question), synonym), "{question}");
        assert_eq!(expand(question), TextAnalyzer.query(question), "{question}");
    }
    assert!(looks_for(&expand("two mercenaries"), "佣兵"), "another form of the word is the word");
}

#[test]
fn stop_words_do_not_match() {
    let thesaurus = Thesaurus::new(&TextAnalyzer, [SynonymGroup::new("information technology", ["IT"])]);
    let question = "is it raining";
    assert_eq!(thesaurus.expand(question, TextAnalyzer.query(question)), TextAnalyzer.query(question));
    assert_eq!(thesaurus.expand_terms(question), ["raining"]);
    assert_eq!(thesaurus.expand_terms("information technology"), ["information technology", "IT"]);
}

#[test]
fn groups_that_share_a_word_are_merged() {
    let groups = [SynonymGroup::new("猫", ["团子", "cat"]), SynonymGroup::new("团子", ["dumpling"])];
    let thesaurus = Thesaurus::new(&TextAnalyzer, groups);
    let clauses = thesaurus.expand("团子", TextAnalyzer.query("团子"));
    let grouped: Vec<_> = clauses.iter().filter(|clause| clause.terms.len() > 1).collect();
    assert_eq!(grouped.len(), 1, "{clauses:?}");
    assert!(looks_for(&clauses, "cat") && looks_for(&clauses, "dumpl"));
    assert!(thesaurus.relates("CAT", "猫") && !thesaurus.relates("cat", "dumpling"));
}

#[test]
fn weight_zero_disables_synonyms() {
    let thesaurus = seed().with_synonym_weight(0.0);
    assert!(!looks_for(&thesaurus.expand("纹身", TextAnalyzer.query("纹身")), "胸前"));
}

#[test]
fn k2_shared_thesaurus_reloads_changes() {
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(0)));
    let store = Arc::new(MemorySynonymStore::new());
    let shared = SharedThesaurus::new(store.clone(), Arc::new(TextAnalyzer), clock.clone());
    let (lin, tenant) = (Scope::user("lin").unwrap(), Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap());
    let words = |scope: &Scope| block_on(shared.of(scope)).unwrap().expand_terms("cat");
    assert_eq!(words(&lin), ["cat"]);
    block_on(store.put(&lin, &[SynonymGroup::new("cat", ["猫"])])).unwrap();
    assert_eq!(words(&lin), ["cat"], "it is not loaded at every question");
    let held = block_on(shared.of(&lin)).unwrap();
    block_on(shared.refresh(&lin)).unwrap();
    assert_eq!(words(&lin), ["cat", "猫"]);
    assert_eq!(held.expand_terms("cat"), ["cat"], "whoever holds the one before keeps it");

    block_on(store.put(&tenant, &[SynonymGroup::new("cat", ["kitty"])])).unwrap();
    block_on(shared.refresh(&tenant)).unwrap();
    assert_eq!(words(&lin), ["cat", "kitty", "猫"]);
    assert_eq!(words(&Scope::user("mo").unwrap()), ["cat", "kitty"]);

    block_on(store.clear(&lin)).unwrap();
    clock.advance(Duration::from_secs(61));
    assert_eq!(words(&lin), ["cat", "kitty"], "what was changed elsewhere is seen in time");
}

/// A store that reports whether any user has groups, and counts how often groups are loaded.
#[derive(Debug, Default)]
struct CheckingStore {
    inner: MemorySynonymStore,
    users_with_groups: Mutex<BTreeSet<Scope>>,
    loads: AtomicUsize,
}

#[async_trait]
impl SynonymStore for CheckingStore {
    async fn list(&self, scope: &Scope) -> Result<Vec<SynonymGroup>> {
        self.inner.list(scope).await
    }
    async fn applicable_groups(&self, scope: &Scope) -> Result<ApplicableGroups> {
        self.loads.fetch_add(1, Ordering::Relaxed);
        let is_same_for_all_users = self.users_with_groups.lock().unwrap().is_empty();
        Ok(ApplicableGroups { is_same_for_all_users, ..self.inner.applicable_groups(scope).await? })
    }
    async fn put(&self, scope: &Scope, groups: &[SynonymGroup]) -> Result<()> {
        if scope.user_name().is_some() {
            self.users_with_groups.lock().unwrap().insert(scope.namespace());
        }
        self.inner.put(scope, groups).await
    }
    async fn remove(&self, scope: &Scope, terms: &[String]) -> Result<u64> {
        self.inner.remove(scope, terms).await
    }
    async fn verdicts(&self, scope: &Scope) -> Result<Vec<PairVerdict>> {
        self.inner.verdicts(scope).await
    }
    async fn judge(&self, scope: &Scope, verdicts: &[PairVerdict]) -> Result<()> {
        self.inner.judge(scope, verdicts).await
    }
    async fn clear(&self, scope: &Scope) -> Result<u64> {
        self.users_with_groups.lock().unwrap().remove(&scope.namespace());
        self.inner.clear(scope).await
    }
}

#[test]
fn users_share_a_thesaurus_while_none_has_groups() {
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(0)));
    let store = Arc::new(CheckingStore::default());
    let shared = SharedThesaurus::new(store.clone(), Arc::new(TextAnalyzer), clock.clone());
    let tenant = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap();
    let [lin, mo, kim] = ["lin", "mo", "kim"].map(|name| Scope::user(name).unwrap());
    let words = |scope: &Scope| block_on(shared.of(scope)).unwrap().expand_terms("cat");
    let loads = || store.loads.load(Ordering::Relaxed);
    block_on(store.put(&tenant, &[SynonymGroup::new("cat", ["kitty"])])).unwrap();
    for scope in [&lin, &mo, &tenant, &lin] {
        assert_eq!(words(scope), ["cat", "kitty"]);
    }
    assert_eq!(loads(), 1);
    assert_eq!(words(&Scope::tenant_wide("other").unwrap()), ["cat"], "another tenant has a thesaurus of its own");
    assert_eq!(loads(), 2);

    block_on(store.put(&lin, &[SynonymGroup::new("cat", ["猫"])])).unwrap();
    assert_eq!(words(&lin), ["cat", "kitty"], "a change is seen after the maximum age");
    block_on(shared.refresh(&lin)).unwrap();
    assert_eq!(words(&lin), ["cat", "kitty", "猫"]);
    assert_eq!((words(&mo), loads()), (vec!["cat".to_owned(), "kitty".to_owned()], 4), "each user is loaded now");

    block_on(store.put(&mo, &[SynonymGroup::new("cat", ["meow"])])).unwrap();
    clock.advance(Duration::from_secs(61));
    assert_eq!(words(&mo), ["cat", "kitty", "meow"]);
    block_on(store.clear(&mo)).unwrap();
    block_on(store.clear(&lin)).unwrap();
    clock.advance(Duration::from_secs(61));
    assert_eq!(words(&kim), ["cat", "kitty"]);
    let before = loads();
    assert_eq!((words(&lin), words(&mo)), (words(&kim), words(&kim)));
    assert_eq!(loads(), before, "older thesauri of users are replaced by the shared one");
}

#[test]
fn cache_size_is_limited() {
    let clock = Arc::new(ManualClock::default());
    let store = Arc::new(MemorySynonymStore::new());
    let shared = SharedThesaurus::new(store.clone(), Arc::new(TextAnalyzer), clock.clone()).with_max_users(2);
    let users = ["a", "b", "c"].map(|name| Scope::user(name).unwrap());
    for user in &users {
        block_on(shared.of(user)).unwrap();
        clock.advance(Duration::from_secs(1));
    }
    for user in &users {
        block_on(store.put(user, &[SynonymGroup::new("x", ["y"])])).unwrap();
    }
    let loaded = users.map(|user| block_on(shared.of(&user)).unwrap().len());
    assert_eq!(loaded, [1, 1, 1], "each made room for the next");
}

proptest! {
    #[test]
    fn expansion_keeps_all_query_terms(question in "(\\PC{0,6}|Krueger|双头鹰|胸前| KSK |Kommando Spezialkräfte|剧本|演|纹身){0,8}") {
        let clauses = TextAnalyzer.query(&question);
        let expanded = expand(&question);
        for clause in &clauses {
            prop_assert!(looks_for(&expanded, &clause.terms[0].term), "{:?}", clause);
        }
        prop_assert!(expanded.len() <= clauses.len() + 10);
        for clause in &expanded {
            prop_assert!(clause.weight > 0.0 && clause.weight.is_finite());
            prop_assert!(clause.terms.iter().all(|wanted| wanted.weight > 0.0 && wanted.weight <= 1.0));
            let mut terms: Vec<_> = clause.terms.iter().map(|wanted| &wanted.term).collect();
            terms.sort();
            terms.dedup();
            prop_assert_eq!(terms.len(), clause.terms.len(), "a term stands once in a clause");
        }
    }

    #[test]
    fn expanded_words_are_unique(question in "\\PC{0,20}(Krueger|K|演|纹身){0,3}\\PC{0,8}") {
        let words = seed().expand_terms(&question);
        let mut folded: Vec<_> = words.iter().map(|word| memory_engine_core::phrases::fold(word)).collect();
        folded.sort();
        folded.dedup();
        prop_assert_eq!(folded.len(), words.len());
    }
}
