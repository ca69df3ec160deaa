//! The engine as an application uses it, on both of its backends.

use std::sync::Arc;

use memory_engine::{
    ErrorKind, Field, Filter, Forget, Kind, MemoryEngine, PutMode, RecallQuery, Record, RecordId, Scope, SystemClock,
    Timestamp, Trust, Turn,
    admin::Mismatch,
    embed::{Embedder, HashEmbedder, Purpose},
    recall::{Retriever, Retrievers},
};

use crate::given::{Backend, FlakyEmbedder, lin};

#[tokio::test]
async fn k4_records_are_found_by_words_at_once_and_by_vectors_later() {
    for backend in Backend::all() {
        let memory = backend.builder().background(false).build().await.unwrap();
        let id = memory.remember(&lin(), Turn::user("我对海鲜过敏")).await.unwrap();
        let found = memory.recall(&lin(), "海鮮可以吃嗎").await.unwrap();
        assert_eq!(found.hits[0].record.id, id);
        assert_eq!(found.hits[0].found_by.iter().map(|f| f.retriever).collect::<Vec<_>>(), [Retriever::Keyword]);

        assert_eq!(memory.drain(&lin(), |_| {}).await.unwrap(), 1);
        let found = memory.recall(&lin(), "海鮮可以吃嗎").await.unwrap();
        assert_eq!(
            found.hits[0].found_by.iter().map(|f| (f.retriever, f.rank)).collect::<Vec<_>>(),
            [(Retriever::Keyword, 1), (Retriever::Vector, 1)]
        );
        assert!(found.degraded.is_empty());
        assert!(memory.stats(&lin()).await.unwrap().queued.is_empty());
    }
}

#[tokio::test]
async fn a_record_stored_with_its_vector_is_found_by_it_at_once() {
    use memory_engine::{
        embed::{Embedder, Embedding, Purpose},
        recall::Retrievers,
    };
    for backend in Backend::all() {
        let memory = backend.builder().background(false).build().await.unwrap();
        let texts = ["我对海鲜过敏", "the brass key is under the stove"];
        let vectors = memory.settings().embedder().embed(&texts, Purpose::Document).await.unwrap();
        let record = |text: &str| Record::new(lin(), Kind::NOTE, text, &SystemClock);
        let pairs: Vec<_> = texts.iter().map(|text| record(text)).zip(vectors).collect();
        let ids: Vec<RecordId> = pairs.iter().map(|(record, _)| record.id).collect();
        memory.admin().store_embedded(&lin(), pairs.clone(), PutMode::Create).await.unwrap();
        assert!(memory.stats(&lin()).await.unwrap().queued.is_empty(), "no job is queued");
        for (id, question) in ids.iter().zip(["海鲜过敏", "brasskey stove"]) {
            let asked = RecallQuery::new(question).with_retrievers(Retrievers::VectorOnly);
            assert_eq!(memory.recall(&lin(), asked).await.unwrap().hits[0].record.id, *id);
        }
        // A repeated write changes nothing. A write with another text and its vector replaces both.
        memory.admin().store_embedded(&lin(), pairs.clone(), PutMode::Upsert).await.unwrap();
        let mut other = pairs[0].0.clone();
        other.text = "jazz records in the attic".into();
        let vector = memory.settings().embedder().embed(&[&other.text], Purpose::Document).await.unwrap().remove(0);
        memory.admin().store_embedded(&lin(), vec![(other, vector)], PutMode::Upsert).await.unwrap();
        assert!(memory.stats(&lin()).await.unwrap().queued.is_empty());
        let asked = RecallQuery::new("jazzrecords attic").with_retrievers(Retrievers::VectorOnly);
        assert_eq!(memory.recall(&lin(), asked).await.unwrap().hits[0].record.id, ids[0]);

        let short = vec![(record("too short a vector"), Embedding::new(vec![1.0]).unwrap())];
        let refused = memory.admin().store_embedded(&lin(), short, PutMode::Create).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::DimensionMismatch);
        assert_eq!(memory.stats(&lin()).await.unwrap().records, 2);
    }
}

