//! Branches (R3, R10).

use std::collections::{BTreeMap, BTreeSet};

use memory_engine::{ErrorKind, ScanQuery, history::Fork};

use crate::fixtures::{TestDatabase, message, recalled_texts, story};

pub(crate) async fn r10_branch_sees_parent_up_to_fork_or_nothing(test_db: TestDatabase) {
    let memory = test_db.open().await;
    for (sequence, text) in [(1, "the dragon sleeps"), (2, "the dragon wakes"), (3, "the dragon burns the town")] {
        memory.remember(&story(None), message(sequence, text)).await.unwrap();
    }
    let (tame, alone, child) = (story(Some("tame")), story(Some("alone")), story(Some("child")));
    memory.history().fork(&tame, Fork::at(2)).await.unwrap();
    memory.history().fork(&alone, Fork::at(2).alone()).await.unwrap();
    memory.remember(&tame, message(3, "the dragon is tamed")).await.unwrap();
    memory.remember(&tame, message(4, "the dragon learns to read")).await.unwrap();
    memory.history().fork(&child, Fork::at(3).from_branch("tame")).await.unwrap();
    memory.remember(&child, message(4, "the dragon flies away")).await.unwrap();
    memory.remember(&alone, message(1, "another dragon")).await.unwrap();

    let seen = async |branch| recalled_texts(&memory, &story(branch), "dragon").await;
    assert_eq!(seen(None).await.len(), 7, "a scope without a branch covers them all");
    let shared = ["the dragon sleeps", "the dragon wakes"];
    assert_eq!(seen(Some("alone")).await, ["another dragon"]);
    let tamed = ["the dragon is tamed", "the dragon learns to read", shared[0], shared[1]];
    assert_eq!(seen(Some("tame")).await, tamed);
    let flown = ["the dragon flies away", "the dragon is tamed", shared[0], shared[1]];
    assert_eq!(seen(Some("child")).await, flown);
    assert_eq!(seen(Some("nowhere")).await, [""; 0], "a branch that was never forked sees itself");

    // It is shared: what is changed or deleted before the fork is so on every branch.
    memory.remember(&story(None), message(2, "the dragon yawns")).await.unwrap();
    assert!(seen(Some("child")).await.contains(&"the dragon yawns".to_owned()));
    let first = memory.history().timeline(&child, &ScanQuery::oldest(1)).await.unwrap().records.remove(0);
    assert_eq!(first.text, "the dragon sleeps");
    memory.forget(&story(None), first.id).await.unwrap();
    assert_eq!(seen(Some("child")).await, ["the dragon flies away", "the dragon is tamed", "the dragon yawns"]);

    drop(memory);
    let memory = test_db.open().await;
    assert_eq!(recalled_texts(&memory, &child, "dragon").await.len(), 3, "branches outlive the process");
    let other = memory_engine::Scope::user("mo").unwrap().with_session("story").unwrap().with_branch("child").unwrap();
    assert_eq!(recalled_texts(&memory, &other, "dragon").await, [""; 0]);
}

pub(crate) async fn r10_invalid_fork_is_refused(test_db: TestDatabase) {
    let memory = test_db.open().await;
    let refused = async |scope, fork| memory.history().fork(&scope, fork).await.unwrap_err();
    let error = refused(story(None), Fork::at(1)).await;
    assert!(
        error.kind() == ErrorKind::InvalidInput && error.to_string().contains("the name of the new branch"),
        "{error}"
    );
    memory.history().fork(&story(Some("a")), Fork::at(1)).await.unwrap();
    assert_eq!(refused(story(Some("a")), Fork::at(2)).await.kind(), ErrorKind::Conflict);
    assert_eq!(refused(story(Some("b")), Fork::at(2).from_branch("b")).await.kind(), ErrorKind::InvalidInput);
    memory.history().fork(&story(Some("c")), Fork::at(1).from_branch("d")).await.unwrap();
    let error = refused(story(Some("d")), Fork::at(1).from_branch("c")).await;
    assert!(error.to_string().contains("one of its own branches"), "{error}");
    assert_eq!(memory.history().fork_of(&story(Some("a"))).await.unwrap(), Some(Fork::at(1)));
    assert_eq!(memory.history().fork_of(&story(Some("z"))).await.unwrap(), None);
}

