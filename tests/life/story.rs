//! The memory of a story (R1, R2, R7, R9, R10), in its two calls.

use std::{sync::Arc, time::Duration};

use memory_engine::{
    Builder, Digest, Fork, Kind, MemoryMode, RecallOptions, Rewind, RuleExtractor, Scope,
    story::{StoryMemory, StoryMessage, StoryOptions, StoryTurn, Wait},
};

use crate::given::{Place, lin, story};

async fn open(place: &Place, mode: MemoryMode) -> StoryMemory {
    let graph = Arc::new(RuleExtractor::default());
    // The dictionary is loaded with the first question; a busy machine takes its time.
    let options = RecallOptions::default().with_deadline(Duration::from_secs(60));
    let equip = |builder: Builder| builder.digest(Digest::of_stories(4)).graph(graph).recall_options(options);
    let engine = place.open_with(equip).await;
    StoryMemory::new(engine, mode, StoryOptions::default())
}

async fn tell(memory: &StoryMemory, scope: &Scope, first: i64, texts: &[&str]) {
    for (sequence, text) in (first..).zip(texts) {
        let message = StoryMessage::timeline(format!("m{sequence}"), sequence, *text);
        let done = memory.index(scope, message, Wait::Until(Duration::from_secs(30))).await;
        assert!(done.complete, "{done:?}");
    }
}

async fn told(memory: &StoryMemory, scope: &Scope, pending: &str) -> String {
    let recent = [StoryMessage::timeline("now", 90, "天黑了。")];
    let context = memory.context(scope, &StoryTurn::after(recent).with_pending([pending])).await;
    assert_eq!(context.degraded, []);
    context.text
}

const SHIP: &str = "Captain Holt returns on the Sea Hawk.";

pub(crate) async fn r7_a_story_is_told_with_what_happened_before_and_with_nothing_of_another_branch(place: Place) {
    let (main, other) = (story(Some("main")), story(Some("other")));
    let memory = open(&place, MemoryMode::Graph).await;
    let texts = [
        "Captain Holt sailed the Sea Hawk into the fog.",
        "沈砚在青石村遇见了林晓月，沈砚救了林晓月。",
        "林晓月把金钥匙藏在了落霞山的石碑下面。",
        "It was known that Captain Holt had once loved Anna Reed.",
    ];
    tell(&memory, &main, 1, &texts).await;
    let records = memory.engine().scan(&lin(), &memory_engine::ScanQuery::oldest(99)).await.unwrap().records;
    assert_eq!(records.iter().filter(|record| record.kind == Kind::SUMMARY).count(), 1);
    let text = told(&memory, &main, "林晓月去取金钥匙。").await;
    for line in [
        "- 林晓月把金钥匙藏在了落霞山的石碑下面。 [msg m3 / seq 3]",
        "## Key Entities",
        "落霞山 (place) [msg m3 / seq 3]",
        "## Relations",
    ] {
        assert!(text.contains(line), "{line} is missing:\n{text}");
    }

    memory.engine().fork(&other, Fork::at(1).from_branch("main")).await.unwrap();
    tell(&memory, &other, 2, &["Captain Holt burned the Sea Hawk in Grey Harbour."]).await;
    let (here, there) = (told(&memory, &main, SHIP).await, told(&memory, &other, SHIP).await);
    assert!(
        here.contains("Anna Reed — appears with → Captain Holt [msg m4 / seq 4]")
            && !here.contains("burned")
            && !here.contains("Grey Harbour"),
        "{here}"
    );
    assert!(there.contains("burned") && there.contains("into the fog") && !there.contains("Reed"), "{there}");

    memory.engine().rewind(&main, Rewind::Last(2)).await.unwrap();
    assert_eq!(told(&memory, &main, "金钥匙藏在落霞山的石碑下面。").await, "");
    assert!(!told(&memory, &main, SHIP).await.contains("Reed"));
}

pub(crate) async fn r2_a_mode_that_is_off_leaves_the_database_as_it_is(place: Place) {
    let main = story(Some("main"));
    let on = open(&place, MemoryMode::Vector).await;
    tell(&on, &main, 1, &["Captain Holt sailed the Sea Hawk into the fog."]).await;
    assert!(told(&on, &main, SHIP).await.contains("[msg m1 / seq 1]"));
    assert_eq!(on.engine().graph().store().stats(&lin()).await.unwrap().records, 0, "vector makes no graph");
    let before = on.engine().stats(&lin()).await.unwrap();
    let off = StoryMemory::new(on.engine().clone(), MemoryMode::Off, StoryOptions::default());
    let done = off.index(&main, StoryMessage::timeline("m2", 2, "The fog lifted."), Wait::No).await;
    assert_eq!((done.record, done.complete), (None, false));
    assert_eq!(told(&off, &main, SHIP).await, "");
    assert_eq!(on.engine().stats(&lin()).await.unwrap(), before);
}
