//! Requests of a person about the memory itself, on every backend; on Postgres if `DATABASE_URL` names a server.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use memory_engine::{
    EnrichmentOptions, Field, Filter, FilterValue, Forget, ForgetText, Kind, MemoryEngine, Outcome, PutMode, Record,
    RecordId, ScanQuery, Scope, State, Trust, Turn,
    context::RequestNotice,
    enrichment::fact_keys,
    requests::{ChatCommand, ChatRequests, MemoryRequest},
    store::{BlockReason, ContentHash},
    testing::ManualClock,
};

use crate::given::{Backend, lin};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

struct Fixture {
    memory: MemoryEngine,
    clock: Arc<ManualClock>,
    _backend: Option<Backend>,
}

/// Returns an empty memory of each backend.
async fn fixtures(test: &str) -> Vec<Fixture> {
    let mut fixtures = Vec::new();
    for backend in Backend::all() {
        fixtures.push(Fixture::new(backend.builder(), Some(backend)).await);
    }
    if let Ok(url) = std::env::var("DATABASE_URL") {
        let schema = format!("{test}_{}", std::process::id());
        let options = memory_engine::postgres::PostgresOptions::default().with_schema(schema);
        fixtures.push(Fixture::new(MemoryEngine::builder().postgres_with(url, options), None).await);
    }
    fixtures
}

impl Fixture {
    async fn new(builder: memory_engine::Builder, backend: Option<Backend>) -> Self {
        let clock = Arc::new(ManualClock::new("2026-03-02T09:00:00Z".parse().unwrap()));
        let builder = builder.enrichment(EnrichmentOptions::rules().unwrap()).background(false).clock(clock.clone());
        Self { memory: builder.build().await.unwrap(), clock, _backend: backend }
    }

    fn requests(&self) -> ChatRequests {
        self.memory.requests()
    }

    async fn say(&self, turn: Turn) -> RecordId {
        self.clock.advance(Duration::from_secs(60));
        let id = self.memory.remember(&monday(), turn).await.unwrap();
        self.memory.drain(&lin(), |_| ()).await.unwrap();
        id
    }

    /// Returns the texts of the active turns, notes and facts.
    async fn texts(&self) -> BTreeSet<String> {
        let kinds = [Kind::TURN, Kind::FACT, Kind::NOTE].map(|kind| FilterValue::from(kind.as_str()));
        let filter = Filter::any_of(Field::Kind, kinds).and(Filter::eq(Field::State, State::Active.as_str()));
        let records = self.memory.scan(&lin(), &ScanQuery::oldest(100).with_filter(filter)).await.unwrap().records;
        records.into_iter().map(|record| record.text).collect()
    }
}

fn monday() -> Scope {
    lin().with_session("monday").unwrap()
}

fn forgotten(topic: &str, count: usize) -> RequestNotice {
    RequestNotice::Forgotten { topic: topic.into(), count }
}

