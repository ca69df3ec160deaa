//! Changing the embedder of a store that is in use (A2).

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

use crate::given::{Place, lin};

/// The hash embedder with its numbers moved on by `turn`: texts are as near to each other as ever, and what another
/// one of the same length has made of them is far away.
#[derive(Debug)]
struct Turned {
    hash: HashEmbedder,
    space: EmbeddingSpace,
    turn: usize,
    /// Fails for everything while set.
    away: AtomicBool,
    /// Fails for texts that hold this.
    dislikes: Option<&'static str>,
    pause: Duration,
}

impl Turned {
    fn new(name: &str, dimensions: usize, turn: usize) -> Self {
        let hash = HashEmbedder::with_dimensions(dimensions).unwrap();
        let space = EmbeddingSpace::cosine(name, dimensions);
        Self { hash, space, turn, away: AtomicBool::new(false), dislikes: None, pause: Duration::ZERO }
    }
}

#[async_trait]
impl Embedder for Turned {
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
        0.9999 // only the very same text
    }

    async fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Embedding>> {
        if purpose == Purpose::Document {
            tokio::time::sleep(self.pause).await;
        }
        if self.away.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Unavailable, "embed", "the service is away"));
        }
        if let Some(word) = self.dislikes.filter(|word| texts.iter().any(|text| text.contains(word))) {
            return Err(Error::invalid("embed", format!("no {word}, please")));
        }
        let mut vectors = Vec::new();
        for vector in self.hash.embed(texts, purpose).await? {
            let mut values = vector.values().to_vec();
            values.rotate_right(self.turn);
            vectors.push(Embedding::new(values)?);
        }
        Ok(vectors)
    }
}

/// The old embedder, one with as many dimensions, and one with fewer.
fn old() -> Arc<Turned> {
    Arc::new(Turned::new("old", 128, 0))
}

fn same_length() -> Arc<Turned> {
    Arc::new(Turned::new("new", 128, 37))
}

fn shorter() -> Arc<Turned> {
    Arc::new(Turned::new("new", 64, 5))
}

fn text(number: usize) -> String {
    match number % 2 {
        0 => format!("memory number {number} is about the lighthouse of island {}", number * 7919),
        _ => format!("第{number}条记忆说的是{}号岛上的灯塔", number * 7919),
    }
}

async fn remember(memory: &MemoryEngine, numbers: impl IntoIterator<Item = usize>) -> Vec<(RecordId, String)> {
    let mut kept = Vec::new();
    for number in numbers {
        kept.push((memory.remember(&lin(), text(number).as_str()).await.unwrap(), text(number)));
    }
    kept
}

/// Returns the records nearest to a text, by vectors alone.
async fn near(memory: &MemoryEngine, text: &str) -> Result<Vec<RecordId>> {
    let query = RecallQuery::new(text).with_retrievers(Retrievers::VectorOnly).with_limit(3);
    Ok(memory.recall(&lin(), query).await?.hits.into_iter().map(|hit| hit.record.id).collect())
}

async fn all_near(memory: &MemoryEngine, kept: &[(RecordId, String)]) {
    for (id, text) in kept {
        assert_eq!(near(memory, text).await.unwrap(), [*id], "{text}");
    }
}

async fn begin(place: &Place, old: &Arc<Turned>, count: usize) -> Vec<(RecordId, String)> {
    let memory = place.open_in(old.clone(), None, Mismatch::Refuse, false).await.unwrap();
    let kept = remember(&memory, 0..count).await;
    memory.drain(&lin(), |_| ()).await.unwrap();
    all_near(&memory, &kept).await;
    kept
}

async fn serving(memory: &MemoryEngine) -> String {
    memory.admin().generations().await.unwrap().unwrap().serving.space
}