#[tokio::test]
async fn the_background_worker_indexes_new_records() {
    for backend in Backend::all() {
        let memory = backend.builder().build().await.unwrap();
        memory.remember(&lin(), "I keep the brass key under the stove").await.unwrap();
        for _ in 0..6000 {
            if memory.stats(&lin()).await.unwrap().queued.is_empty() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        assert!(memory.stats(&lin()).await.unwrap().queued.is_empty());
        let found = memory.recall(&lin(), "brasskey").await.unwrap();
        assert_eq!(found.hits[0].found_by[0].retriever, Retriever::Vector, "only character n-grams match");
    }
}

#[tokio::test]
async fn forgotten_records_are_found_by_no_retriever_and_stay_blocked() {
    for backend in Backend::all() {
        let memory = backend.builder().build().await.unwrap();
        let turn = || Turn::user("the violin is in the attic").with_message_id("m1");
        let id = memory.remember(&lin(), turn()).await.unwrap();
        memory.drain(&lin(), |_| {}).await.unwrap();
        assert_eq!(memory.forget(&Scope::user("mo").unwrap(), id).await.unwrap().records(), 0, "another user cannot");
        assert_eq!(memory.forget(&lin(), id).await.unwrap().records(), 1);
        assert!(memory.recall(&lin(), "violin attic").await.unwrap().hits.is_empty());
        assert_eq!(memory.remember(&lin(), turn()).await.unwrap_err().kind(), ErrorKind::Conflict);

        let mut import = Record::new(lin(), Kind::TURN, "The violin is in the attic", &SystemClock);
        import.trust = Trust::Import;
        memory.store(&lin(), vec![import], PutMode::IfAbsent).await.unwrap();
        assert!(memory.recall(&lin(), "violin attic").await.unwrap().hits.is_empty());
        memory.remember(&lin(), Turn::user("the violin is in the attic")).await.unwrap();
        assert_eq!(
            memory.recall(&lin(), "violin attic").await.unwrap().hits.len(),
            1,
            "a new message with the text is stored"
        );
    }
}

#[tokio::test]
async fn a_scope_can_be_forgotten_whole_or_by_a_filter() {
    for backend in Backend::all() {
        let memory = backend.builder().build().await.unwrap();
        for n in 0..7 {
            let scene = if n % 2 == 0 { "plot" } else { "daily" };
            memory.remember(&lin(), Turn::user(format!("turn {n}")).with_scene(scene)).await.unwrap();
        }
        memory.remember(&Scope::user("mo").unwrap(), "turn of mo").await.unwrap();
        let plot = Forget::Matching(Filter::eq(Field::Scene, "plot"));
        assert_eq!(memory.forget(&lin(), plot).await.unwrap().records(), 4);
        assert_eq!(memory.forget(&lin(), Forget::Everything).await.unwrap().records(), 3);
        assert_eq!(memory.stats(&lin()).await.unwrap().records, 0);
        assert_eq!(memory.stats(&Scope::user("mo").unwrap()).await.unwrap().records, 1);
    }
}

#[tokio::test]
async fn k3_a_failing_embedder_loses_no_record_and_no_recall() {
    for backend in Backend::all() {
        let embedder = Arc::new(FlakyEmbedder::default());
        let memory = backend.builder().embedder(embedder.clone()).background(false).build().await.unwrap();
        embedder.fail(true);
        memory.remember(&lin(), "my cat is called Tuanzi").await.unwrap();
        assert!(memory.drain(&lin(), |_| {}).await.is_err());
        let found = memory.recall(&lin(), "what is the cat called?").await.unwrap();
        assert_eq!(found.hits.len(), 1);
        assert_eq!(found.degraded[0].stage, "vector");
        assert!(found.degraded[0].reason.contains("out of order"), "{:?}", found.degraded);
        assert_eq!(memory.stats(&lin()).await.unwrap().queued.values().sum::<u64>(), 1, "the job is still queued");
    }
}

#[tokio::test]
async fn k15_adopted_vectors_are_not_computed_again() {
    for backend in Backend::all() {
        let embedder = Arc::new(FlakyEmbedder::default());
        let memory = backend.builder().embedder(embedder.clone()).background(false).build().await.unwrap();
        let id = memory.remember(&lin(), "my cat is called Tuanzi").await.unwrap();
        let vector = HashEmbedder::default().embed(&["a harbour at dusk"], Purpose::Document).await.unwrap().remove(0);
        let known = vec![(id, vector.values().to_vec()), (RecordId::new(), vector.values().to_vec())];
        assert_eq!(memory.admin().adopt_vectors(&lin(), known).await.unwrap(), 1, "the other record does not exist");
        embedder.fail(true);
        assert_eq!(memory.drain(&lin(), |_| {}).await.unwrap(), 0, "no job is queued");
        embedder.fail(false);
        let query = RecallQuery::new("harbour dusk").with_retrievers(Retrievers::VectorOnly);
        let found = memory.recall(&lin(), query).await.unwrap();
        assert_eq!(found.hits[0].record.id, id, "the record is found by the adopted vector");
        let error = memory.admin().adopt_vectors(&lin(), vec![(id, vec![1.0; 3])]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DimensionMismatch);
    }
}

#[tokio::test]
async fn records_deleted_while_being_embedded_stay_deleted() {
    for backend in Backend::all() {
        let embedder = Arc::new(FlakyEmbedder::default());
        let memory = backend.builder().embedder(embedder.clone()).background(false).build().await.unwrap();
        let id = memory.remember(&lin(), "a secret that is taken back").await.unwrap();
        let gate = embedder.block_calls();
        let indexing = tokio::spawn({
            let memory = memory.clone();
            async move { memory.drain(&lin(), |_| {}).await }
        });
        embedder.wait_for_call().await;
        memory.forget(&lin(), id).await.unwrap();
        drop(gate);
        indexing.await.unwrap().unwrap();
        assert!(memory.recall(&lin(), "a secret that is taken back").await.unwrap().hits.is_empty());
        assert!(memory.recall(&lin(), "asecretthatistakenback").await.unwrap().hits.is_empty());
    }
}

#[tokio::test]
async fn the_answer_to_a_hit_is_found_as_its_neighbour() {
    for backend in Backend::all() {
        let memory = backend.builder().embedder(HashEmbedder::default()).build().await.unwrap();
        let session = lin().with_session("monday").unwrap();
        let at = |minute: i64| Timestamp::from_micros(1_772_400_000_000_000 + minute * 60_000_000);
        memory.remember(&session, Turn::user("Which wine did you bring to the dinner?").at(at(0))).await.unwrap();
        memory.remember(&session, Turn::assistant("A Riesling.").at(at(1))).await.unwrap();
        memory.remember(&session, Turn::assistant("Nice weather.").at(at(2))).await.unwrap();
        memory.drain(&lin(), |_| {}).await.unwrap();
        let found = memory.recall(&lin(), "wine for dinner").await.unwrap();
        let texts: Vec<&str> = found.hits.iter().map(|h| h.record.text.as_str()).collect();
        assert_eq!(texts, ["Which wine did you bring to the dinner?", "A Riesling."]);
        assert_eq!(found.hits[1].found_by[0].retriever, Retriever::Neighbor);
        let alone = memory
            .recall(&lin(), RecallQuery::new("wine for dinner").with_filter(Filter::eq(Field::Role, "user")))
            .await
            .unwrap();
        assert_eq!(alone.hits.len(), 1, "a neighbour must match the filter, too");
    }
}

#[tokio::test]
async fn near_duplicates_rank_last() {
    for backend in Backend::all() {
        let memory = backend.builder().build().await.unwrap();
        for text in ["我对海鲜过敏，不能吃虾", "我对海鮮過敏，不能吃蝦！", "海鲜市场在三号线旁边"]
        {
            memory.remember(&lin(), text).await.unwrap();
        }
        memory.drain(&lin(), |_| {}).await.unwrap();
        let found = memory.recall(&lin(), "海鲜过敏").await.unwrap();
        assert_eq!(found.hits[1].record.text, "海鲜市场在三号线旁边");
        assert_eq!(found.hits[2].repeats, Some(found.hits[0].record.id));
        let one = memory.recall(&lin(), RecallQuery::new("海鲜过敏").with_limit(2)).await.unwrap();
        assert!(one.hits.iter().all(|h| h.repeats.is_none()));
    }
}

#[tokio::test]
async fn bad_input_is_refused_before_anything_is_written() {
    for backend in Backend::all() {
        let memory = backend.builder().build().await.unwrap();
        let kind = |e: memory_engine::Error| e.kind();
        assert_eq!(memory.remember(&lin(), "  ").await.map_err(kind), Err(ErrorKind::InvalidInput));
        let future = Turn::user("x").at(Timestamp::from_micros(i64::MAX / 2));
        assert_eq!(memory.remember(&lin(), future).await.map_err(kind), Err(ErrorKind::InvalidInput));
        assert_eq!(memory.recall(&lin(), " ").await.map(|_| ()).map_err(kind), Err(ErrorKind::InvalidInput));
        let outside = Record::new(Scope::user("mo").unwrap(), Kind::NOTE, "x", &SystemClock);
        let batch = vec![Record::new(lin(), Kind::NOTE, "y", &SystemClock), outside];
        assert_eq!(memory.store(&lin(), batch, PutMode::Upsert).await.map_err(kind), Err(ErrorKind::Unauthorized));
        assert_eq!(memory.stats(&lin()).await.unwrap().records, 0);
        assert!(memory.recall(&lin(), "什么是的吗").await.unwrap().hits.is_empty(), "stop words find nothing");
        assert_eq!(memory.get(&lin(), RecordId::new()).await.unwrap(), None);
    }
}

#[tokio::test]
async fn another_embedder_is_refused_until_the_store_is_rebuilt() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    let open = || MemoryEngine::builder().sqlite(&path).background(false);
    let memory = open().build().await.unwrap();
    memory.remember(&lin(), "the ferry leaves at nine").await.unwrap();
    memory.drain(&lin(), |_| {}).await.unwrap();
    drop(memory);

    let other = || Arc::new(HashEmbedder::with_dimensions(64).unwrap());
    let e = open().embedder(other()).build().await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::SchemaMismatch);
    assert!(
        e.to_string().contains("384") && e.to_string().contains("64") && e.to_string().contains("Mismatch::Refill"),
        "{e}"
    );
    let memory = open().embedder(other()).on_mismatch(Mismatch::Rebuild).build().await.unwrap();
    assert_eq!(memory.drain(&lin(), |_| {}).await.unwrap(), 1);
    assert_eq!(memory.recall(&lin(), "theferry").await.unwrap().hits.len(), 1);
}

#[tokio::test(flavor = "current_thread")]
async fn a_single_threaded_runtime_keeps_ticking() {
    for backend in Backend::all() {
        let memory = backend.builder().build().await.unwrap();
        let ticks = Arc::new(std::sync::atomic::AtomicU64::new(0));
        let counter = tokio::spawn({
            let ticks = ticks.clone();
            async move {
                loop {
                    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                    ticks.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                }
            }
        });
        let long = "很长的一段话 with many words，".repeat(20_000);
        let before = ticks.load(std::sync::atomic::Ordering::Relaxed);
        memory.remember(&lin(), long).await.unwrap();
        let during = ticks.load(std::sync::atomic::Ordering::Relaxed) - before;
        assert!(during >= 5, "other tasks ran only {during} times while a long text was remembered");
        counter.abort();
    }
}