#[tokio::test]
async fn what_names_a_topic_is_forgotten_and_comes_back() {
    for fixture in fixtures("requests_topic").await {
        fixture.say(Turn::user("My landlord Otto raised the rent, and I'm allergic to walnuts.")).await;
        fixture.say(Turn::assistant("Sorry about your landlord.")).await;
        fixture.say(Turn::user("我在杭州工作")).await;
        fixture.say(Turn::assistant("A landlord in a novel has no name.")).await;
        fixture.memory.remember(&lin(), Turn::note("The landlords meet in May.")).await.unwrap();
        let before = fixture.texts().await;
        let result = fixture.requests().forget_topic(&lin(), "landlord", false).await.unwrap();
        assert_eq!(result, forgotten("landlord", 5), "with the replies to other messages");
        let after = fixture.texts().await;
        assert!(!after.iter().any(|text| text.contains("andlord") || text.contains("Otto")), "{after:?}");
        assert!(after.iter().any(|text| text.contains("walnuts")), "another fact of the message: {after:?}");
        assert!(
            fixture
                .memory
                .recall(&lin(), "landlord Otto")
                .await
                .unwrap()
                .hits
                .iter()
                .all(|hit| { !hit.record.text.contains("Otto") })
        );
        // The same request of a client that retries.
        let again = fixture.requests().forget_topic(&lin(), "landlord", false).await.unwrap();
        assert_eq!(again, forgotten("landlord", 5));
        let other = fixture.requests().forget_topic(&lin(), "dentist", false).await.unwrap();
        assert_eq!(other, RequestNotice::NothingFound { topic: "dentist".into() });
        let restored = fixture.requests().restore_topic(&lin()).await.unwrap();
        assert_eq!(restored, RequestNotice::Restored { count: 5 });
        fixture.memory.drain(&lin(), |_| ()).await.unwrap();
        assert_eq!(fixture.texts().await, before);
        assert_eq!(fixture.requests().restore_topic(&lin()).await.unwrap(), RequestNotice::NothingToRestore);
    }
}

#[tokio::test]
async fn facts_of_a_topic_take_the_messages_that_state_them() {
    for fixture in fixtures("requests_facts").await {
        let gardener = fixture.say(Turn::user("I work as a gardener.")).await;
        fixture.say(Turn::user("我对海鲜过敏")).await;
        assert_eq!(fixture.texts().await.len(), 4, "two facts: {:?}", fixture.texts().await);
        let result = fixture.requests().forget_topic(&lin(), "job", false).await.unwrap();
        assert_eq!(result, forgotten("job", 2));
        assert_eq!(fixture.requests().forget_topic(&lin(), "job", false).await.unwrap(), result, "a retry");
        assert_eq!(fixture.memory.get(&lin(), gardener).await.unwrap().unwrap().state, State::Revoked);
        let result = fixture.requests().forget_topic(&lin(), "海鮮", false).await.unwrap();
        assert_eq!(result, forgotten("海鮮", 2), "traditional characters");
        assert_eq!(fixture.texts().await, BTreeSet::new());
        // The latest one first.
        for count in [2, 2] {
            assert_eq!(fixture.requests().restore_topic(&lin()).await.unwrap(), RequestNotice::Restored { count });
        }
        assert_eq!(fixture.texts().await.len(), 4);
    }
}

#[tokio::test]
async fn superseded_facts_and_notes_that_state_a_fact_are_forgotten() {
    for fixture in fixtures("requests_superseded").await {
        let clock = fixture.memory.settings().clock();
        let note = Record::new(lin(), Kind::NOTE, "He repairs clocks.", clock);
        let mut fact = Record::new(lin(), Kind::FACT, "The uncle of lin is Anton.", clock);
        fact.state = State::Superseded;
        fact.metadata.insert(fact_keys::SUPERSEDED_BY.into(), RecordId::new().to_string().into());
        let mut alone = Record::new(lin(), Kind::FACT, "The boat of lin is red.", clock);
        alone.state = State::Superseded;
        let alone_id = alone.id;
        fact.derived_from = vec![note.id];
        let ids = [note.id, fact.id];
        fixture.memory.store(&lin(), vec![note, fact, alone], PutMode::Create).await.unwrap();
        let result = fixture.requests().forget_topic(&lin(), "uncle", false).await.unwrap();
        assert_eq!(result, forgotten("uncle", 1), "the message, and the superseded fact");
        assert_eq!(fixture.requests().forget_topic(&lin(), "uncle", false).await.unwrap(), result, "a retry");
        let states = async || {
            let records = fixture.memory.get_all(&lin(), &ids).await.unwrap();
            records.into_iter().map(|record| record.unwrap().state).collect::<Vec<State>>()
        };
        assert_eq!(states().await, [State::Revoked, State::Revoked]);
        assert_eq!(fixture.requests().restore_topic(&lin()).await.unwrap(), RequestNotice::Restored { count: 1 });
        assert_eq!(states().await, [State::Active, State::Superseded]);
        fixture.requests().forget_topic(&lin(), "boat", false).await.unwrap();
        assert_eq!(fixture.memory.get(&lin(), alone_id).await.unwrap().unwrap().state, State::Revoked);
    }
}