pub(crate) async fn a2_the_embedder_is_changed_under_load_and_nothing_is_lost_or_empty(place: Place) {
    let mut now = old();
    let mut kept = begin(&place, &now, 60).await;
    // First to another dimension, then to another space of the same dimension. The tables swap their roles both
    // times.
    for (round, new) in [("a", 64, 5), ("b", 128, 37)].into_iter().enumerate() {
        let (name, dimensions, turn) = new;
        let pause = Duration::from_millis(15);
        let new = Arc::new(Turned { pause, ..Turned::new(name, dimensions, turn) });
        let memory = place.open_in(new.clone(), Some(now.clone()), Mismatch::Refuse, true).await.unwrap();
        let (done, searches, switched) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
        let first = 1000 * (round + 1);
        let writer = async {
            let mut written = Vec::new();
            let mut gone = BTreeSet::new();
            for number in first.. {
                // Some are edited, and some deleted: new ones and those that were there before.
                let id = format!("r{round}-{number}");
                let turn = |text: &str| Turned::turn(text, &id);
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
                    let (record, text) = kept[number - first].clone();
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
            let sample: Vec<_> = kept.iter().enumerate().filter(|(number, _)| number % 10 != 3).collect();
            let mut number = 0;
            while !done.load(Ordering::Relaxed) {
                let (_, (id, text)) = sample[number % sample.len()];
                let found = near(&memory, text).await.unwrap();
                assert_eq!(found, [*id], "{text}, search {number}");
                number += 1;
                searches.store(number as u64, Ordering::Relaxed);
                if memory.embedder().space() == new.space() {
                    switched.fetch_add(1, Ordering::Relaxed);
                }
                tokio::task::yield_now().await;
            }
        };
        let filling = async {
            assert!(memory.admin().cut_over(0, |_| ()).await.unwrap());
            assert_eq!(memory.embedder().space(), new.space());
            tokio::time::sleep(Duration::from_millis(150)).await;
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
        kept.extend(written);
        kept.retain(|(id, _)| gone.iter().all(|(gone, _)| gone != id));
        all_near(&memory, &kept).await;
        for (record, text) in &gone {
            assert!(!near(&memory, text).await.unwrap().contains(record), "what was deleted stays deleted");
        }
        // The old ones are as complete as the new ones, and go on command.
        let both = memory.admin().generations().await.unwrap().unwrap();
        let second = both.second.unwrap();
        assert_eq!((second.vectors, second.waiting), (both.records, 0));
        assert_eq!((both.serving.vectors, both.records), (kept.len() as u64, kept.len() as u64));
        assert_eq!(memory.admin().drop_second_generation().await.unwrap(), Some(now.space().to_string()));
        assert_eq!(memory.admin().drop_second_generation().await.unwrap(), None);
        all_near(&memory, &kept[..10]).await;
        now = new;
    }
}

impl Turned {
    /// A message that can be said again.
    fn turn(text: &str, id: &str) -> Turn {
        Turn::user(text).with_message_id(id)
    }
}

pub(crate) async fn a2_a_fill_that_is_broken_off_goes_on_where_it_was(place: Place) {
    let kept = begin(&place, &old(), 80).await;
    let slow = Arc::new(Turned { pause: Duration::from_millis(5), ..Turned::new("new", 64, 5) });
    let filled =
        async |memory: &MemoryEngine| memory.admin().generations().await.unwrap().unwrap().second.unwrap().vectors;
    let memory = place.open_in(slow.clone(), None, Mismatch::Refill, false).await.unwrap();
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
    place.clock.advance(Duration::from_secs(60));
    let e = place.open_in(shorter(), None, Mismatch::Refuse, false).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::SchemaMismatch);
    assert!(e.to_string().contains("Mismatch::Refill to complete them"), "{e}");

    let memory = place.open_in(shorter(), None, Mismatch::Refill, false).await.unwrap();
    let before = filled(&memory).await;
    assert!((32..80).contains(&before), "{before}");
    let mut first = None;
    assert!(memory.admin().cut_over(0, |progress| _ = first.get_or_insert(progress.done)).await.unwrap());
    assert_eq!(first, Some(before), "what was filled stays");
    all_near(&memory, &kept).await;
}

pub(crate) async fn a2_one_process_fills_while_another_serves_and_that_one_is_told_when_its_vectors_are_gone(
    place: Place,
) {
    let mut kept = begin(&place, &old(), 20).await;
    let serving = place.open_in(old(), None, Mismatch::Refuse, false).await.unwrap();
    let filler = place.open_in(same_length(), None, Mismatch::Refill, false).await.unwrap();
    // Both are one store: what one writes waits for the vectors of both.
    kept.extend(remember(&serving, 20..25).await);
    kept.extend(remember(&filler, 25..30).await);
    let e = near(&filler, &text(1)).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::SchemaMismatch);
    let words = filler.recall(&lin(), "lighthouse").await.unwrap();
    assert!(
        !words.hits.is_empty() && words.degraded[0].reason.contains("are being made next to them"),
        "{:?}",
        words.degraded
    );
    assert_eq!(serving.drain(&lin(), |_| ()).await.unwrap(), 10);
    all_near(&serving, &kept).await;

    assert!(filler.admin().cut_over(0, |_| ()).await.unwrap());
    all_near(&filler, &kept).await;
    let told = serving.recall(&lin(), "lighthouse").await.unwrap();
    assert!(!told.hits.is_empty(), "words go on");
    assert!(
        told.degraded[0].reason.contains("open the store with the embedder of")
            || told.degraded[0].reason.contains("next to them")
    );
    assert_eq!(near(&serving, &text(1)).await.unwrap_err().kind(), ErrorKind::SchemaMismatch, "never a wrong answer");
    // It keeps its own vectors up for as long as they are there, and leaves the new ones to who can make them.
    let late = remember(&serving, 30..32).await;
    serving.drain(&lin(), |_| ()).await.unwrap();
    filler.drain(&lin(), |_| ()).await.unwrap();
    all_near(&filler, &late).await;
    assert_eq!(filler.admin().generations().await.unwrap().unwrap().second.unwrap().vectors, 32);
    filler.admin().drop_second_generation().await.unwrap();
    let last = remember(&serving, 32..34).await;
    let e = serving.drain(&lin(), |_| ()).await.unwrap_err();
    assert!(e.kind() == ErrorKind::SchemaMismatch && e.to_string().contains("Mismatch::Refill"), "{e}");
    assert_eq!(filler.drain(&lin(), |_| ()).await.unwrap(), 2, "nobody made them wait");
    all_near(&filler, &last).await;
}

