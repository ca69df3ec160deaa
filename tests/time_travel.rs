//! Reads as of a time, after random histories: a scan returns what a snapshot of that time shows, without what was
//! deleted since, and a recall finds it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
    time::Duration,
};

use futures::TryStreamExt;
use memory_engine::{
    Builder, Clock, EnrichmentOptions, Kind, MemoryEngine, PutMode, RecallOptions, RecallQuery, Record, RecordId,
    ScanQuery, Scope, State, Timestamp, Turn, recall::Verdict, testing::ManualClock,
};

const NOON: i64 = 1_772_000_000_000_000;
const HOUR: Duration = Duration::from_secs(3600);
const STEPS: usize = 60;
const CITIES: [(&str, &str); 6] = [
    ("I live in Porto.", "我住在上海。"),
    ("I live in Lisbon.", "我住在北京。"),
    ("I live in Berlin.", "我住在广州。"),
    ("I live in Madrid.", "我住在成都。"),
    ("I live in Vienna.", "我住在杭州。"),
    ("I live in Dublin.", "我住在南京。"),
];

/// A linear congruential generator: the same numbers for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// Returns options with a deadline that a busy machine does not reach.
pub(crate) fn patient_recall() -> RecallOptions {
    RecallOptions::default().with_deadline(HOUR)
}

/// The records that were stored at a time.
struct Snapshot {
    at: Timestamp,
    records: Vec<Record>,
}

/// A random history, with a snapshot after each step.
struct History {
    memory: MemoryEngine,
    clock: Arc<ManualClock>,
    user: Scope,
    random: Random,
    snapshots: Vec<Snapshot>,
    /// The times before which the text of a record is not known any more.
    lost_texts: BTreeMap<RecordId, Timestamp>,
    retractions: Vec<RecordId>,
}