#[tokio::test]
async fn many_memories_are_forgotten_only_with_a_yes() {
    for fixture in fixtures("requests_many").await {
        for n in 0..=ChatRequests::MAX_UNASKED {
            fixture.say(Turn::user(format!("The orchard has {n} old trees"))).await;
        }
        let request = "please forget everything about the orchard";
        let asked = ChatCommand::find(&ChatCommand::ALL, request, None).unwrap();
        let yes = async || {
            let requests = fixture.requests();
            requests.find(&lin(), &ChatCommand::ALL, "Yes, please.", Some(request)).await.unwrap()
        };
        assert_eq!(yes().await, None, "it has not asked");
        let notice = fixture.requests().act(&lin(), &asked, 0).await.unwrap();
        let RequestNotice::AsksToForget { count, samples, .. } = notice else { panic!("it does not ask") };
        assert_eq!((count, samples.len()), (11, 3));
        assert_eq!(fixture.texts().await.len(), 11);
        for _ in ["once", "a retry"] {
            let confirmed = yes().await.unwrap();
            assert_eq!(fixture.requests().act(&lin(), &confirmed, 0).await.unwrap(), forgotten("orchard", 11));
        }
        assert_eq!(fixture.texts().await, BTreeSet::new());
        fixture.clock.advance(2 * DAY);
        assert_eq!(yes().await, None, "the question is old");
    }
    assert_eq!(ChatCommand::find(&[ChatCommand::OffTheRecord], "forget everything about the orchard", None), None);
    let off = ChatCommand::find(&[ChatCommand::OffTheRecord], "don't store this: it rains", None);
    assert_eq!(off, Some(MemoryRequest::OffTheRecord));
}

#[tokio::test]
async fn forgotten_memories_are_deleted_after_the_undo_period() {
    for fixture in fixtures("requests_expiry").await {
        let pinned = fixture.say(Turn::user("The safe is behind the mirror").pinned()).await;
        fixture.requests().forget_topic(&lin(), "safe", false).await.unwrap();
        fixture.clock.advance(29 * DAY);
        fixture.memory.deletion().delete_expired().await.unwrap();
        let restored = fixture.requests().restore_topic(&lin()).await.unwrap();
        assert_eq!(restored, RequestNotice::Restored { count: 1 });
        let record = fixture.memory.get(&lin(), pinned).await.unwrap().unwrap();
        assert_eq!((record.state, record.pinned, record.expires_at), (State::Active, true, None));
        fixture.requests().forget_topic(&lin(), "safe", false).await.unwrap();
        fixture.clock.advance(31 * DAY);
        assert_eq!(fixture.requests().restore_topic(&lin()).await.unwrap(), RequestNotice::NothingToRestore);
        fixture.memory.deletion().delete_expired().await.unwrap();
        assert_eq!(fixture.memory.get(&lin(), pinned).await.unwrap(), None);
        assert_eq!(fixture.memory.history().retractions(&lin(), 9).await.unwrap(), []);
        let tombstones = fixture.memory.admin().tombstones(&lin(), None, 9).await.unwrap();
        assert!(tombstones.iter().any(|tombstone| tombstone.id == pinned));
    }
}

