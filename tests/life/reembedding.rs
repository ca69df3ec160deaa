//! Changing the embedder of a store that is in use.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use memory_engine::{
    Error, ErrorKind, MemoryEngine, RecallQuery, RecordId, Result, Scope, Turn,
    admin::Mismatch,
    embed::{Embedder, Embedding, EmbeddingSpace, HashEmbedder, Purpose},
    recall::Retrievers,
};

use crate::fixtures::{TestDatabase, lin};

/// The hash embedder with its components rotated by `rotation`: similarities within one rotation are those of the hash
/// embedder, and vectors of two rotations are not similar.
#[derive(Debug)]
struct RotatedEmbedder {
    hash: HashEmbedder,
    space: EmbeddingSpace,
    rotation: usize,
    /// While set, every call fails.
    is_unavailable: AtomicBool,
    /// Texts that contain this word cannot be embedded.
    refused_word: Option<&'static str>,
    pause: Duration,
}

impl RotatedEmbedder {
    fn new(name: &str, dimensions: usize, rotation: usize) -> Self {
        let hash = HashEmbedder::with_dimensions(dimensions).unwrap();
        let space = EmbeddingSpace::cosine(name, dimensions);
        Self {
            hash,
            space,
            rotation,
            is_unavailable: AtomicBool::new(false),
            refused_word: None,
            pause: Duration::ZERO,
        }
    }
}

#[async_trait]
impl Embedder for RotatedEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    fn max_batch(&self) -> usize {
        16
    }

    fn semantic_weight(&self) -> f64 {
        0.0
    }

    fn score_floor(&self) -> f64 {
        0.9999 // only equal texts
    }

    async fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Embedding>> {
        if purpose == Purpose::Document {
            tokio::time::sleep(self.pause).await;
        }
        if self.is_unavailable.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Unavailable, "embed", "the service is away"));
        }
        if let Some(word) = self.refused_word.filter(|word| texts.iter().any(|text| text.contains(word))) {
            return Err(Error::invalid("embed", format!("texts with {word} are refused")));
        }
        let mut vectors = Vec::new();
        for vector in self.hash.embed(texts, purpose).await? {
            let mut values = vector.values().to_vec();
            values.rotate_right(self.rotation);
            vectors.push(Embedding::new(values)?);
        }
        Ok(vectors)
    }
}

/// The old embedder.
fn old() -> Arc<RotatedEmbedder> {
    Arc::new(RotatedEmbedder::new("old", 128, 0))
}

fn same_length() -> Arc<RotatedEmbedder> {
    Arc::new(RotatedEmbedder::new("new", 128, 37))
}

fn shorter() -> Arc<RotatedEmbedder> {
    Arc::new(RotatedEmbedder::new("new", 64, 5))
}

fn text(number: usize) -> String {
    match number % 2 {
        0 => format!("memory number {number} is about the lighthouse of island {}", number * 7919),
        _ => format!("第{number}条记忆说的是{}号岛上的灯塔", number * 7919),
    }
}

async fn remember(memory: &MemoryEngine, numbers: impl IntoIterator<Item = usize>) -> Vec<(RecordId, String)> {
    let mut stored = Vec::new();
    for number in numbers {
        stored.push((memory.remember(&lin(), text(number).as_str()).await.unwrap(), text(number)));
    }
    stored
}

/// Returns the records nearest to a text, by vectors alone.
async fn nearest(memory: &MemoryEngine, text: &str) -> Result<Vec<RecordId>> {
    let query = RecallQuery::new(text).with_retrievers(Retrievers::VectorOnly).with_limit(3);
    Ok(memory.recall(&lin(), query).await?.hits.into_iter().map(|hit| hit.record.id).collect())
}

async fn assert_each_is_nearest(memory: &MemoryEngine, stored: &[(RecordId, String)]) {
    for (id, text) in stored {
        assert_eq!(nearest(memory, text).await.unwrap(), [*id], "{text}");
    }
}

async fn begin(test_db: &TestDatabase, old: &Arc<RotatedEmbedder>, count: usize) -> Vec<(RecordId, String)> {
    let memory = test_db.open_in(old.clone(), None, Mismatch::Refuse, false).await.unwrap();
    let stored = remember(&memory, 0..count).await;
    memory.drain(&lin(), |_| ()).await.unwrap();
    assert_each_is_nearest(&memory, &stored).await;
    stored
}

async fn serving(memory: &MemoryEngine) -> String {
    memory.admin().embedding_versions().await.unwrap().unwrap().serving.space
}