impl History {
    async fn new(builder: Builder, user: Scope, seed: u64) -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(NOON)));
        let builder = builder.clock(clock.clone()).background(false).recall_options(patient_recall());
        let memory = builder.enrichment(EnrichmentOptions::rules().unwrap()).build().await.unwrap();
        let (snapshots, lost_texts, retractions) = (Vec::new(), BTreeMap::new(), Vec::new());
        Self { memory, clock, user, random: Random(seed), snapshots, lost_texts, retractions }
    }

    async fn stored(&self) -> Vec<Record> {
        self.memory.records(&self.user).stream().try_collect().await.unwrap()
    }

    /// Returns a random record that is no entry of a ledger.
    async fn any(&mut self, admits: fn(&Record) -> bool) -> Option<Record> {
        let mut records = self.stored().await;
        records.retain(|record| !record.kind.is_ledger() && admits(record));
        // The order of two records of one step depends on random ids.
        records.sort_by(|a, b| (&a.text, a.kind.as_str()).cmp(&(&b.text, b.kind.as_str())));
        if records.is_empty() { None } else { Some(records.swap_remove(self.random.below(records.len()))) }
    }

    async fn step(&mut self, number: usize) {
        self.clock.advance(HOUR);
        let now = self.clock.now();
        let session = self.user.clone().with_session(format!("s{}", number % 2)).unwrap();
        match self.random.below(11) {
            0 | 1 => {
                let text = if number.is_multiple_of(2) {
                    format!("note {number} on tea")
                } else {
                    format!("笔记{number}：喝茶")
                };
                self.memory.remember(&session, Turn::note(text)).await.unwrap();
            }
            2 | 3 => {
                let (english, chinese) = CITIES[self.random.below(CITIES.len())];
                let text = if self.random.below(2) == 0 { english } else { chinese };
                self.memory.remember(&session, text).await.unwrap();
            }
            4 => {
                let text = format!("message, version {number}");
                let message = Turn::user(text).with_message_id(format!("m{}", self.random.below(2)));
                let before = self.stored().await;
                let id = self.memory.remember(&self.user, message).await;
                if let Some(id) = id.ok().filter(|id| before.iter().any(|record| record.id == *id)) {
                    self.lost_texts.insert(id, now);
                }
            }
            5 => {
                if let Some(record) = self.any(|record| record.state == State::Active).await {
                    self.memory.update(&self.user, record.id, format!("new text {number}")).await.unwrap();
                }
            }
            6 | 7 => {
                if let Some(record) = self.any(|record| record.state == State::Active).await {
                    let retraction = self.memory.history().retract(&self.user, &[record.id], "wrong").await.unwrap();
                    self.retractions.push(retraction.id);
                }
            }
            8 if !self.retractions.is_empty() => {
                let retraction = self.retractions.swap_remove(self.random.below(self.retractions.len()));
                // All its records may have been forgotten.
                drop(self.memory.history().restore(&self.user, retraction).await);
            }
            8 | 9 => {
                let mut record = Record::new(session, Kind::EVENT, format!("event {number} 活动"), &self.clock);
                record.valid_from = Some(now.before(HOUR * self.random.below(5) as u32));
                record.valid_until = Some(now.after(HOUR * self.random.below(20) as u32));
                self.memory.store(&self.user, vec![record], PutMode::Create).await.unwrap();
            }
            _ => {
                let record = self.any(|_| true).await;
                // Fewer deletions than other changes, so that something is left to compare.
                if let Some(record) = record.filter(|_| self.random.below(2) == 0) {
                    self.memory.forget(&self.user, record.id).await.unwrap();
                }
            }
        }
        self.memory.drain(&self.user, |_| ()).await.unwrap();
        self.snapshots.push(Snapshot { at: now, records: self.stored().await });
    }

    /// Returns what has to be visible at a time after a snapshot, before the next one.
    fn expected(&self, snapshot: &Snapshot, at: Timestamp, kept: &BTreeSet<RecordId>) -> Vec<(RecordId, String)> {
        let is_visible = |record: &&Record| {
            let is_known = self.lost_texts.get(&record.id).is_none_or(|since| *since <= at);
            let is_merged = record.metadata.contains_key("merged_into");
            let is_current = match record.state {
                State::Active => true,
                State::Superseded => record.valid_until.is_some() && !is_merged,
                State::Pending | State::Revoked | State::Deleted => false,
            };
            let is_valid = record.valid_from.is_none_or(|from| from <= at) && record.is_valid(at);
            kept.contains(&record.id) && !record.kind.is_ledger() && is_known && is_current && is_valid
        };
        let visible = snapshot.records.iter().filter(is_visible);
        visible.map(|record| (record.id, record.text.clone())).collect()
    }

    /// Checks scans and recalls as of the time of every snapshot, and as of half an hour later.
    async fn check(&self) {
        let kept: BTreeSet<RecordId> = self.stored().await.iter().map(|record| record.id).collect();
        let mut different = 0;
        let mut found = 0;
        for snapshot in &self.snapshots {
            for at in [snapshot.at, snapshot.at.after(HOUR / 2)] {
                let expected = self.expected(snapshot, at, &kept);
                let scan = ScanQuery::oldest(1000).counted();
                let page = self.memory.history().as_of(at).scan(&self.user, &scan).await.unwrap();
                assert_eq!(page.total, Some(expected.len() as u64));
                let scanned: Vec<(RecordId, String)> =
                    page.records.iter().map(|record| (record.id, record.text.clone())).collect();
                assert_eq!(scanned, expected, "as of {at}");
                assert!(page.records.iter().all(|record| record.state == State::Active));
                let by_pages = self.memory.records(&self.user).as_of(at).page_rows(3).collect().await.unwrap();
                assert_eq!(by_pages, page.records);
                different += expected.iter().filter(|(id, _)| !self.is_unchanged(snapshot, *id)).count();
            }
            found += self.check_recall(snapshot, &kept).await;
        }
        assert!(different > 20, "{different} changed records are too few to show anything");
        assert!(found > 100, "{found} hits are too few to show anything");
    }

    /// Returns true if the record is today as it was at the time of the snapshot.
    fn is_unchanged(&self, snapshot: &Snapshot, id: RecordId) -> bool {
        let state = |snapshot: &Snapshot| {
            let record = snapshot.records.iter().find(|record| record.id == id);
            record.map(|record| (record.state, record.text.clone()))
        };
        self.snapshots.last().map(state) == Some(state(snapshot))
    }

    /// Asks for the text of every visible record. Returns the number of questions.
    async fn check_recall(&self, snapshot: &Snapshot, kept: &BTreeSet<RecordId>) -> usize {
        let expected = self.expected(snapshot, snapshot.at, kept);
        let texts: BTreeSet<&str> = expected.iter().map(|(_, text)| text.as_str()).collect();
        for text in texts.iter().take(5) {
            let query = RecallQuery::new(*text).as_of(snapshot.at).with_limit(50);
            let recall = self.memory.recall(&self.user, query).await.unwrap();
            assert!(recall.degraded.is_empty(), "{:?}", recall.degraded);
            let hits: Vec<&str> = recall.hits.iter().map(|hit| hit.record.text.as_str()).collect();
            assert!(hits.contains(text), "'{text}' is not among {hits:?} as of {}", snapshot.at);
            let unexpected: Vec<&&str> = hits.iter().filter(|hit| !texts.contains(**hit)).collect();
            assert!(unexpected.is_empty(), "{unexpected:?} was not visible as of {}", snapshot.at);
        }
        texts.len().min(5)
    }
}