#[tokio::test]
async fn blocked_texts_are_not_stored_by_their_id_nor_by_an_import() {
    for fixture in fixtures("requests_block").await {
        let text = "My key is sk-ant-REDACTED.";
        let stored = fixture.say(Turn::user(text)).await;
        let missing = RecordId::named(&monday(), "missing");
        let long = "我".repeat(Record::MAX_TEXT_BYTES);
        let kept_out = ForgetText::new("Quinn Okafor").with_redact(true).with_keep_out(true);
        fixture.memory.forget(&lin(), Forget::Text(kept_out)).await.unwrap();
        let (reply, backchannel) = (RecordId::new(), RecordId::new());
        let texts = [(stored, text), (missing, "I failed the exam"), (reply, ""), (backchannel, "Okay!")];
        assert_eq!(fixture.requests().block(&monday(), &texts).await.unwrap(), 1);
        let texts = [(RecordId::new(), "Quinn Okafor left"), (RecordId::new(), long.as_str())];
        assert_eq!(fixture.requests().block(&monday(), &texts).await.unwrap(), 0);
        assert_eq!(fixture.texts().await, BTreeSet::new());
        let tombstones = fixture.memory.admin().tombstones(&lin(), None, 9).await.unwrap();
        let hashes: Vec<ContentHash> = tombstones.iter().map(|tombstone| tombstone.content_hash).collect();
        assert!(hashes.contains(&ContentHash::of(&fixture.memory.screening().mask(text))));
        let record = |id: RecordId, text: &str, trust: Trust| {
            let mut record = Record::new(monday(), Kind::TURN, text, fixture.memory.settings().clock());
            record.id = id;
            record.trust = trust;
            record
        };
        let (by_id, by_content) = (Outcome::Blocked(BlockReason::Id), Outcome::Blocked(BlockReason::Content));
        let truncated = &long[..long.floor_char_boundary(Record::MAX_TEXT_BYTES)];
        let records = vec![
            record(missing, "I failed the exam", Trust::User),
            record(RecordId::new(), "I failed the exam", Trust::Import),
            record(reply, "What a pity", Trust::Assistant),
            record(backchannel, "Okay!", Trust::Import),
            record(RecordId::new(), "Quinn Okafor left", Trust::Import),
            record(RecordId::new(), truncated, Trust::Import),
        ];
        let written = fixture.memory.store(&lin(), records, PutMode::Upsert).await.unwrap();
        let outcomes: Vec<Outcome> = written.into_iter().map(|result| result.outcome).collect();
        assert_eq!(outcomes, [by_id, by_content, by_id, by_id, by_content, by_content]);
        let okay = vec![record(RecordId::new(), "Okay!", Trust::Import)];
        let written = fixture.memory.store(&lin(), okay, PutMode::Upsert).await.unwrap();
        assert!(!matches!(written[0].outcome, Outcome::Blocked(_)), "its content is not private");
    }
}

#[tokio::test]
async fn the_latest_message_is_taken_out_with_its_replies() {
    for fixture in fixtures("requests_latest").await {
        let take_out = async |address: &Scope| {
            fixture.requests().take_out_latest(address, "Please do not store that.").await.unwrap()
        };
        assert_eq!(take_out(&monday()).await, 0);
        let tuesday = lin().with_session("tuesday").unwrap();
        for turn in [Turn::user("I like jazz"), Turn::assistant("Nice"), Turn::user("My bank is broke")] {
            fixture.say(turn).await;
        }
        fixture.say(Turn::assistant("Which bank?")).await;
        fixture.memory.remember(&tuesday, "I like tea").await.unwrap();
        assert_eq!(take_out(&lin()).await, 0);
        assert_eq!(take_out(&monday()).await, 2);
        assert_eq!(take_out(&monday()).await, 0, "a retry");
        let texts = fixture.texts().await;
        assert!(texts.contains("I like tea"), "another conversation");
        assert!(texts.contains("Nice") && !texts.iter().any(|text| text.contains("bank")), "{texts:?}");
        fixture.say(Turn::user("My safe is open")).await;
        for n in 0..25 {
            fixture.say(Turn::assistant(format!("Tip {n}"))).await;
        }
        assert_eq!(take_out(&monday()).await, 26, "the same words about another message");
    }
}