pub(crate) async fn embedder_change_under_load_loses_nothing(test_db: TestDatabase) {
    let mut now = old();
    let mut stored = begin(&test_db, &now, 60).await;
    // First to another dimension, then to another space of the same dimension. The tables swap their roles both
    // times.
    for (round, new) in [("a", 64, 5), ("b", 128, 37)].into_iter().enumerate() {
        let (name, dimensions, turn) = new;
        let pause = Duration::from_millis(15);
        let new = Arc::new(RotatedEmbedder { pause, ..RotatedEmbedder::new(name, dimensions, turn) });
        let memory = test_db.open_in(new.clone(), Some(now.clone()), Mismatch::Refuse, true).await.unwrap();
        let (done, searches, switched) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
        let first = 1000 * (round + 1);
        let writer = async {
            let mut written = Vec::new();
            let mut gone = BTreeSet::new();
            for number in first.. {
                // Some are edited, and some deleted: new ones and those that were there before.
                let id = format!("r{round}-{number}");
                let turn = |text: &str| RotatedEmbedder::turn(text, &id);
                let record = memory.remember(&lin(), turn(&text(number))).await.unwrap();
                match number % 5 {
                    0 => assert!(
                        memory.forget(&lin(), record).await.unwrap().records() == 1
                            && gone.insert((record, text(number)))
                    ),
                    1 => {
                        let edited = format!("{} as it was told later", text(number));
                        assert_eq!(memory.remember(&lin(), turn(&edited)).await.unwrap(), record);
                        written.push((record, edited));
                    }
                    _ => written.push((record, text(number))),
                }
                if number % 10 == 3 {
                    let (record, text) = stored[number - first].clone();
                    assert_eq!(memory.forget(&lin(), record).await.unwrap().records(), 1);
                    gone.insert((record, text));
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
                if number - first >= 59 || done.load(Ordering::Relaxed) && number - first > 30 {
                    break;
                }
            }
            (written, gone)
        };
        let searcher = async {
            let sample: Vec<_> = stored.iter().enumerate().filter(|(number, _)| number % 10 != 3).collect();
            let mut number = 0;
            while !done.load(Ordering::Relaxed) {
                let (_, (id, text)) = sample[number % sample.len()];
                let found = nearest(&memory, text).await.unwrap();
                assert_eq!(found, [*id], "{text}, search {number}");
                number += 1;
                searches.store(number as u64, Ordering::Relaxed);
                if memory.settings().embedder().space() == new.space() {
                    switched.fetch_add(1, Ordering::Relaxed);
                }
                tokio::task::yield_now().await;
            }
        };
        let filling = async {
            assert!(memory.admin().cut_over(0, |_| ()).await.unwrap());
            assert_eq!(memory.settings().embedder().space(), new.space());
            while switched.load(Ordering::Relaxed) < 3 {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            done.store(true, Ordering::Relaxed);
        };
        let ((written, gone), _, ()) =
            tokio::time::timeout(Duration::from_secs(60), async { tokio::join!(writer, searcher, filling) })
                .await
                .expect("it ends");
        let (searches, switched) = (searches.load(Ordering::Relaxed), switched.load(Ordering::Relaxed));
        assert!(switched > 0 && searches > switched + 5, "{searches} searches, {switched} by the new one");
        memory.drain(&lin(), |_| ()).await.unwrap();
        assert_eq!(serving(&memory).await, new.space().to_string());
        stored.extend(written);
        stored.retain(|(id, _)| gone.iter().all(|(gone, _)| gone != id));
        assert_each_is_nearest(&memory, &stored).await;
        for (record, text) in &gone {
            assert!(!nearest(&memory, text).await.unwrap().contains(record), "what was deleted stays deleted");
        }
        // The old ones are as complete as the new ones, and go on command.
        let both = memory.admin().embedding_versions().await.unwrap().unwrap();
        let second = both.second.unwrap();
        assert_eq!((second.vectors, second.waiting), (both.records, 0));
        assert_eq!((both.serving.vectors, both.records), (stored.len() as u64, stored.len() as u64));
        assert_eq!(memory.admin().drop_second_embedding_version().await.unwrap(), Some(now.space().to_string()));
        assert_eq!(memory.admin().drop_second_embedding_version().await.unwrap(), None);
        assert_each_is_nearest(&memory, &stored[..10]).await;
        now = new;
    }
}

impl RotatedEmbedder {
    /// A message that can be said again.
    fn turn(text: &str, id: &str) -> Turn {
        Turn::user(text).with_message_id(id)
    }
}

pub(crate) async fn interrupted_fill_continues(test_db: TestDatabase) {
    let stored = begin(&test_db, &old(), 80).await;
    let slow = Arc::new(RotatedEmbedder { pause: Duration::from_millis(5), ..RotatedEmbedder::new("new", 64, 5) });
    let filled = async |memory: &MemoryEngine| {
        memory.admin().embedding_versions().await.unwrap().unwrap().second.unwrap().vectors
    };
    let memory = test_db.open_in(slow.clone(), None, Mismatch::Refill, false).await.unwrap();
    assert_eq!(filled(&memory).await, 0);
    // Broken off in the middle: the future is dropped, and then the engine.
    let half = AtomicBool::new(false);
    let admin = memory.admin();
    let fill = admin.cut_over(0, |progress| half.store(progress.done >= 32, Ordering::Relaxed));
    let enough = async {
        while !half.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! { done = fill => panic!("it was not broken off: {done:?}"), () = enough => {} }
    drop(memory);
    // What a process that was killed had claimed comes back after its lease.
    test_db.clock.advance(Duration::from_secs(60));
    let e = test_db.open_in(shorter(), None, Mismatch::Refuse, false).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::SchemaMismatch);
    assert!(e.to_string().contains("Mismatch::Refill to complete them"), "{e}");

    let memory = test_db.open_in(shorter(), None, Mismatch::Refill, false).await.unwrap();
    let before = filled(&memory).await;
    assert!((32..80).contains(&before), "{before}");
    let mut first = None;
    assert!(memory.admin().cut_over(0, |progress| _ = first.get_or_insert(progress.done)).await.unwrap());
    assert_eq!(first, Some(before), "what was filled stays");
    assert_each_is_nearest(&memory, &stored).await;
}

pub(crate) async fn one_process_fills_while_another_serves(test_db: TestDatabase) {
    let mut stored = begin(&test_db, &old(), 20).await;
    let serving = test_db.open_in(old(), None, Mismatch::Refuse, false).await.unwrap();
    let filler = test_db.open_in(same_length(), None, Mismatch::Refill, false).await.unwrap();
    // Both are one store: what one writes waits for the vectors of both.
    stored.extend(remember(&serving, 20..25).await);
    stored.extend(remember(&filler, 25..30).await);
    let e = nearest(&filler, &text(1)).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::SchemaMismatch);
    let words = filler.recall(&lin(), "lighthouse").await.unwrap();
    assert!(
        !words.hits.is_empty() && words.degraded[0].reason.contains("are being made next to them"),
        "{:?}",
        words.degraded
    );
    assert_eq!(serving.drain(&lin(), |_| ()).await.unwrap(), 10);
    assert_each_is_nearest(&serving, &stored).await;

    assert!(filler.admin().cut_over(0, |_| ()).await.unwrap());
    assert_each_is_nearest(&filler, &stored).await;
    let recall = serving.recall(&lin(), "lighthouse").await.unwrap();
    assert!(!recall.hits.is_empty(), "words go on");
    assert!(
        recall.degraded[0].reason.contains("open the store with the embedder of")
            || recall.degraded[0].reason.contains("next to them")
    );
    assert_eq!(
        nearest(&serving, &text(1)).await.unwrap_err().kind(),
        ErrorKind::SchemaMismatch,
        "never a wrong answer"
    );
    // It keeps its own vectors up for as long as they are there, and leaves the new ones to who can make them.
    let late = remember(&serving, 30..32).await;
    serving.drain(&lin(), |_| ()).await.unwrap();
    filler.drain(&lin(), |_| ()).await.unwrap();
    assert_each_is_nearest(&filler, &late).await;
    assert_eq!(filler.admin().embedding_versions().await.unwrap().unwrap().second.unwrap().vectors, 32);
    filler.admin().drop_second_embedding_version().await.unwrap();
    let last = remember(&serving, 32..34).await;
    let e = serving.drain(&lin(), |_| ()).await.unwrap_err();
    assert!(e.kind() == ErrorKind::SchemaMismatch && e.to_string().contains("Mismatch::Refill"), "{e}");
    assert_eq!(filler.drain(&lin(), |_| ()).await.unwrap(), 2, "nobody made them wait");
    assert_each_is_nearest(&filler, &last).await;
}

pub(crate) async fn generation_can_be_dropped_or_kept(test_db: TestDatabase) {
    let stored = begin(&test_db, &old(), 20).await;
    let filler = test_db.open_in(shorter(), None, Mismatch::Refill, false).await.unwrap();
    let e = test_db.open_in(same_length(), None, Mismatch::Refill, false).await.unwrap_err();
    assert!(e.kind() == ErrorKind::SchemaMismatch && e.to_string().contains("drop_second_embedding_version"), "{e}");
    assert_eq!(filler.admin().drop_second_embedding_version().await.unwrap(), Some(shorter().space().to_string()));
    assert_eq!(filler.admin().cut_over(0, |_| ()).await.unwrap_err().kind(), ErrorKind::SchemaMismatch);
    drop(filler);

    let both = test_db.open_in(same_length(), Some(old()), Mismatch::Refuse, false).await.unwrap();
    assert_eq!(both.settings().embedder().space(), old().space());
    assert_each_is_nearest(&both, &stored[..3]).await;
    both.drain(&lin(), |_| ()).await.unwrap();
    assert_eq!(both.settings().embedder().space(), same_length().space(), "what is complete serves");
    let more = remember(&both, 20..24).await;
    both.drain(&lin(), |_| ()).await.unwrap();
    drop(both);
    // Back again: there is nothing to embed.
    let is_unavailable = old();
    is_unavailable.is_unavailable.store(true, Ordering::Relaxed);
    let back = test_db.open_in(is_unavailable.clone(), Some(same_length()), Mismatch::Refuse, false).await.unwrap();
    assert!(back.admin().cut_over(0, |_| ()).await.unwrap());
    is_unavailable.is_unavailable.store(false, Ordering::Relaxed);
    assert_eq!(serving(&back).await, old().space().to_string());
    assert_each_is_nearest(&back, &stored).await;
    assert_each_is_nearest(&back, &more).await;
}

pub(crate) async fn failing_embedder_delays_only_new_vectors(test_db: TestDatabase) {
    let stored = begin(&test_db, &old(), 20).await;
    let is_unavailable = same_length();
    is_unavailable.is_unavailable.store(true, Ordering::Relaxed);
    let memory = test_db.open_in(is_unavailable.clone(), Some(old()), Mismatch::Refuse, false).await.unwrap();
    let e = memory.admin().cut_over(0, |_| ()).await.unwrap_err();
    assert!(e.to_string().contains("the service is away"), "{e}");
    let late = remember(&memory, 20..22).await;
    memory.drain(&lin(), |_| ()).await.unwrap_err();
    assert_each_is_nearest(&memory, &stored).await;
    assert_each_is_nearest(&memory, &late).await;
    is_unavailable.is_unavailable.store(false, Ordering::Relaxed);
    test_db.clock.advance(Duration::from_secs(120));
    assert!(memory.admin().cut_over(0, |_| ()).await.unwrap());
    assert_each_is_nearest(&memory, &stored).await;
}

pub(crate) async fn unembeddable_records_block_the_switch_until_accepted(test_db: TestDatabase) {
    let stored = begin(&test_db, &old(), 10).await;
    let picky = || Arc::new(RotatedEmbedder { refused_word: Some("number 4 "), ..RotatedEmbedder::new("new", 64, 5) });
    let memory = test_db.open_in(picky(), Some(old()), Mismatch::Refuse, false).await.unwrap();
    let clock = test_db.clock.clone();
    let hurry = async {
        loop {
            clock.advance(Duration::from_secs(60));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let admin = memory.admin();
    let over = tokio::select! { over = admin.cut_over(0, |_| ()) => over.unwrap(), () = hurry => unreachable!() };
    assert!(!over, "one is missing");
    assert_eq!(memory.settings().embedder().space(), old().space());
    assert_each_is_nearest(&memory, &stored).await;
    let failures = memory.admin().failures(&Scope::tenant_wide("default").unwrap(), 9).await.unwrap();
    assert!(failures.len() == 1 && failures[0].reason.contains("texts with number 4"), "{failures:?}");
    // With it left out the new ones serve, and the old ones are still there.
    assert!(memory.admin().cut_over(1, |_| ()).await.unwrap());
    assert_eq!(nearest(&memory, &text(4)).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_each_is_nearest(&memory, &stored[5..]).await;
    let versions = memory.admin().embedding_versions().await.unwrap().unwrap();
    assert_eq!((versions.serving.dead_letters, versions.serving.vectors), (1, 9));
}