/// The model: each branch has its messages, and where it comes from.
#[derive(Default)]
struct Tree {
    messages: BTreeMap<Option<&'static str>, BTreeMap<i64, String>>,
    forks: BTreeMap<&'static str, (Option<&'static str>, i64, bool)>,
}

impl Tree {
    fn seen(&self, branch: Option<&'static str>) -> BTreeSet<String> {
        let own = self.messages.get(&branch).into_iter().flat_map(BTreeMap::values).cloned();
        let mut seen: BTreeSet<String> = own.collect();
        seen.extend(self.inherited(branch, i64::MAX));
        seen
    }

    fn inherited(&self, branch: Option<&'static str>, until: i64) -> BTreeSet<String> {
        let Some((parent, at, true)) = branch.and_then(|branch| self.forks.get(branch)).copied() else {
            return BTreeSet::new();
        };
        let until = until.min(at);
        let theirs = self.messages.get(&parent).into_iter().flat_map(|messages| messages.range(..=until));
        let mut seen: BTreeSet<String> = theirs.map(|(_, text)| text.clone()).collect();
        seen.extend(self.inherited(parent, until));
        seen
    }
}

pub(crate) async fn r10_branch_visibility_matches_a_model(test_db: TestDatabase) {
    const BRANCHES: [&str; 5] = ["a", "b", "c", "d", "e"];
    let memory = test_db.open().await;
    let (mut tree, mut deleted) = (Tree::default(), BTreeSet::new());
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut dice = |sides: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % sides
    };
    for step in 0..160 {
        let known: Vec<Option<&'static str>> =
            std::iter::once(None).chain(tree.forks.keys().copied().map(Some)).collect();
        let branch = known[dice(known.len() as u64) as usize];
        let (sequence, kind) = (dice(12) as i64, dice(10));
        if kind < 6 {
            // A message, or another text for one that is there. An id that was deleted never comes back.
            if deleted.contains(&(branch, sequence)) {
                continue;
            }
            let text = format!("tick {step} happened");
            memory.remember(&story(branch), message(sequence, &text)).await.unwrap();
            tree.messages.entry(branch).or_default().insert(sequence, text);
        } else if kind < 8 {
            let Some(text) = tree.messages.get_mut(&branch).and_then(|messages| messages.remove(&sequence)) else {
                continue;
            };
            let scan = ScanQuery::oldest(1000);
            let page = memory.scan(&story(branch), &scan).await.unwrap();
            let id = page.records.iter().find(|r| r.text == text && r.scope == story(branch)).unwrap().id;
            memory.forget(&story(branch), id).await.unwrap();
            deleted.insert((branch, sequence));
        } else if let Some(new) = BRANCHES.iter().find(|name| !tree.forks.contains_key(*name)) {
            let mut fork = Fork::at(sequence);
            fork.parent = branch.map(str::to_owned);
            let inherits = dice(4) > 0;
            memory.history().fork(&story(Some(new)), if inherits { fork } else { fork.alone() }).await.unwrap();
            tree.forks.insert(new, (branch, sequence, inherits));
        }
    }
    assert_eq!(tree.forks.len(), BRANCHES.len(), "the dice made all branches");
    for branch in BRANCHES {
        let expected: Vec<String> = tree.seen(Some(branch)).into_iter().collect();
        assert_eq!(recalled_texts(&memory, &story(Some(branch)), "what happened").await, expected, "{branch}");
        let page = memory.history().timeline(&story(Some(branch)), &ScanQuery::oldest(1000)).await.unwrap();
        let seen: BTreeSet<String> = page.records.into_iter().filter(|r| !r.kind.is_ledger()).map(|r| r.text).collect();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), expected, "{branch}");
    }
}