/// Checks the questions of one user, in English and Chinese, after an update, a retraction and a deletion.
pub(crate) async fn answers(builder: Builder) {
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(NOON)));
    let memory = builder.clock(clock.clone()).background(false).recall_options(patient_recall()).build().await.unwrap();
    let user = Scope::user("mo").unwrap();
    let note = async |text: &str| memory.remember(&user, Turn::note(text).at(clock.now())).await.unwrap();
    let key = note("The spare key is under the mat").await;
    let code = note("车库的密码提示是猫的名字").await;
    let secret = note("Mo keeps a violin in the attic").await;
    let then = clock.now();
    clock.advance(24 * HOUR);
    memory.update(&user, key, "The spare key is with Ana").await.unwrap();
    memory.history().retract(&user, &[code], "wrong").await.unwrap();
    memory.forget(&user, secret).await.unwrap();
    let later = note("Ana plays the cello").await;
    memory.drain(&user, |_| ()).await.unwrap();

    let best = async |text: &str, at: Option<Timestamp>| {
        let mut query = RecallQuery::new(text);
        query.as_of = at;
        let recall = memory.recall(&user, query).await.unwrap();
        assert!(recall.degraded.is_empty(), "{:?}", recall.degraded);
        recall.relevant().next().map(|hit| hit.record.text.clone())
    };
    let question = "Where is the spare key?";
    assert_eq!(best(question, Some(then)).await.as_deref(), Some("The spare key is under the mat"));
    assert_eq!(best(question, None).await.as_deref(), Some("The spare key is with Ana"));
    assert_eq!(best("车库的密码提示", Some(then)).await.as_deref(), Some("车库的密码提示是猫的名字"));
    assert_eq!(best("车库的密码提示", None).await, None);
    for at in [Some(then), None] {
        assert_eq!(best("Where is the violin?", at).await, None, "what was forgotten does not come back");
    }
    assert_eq!(best("Who plays the cello?", Some(then)).await, None);
    assert_eq!(best("Who plays the cello?", Some(clock.now())).await.as_deref(), Some("Ana plays the cello"));

    let why = async |text: &str, id: RecordId| {
        memory.admin().explain(&user, RecallQuery::new(text).as_of(then), id).await.unwrap().verdict
    };
    assert_eq!(why(question, key).await, Verdict::Hit { place: 1 });
    assert_eq!(why("车库的密码提示", code).await, Verdict::Hit { place: 1 });
    assert_eq!(why("cello", later).await, Verdict::NotThen { as_of: then });
    assert_eq!(why("violin", secret).await, Verdict::NotThere);

    // A question with a relative date is read from the time.
    let today = RecallQuery::new("What did I note today?").only_then().as_of(then);
    let texts: Vec<String> =
        memory.recall(&user, today).await.unwrap().hits.into_iter().map(|hit| hit.record.text).collect();
    assert!(texts.contains(&"The spare key is under the mat".to_owned()), "{texts:?}");
    let yesterday = RecallQuery::new("昨天记了什么？").only_then().as_of(then.after(24 * HOUR - HOUR));
    assert!(!memory.recall(&user, yesterday).await.unwrap().hits.is_empty());
    let before = RecallQuery::new(question).as_of(then.before(HOUR));
    assert!(memory.recall(&user, before).await.unwrap().hits.is_empty());

    let got = memory.history().as_of(then).get_all(&user, &[key, later, code]).await.unwrap();
    let texts: Vec<Option<&str>> = got.iter().map(|record| record.as_ref().map(|r| r.text.as_str())).collect();
    assert_eq!(texts, [Some("The spare key is under the mat"), None, Some("车库的密码提示是猫的名字")]);
    let other = Scope::user("lin").unwrap();
    assert_eq!(memory.history().as_of(then).get_all(&other, &[key]).await.unwrap(), [None]);
    assert!(memory.recall(&other, RecallQuery::new(question).as_of(then)).await.unwrap().hits.is_empty());
}

/// Runs one history and checks it.
pub(crate) async fn run(builder: Builder, user: &str, seed: u64) {
    let mut history = History::new(builder, Scope::user(user).unwrap(), seed).await;
    for number in 0..STEPS {
        history.step(number).await;
    }
    history.check().await;
}

/// Runs several histories in memory.
pub(crate) async fn in_memory() {
    answers(MemoryEngine::builder().in_memory()).await;
    for seed in 0..6 {
        run(MemoryEngine::builder().in_memory(), "lin", seed).await;
    }
}

/// Runs a history on a SQLite file.
pub(crate) async fn on_sqlite(folder: &Path) {
    answers(MemoryEngine::builder().sqlite(folder.join("answers.db"))).await;
    run(MemoryEngine::builder().sqlite(folder.join("memory.db")), "lin", 7).await;
}