pub(crate) async fn a2_a_generation_is_given_up_or_kept_to_switch_back(place: Place) {
    let kept = begin(&place, &old(), 20).await;
    let filler = place.open_in(shorter(), None, Mismatch::Refill, false).await.unwrap();
    let e = place.open_in(same_length(), None, Mismatch::Refill, false).await.unwrap_err();
    assert!(e.kind() == ErrorKind::SchemaMismatch && e.to_string().contains("drop_second_generation"), "{e}");
    assert_eq!(filler.admin().drop_second_generation().await.unwrap(), Some(shorter().space().to_string()));
    assert_eq!(filler.admin().cut_over(0, |_| ()).await.unwrap_err().kind(), ErrorKind::SchemaMismatch);
    drop(filler);

    let both = place.open_in(same_length(), Some(old()), Mismatch::Refuse, false).await.unwrap();
    assert_eq!(both.embedder().space(), old().space());
    all_near(&both, &kept[..3]).await;
    both.drain(&lin(), |_| ()).await.unwrap();
    assert_eq!(both.embedder().space(), same_length().space(), "what is complete serves");
    let more = remember(&both, 20..24).await;
    both.drain(&lin(), |_| ()).await.unwrap();
    drop(both);
    // Back again: there is nothing to embed.
    let away = old();
    away.away.store(true, Ordering::Relaxed);
    let back = place.open_in(away.clone(), Some(same_length()), Mismatch::Refuse, false).await.unwrap();
    assert!(back.admin().cut_over(0, |_| ()).await.unwrap());
    away.away.store(false, Ordering::Relaxed);
    assert_eq!(serving(&back).await, old().space().to_string());
    all_near(&back, &kept).await;
    all_near(&back, &more).await;
}

pub(crate) async fn a2_an_embedder_that_fails_holds_up_the_new_vectors_and_not_the_old(place: Place) {
    let kept = begin(&place, &old(), 20).await;
    let away = same_length();
    away.away.store(true, Ordering::Relaxed);
    let memory = place.open_in(away.clone(), Some(old()), Mismatch::Refuse, false).await.unwrap();
    let e = memory.admin().cut_over(0, |_| ()).await.unwrap_err();
    assert!(e.to_string().contains("the service is away"), "{e}");
    let late = remember(&memory, 20..22).await;
    memory.drain(&lin(), |_| ()).await.unwrap_err();
    all_near(&memory, &kept).await;
    all_near(&memory, &late).await;
    away.away.store(false, Ordering::Relaxed);
    place.clock.advance(Duration::from_secs(120));
    assert!(memory.admin().cut_over(0, |_| ()).await.unwrap());
    all_near(&memory, &kept).await;
}

pub(crate) async fn a2_what_cannot_be_embedded_keeps_the_old_vectors_until_that_is_accepted(place: Place) {
    let kept = begin(&place, &old(), 10).await;
    let picky = || Arc::new(Turned { dislikes: Some("number 4 "), ..Turned::new("new", 64, 5) });
    let memory = place.open_in(picky(), Some(old()), Mismatch::Refuse, false).await.unwrap();
    let clock = place.clock.clone();
    let hurry = async {
        loop {
            clock.advance(Duration::from_secs(60));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let admin = memory.admin();
    let over = tokio::select! { over = admin.cut_over(0, |_| ()) => over.unwrap(), () = hurry => unreachable!() };
    assert!(!over, "one is missing");
    assert_eq!(memory.embedder().space(), old().space());
    all_near(&memory, &kept).await;
    let failures = memory.admin().failures(&Scope::tenant_wide("default").unwrap(), 9).await.unwrap();
    assert!(failures.len() == 1 && failures[0].reason.contains("no number 4"), "{failures:?}");
    // With it left out the new ones serve, and the old ones are still there.
    assert!(memory.admin().cut_over(1, |_| ()).await.unwrap());
    assert_eq!(near(&memory, &text(4)).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    all_near(&memory, &kept[5..]).await;
    let generations = memory.admin().generations().await.unwrap().unwrap();
    assert_eq!((generations.serving.given_up, generations.serving.vectors), (1, 9));
}
