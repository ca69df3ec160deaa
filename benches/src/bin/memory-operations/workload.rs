//! The calls of each operation.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use memory_engine::{
    Field, Filter, Injector, Op, PutMode, RecallQuery, Record, RecordId, Scope, Turn,
    context::{IncomingMessage, InjectionRules},
    embed::Embedding,
    recall::Retrievers,
};
use memory_engine_benches::{
    filled::everything,
    synthetic::{self, Question},
};

use crate::{
    cost::{Cost, CostMeter},
    operation::Operation,
    store::{self, OpenStore, RECORDS},
};

/// The user with the most records.
const USER: &str = "u0000";
/// Number of calls before the counted ones: they load dictionaries, prepare statements and fill caches.
const WARM_UP_CALLS: usize = 4;
/// Number of different queries, new texts and batches. Their number does not depend on the number of calls, so that the
/// difference between two numbers of calls contains only the calls. Later calls use them again.
const QUERIES: usize = 64;
const BATCHES: usize = 4;
const BATCH_RECORDS: usize = 100;
const SCENE: &str = "daily";

/// The prepared arguments of the calls of an operation.
struct Workload {
    store: OpenStore,
    tenant: Scope,
    user: Scope,
    /// Questions about records of the user.
    questions: Vec<Question>,
    /// Messages that ask for memories of the user.
    messages: Vec<String>,
    /// Texts of new records.
    texts: Vec<String>,
    batches: Vec<Vec<(Record, Embedding)>>,
    /// Records of the user.
    ids: Vec<RecordId>,
    filter: Filter,
    injector: Injector,
}

/// Runs an operation on the store in this folder, which it may change.
pub(crate) async fn run(operation: Operation, folder: &Path, repetitions: usize) -> Result<Cost> {
    if operation == Operation::Open {
        return run_open(folder, repetitions).await;
    }
    let workload = Workload::open(folder).await?;
    for number in 0..WARM_UP_CALLS {
        workload.call(operation, number).await?;
    }
    let mut meter = CostMeter::start();
    for number in WARM_UP_CALLS..WARM_UP_CALLS + repetitions {
        workload.call(operation, number).await?;
        meter.next();
    }
    let cost = meter.finish();
    workload.store.engine.close().await?;
    Ok(cost)
}

async fn run_open(folder: &Path, repetitions: usize) -> Result<Cost> {
    let embedder = store::embedder();
    let questions = questions_of(USER, QUERIES);
    for question in &questions {
        embedder.learn(&question.text, question.vector.clone())?;
    }
    let tenant = everything()?;
    let mut meter = CostMeter::start();
    for number in 0..=repetitions {
        let OpenStore { engine, .. } = OpenStore::open(folder, embedder.clone()).await?;
        recall(&engine, &tenant, RecallQuery::new(questions[number % QUERIES].text.as_str())).await?;
        engine.close().await?;
        // The first call loads the dictionaries of the process, which later ones reuse.
        if number == 0 {
            meter = CostMeter::start();
        } else {
            meter.next();
        }
    }
    Ok(meter.finish())
}

impl Workload {
    async fn open(folder: &Path) -> Result<Self> {
        let store = OpenStore::open(folder, store::embedder()).await?;
        let user = Scope::user(USER)?;
        let questions = questions_of(USER, QUERIES);
        let messages: Vec<String> = questions.iter().map(message_about).collect();
        let rules = InjectionRules::default();
        for (question, message) in questions.iter().zip(&messages) {
            let decision = rules.decide(&incoming(message));
            let search_text = decision.search_text.as_deref().unwrap_or(message);
            for text in [question.text.as_str(), search_text] {
                store.embedder.learn(text, question.vector.clone())?;
            }
        }
        let new: Vec<_> = (RECORDS..RECORDS + QUERIES).map(synthetic::record).collect();
        for record in &new {
            store.embedder.learn(&record.text, record.vector.clone())?;
        }
        let batch =
            |number: usize| (0..BATCH_RECORDS).map(move |n| store::record(RECORDS + BATCH_RECORDS * number + n));
        let batches = (0..BATCHES).map(|number| batch(number).collect()).collect::<Result<_>>()?;
        let of_user = (0..).filter(|number| synthetic::user(*number) == USER);
        let ids = of_user.take(QUERIES).map(|number| store::record_id(&user, number)).collect();
        let middle = synthetic::time_of(RECORDS / 2);
        let filter = Filter::eq(Field::Role, "user").and(Filter::compare(Field::OccurredAt, Op::Ge, middle));
        let texts = new.into_iter().map(|record| record.text).collect();
        let injector = Injector::new(store.engine.clone());
        Ok(Self { store, tenant: everything()?, user, questions, messages, texts, batches, ids, filter, injector })
    }

    /// Makes the call with this number.
    async fn call(&self, operation: Operation, number: usize) -> Result<()> {
        let engine = &self.store.engine;
        let query = RecallQuery::new(self.questions[number % QUERIES].text.as_str());
        match operation {
            Operation::Open => bail!("`open` needs a store that is closed"),
            Operation::Remember => self.remember(number).await,
            Operation::StoreBatch => self.store_batch(number).await,
            Operation::RecallUser => recall(engine, &self.user, query).await,
            Operation::RecallTenant => recall(engine, &self.tenant, query).await,
            Operation::RecallKeywords => {
                recall(engine, &self.tenant, query.with_retrievers(Retrievers::KeywordOnly)).await
            }
            Operation::RecallVectors => {
                recall(engine, &self.tenant, query.with_retrievers(Retrievers::VectorOnly)).await
            }
            Operation::RecallFilter => recall(engine, &self.tenant, query.with_filter(self.filter.clone())).await,
            Operation::Inject => self.inject(number).await,
            Operation::Update => self.update(number).await,
        }
    }

    async fn remember(&self, number: usize) -> Result<()> {
        // With an id of its own, a text that is repeated is another record.
        let turn = Turn::user(self.texts[number % QUERIES].as_str()).with_message_id(format!("new {number}"));
        self.store.engine.remember(&self.user, turn).await?;
        self.run_jobs().await
    }

    async fn store_batch(&self, number: usize) -> Result<()> {
        let mut batch = self.batches[number % BATCHES].clone();
        for (place, (record, _)) in batch.iter_mut().enumerate() {
            record.id = store::record_id(&record.scope, RECORDS + BATCH_RECORDS * number + place);
        }
        let stored = self.store.engine.admin().store_embedded(&self.tenant, batch, PutMode::Create).await?.len();
        ensure!(stored == BATCH_RECORDS, "stored {stored} records instead of {BATCH_RECORDS}");
        Ok(())
    }

    async fn inject(&self, number: usize) -> Result<()> {
        let injection = self.injector.inject(&self.user, &incoming(&self.messages[number % QUERIES])).await;
        ensure!(injection.degraded.is_empty(), "the injection is incomplete: {:?}", injection.degraded);
        ensure!(!injection.text.is_empty(), "nothing was injected for {:?}", self.messages[number % QUERIES]);
        Ok(())
    }

    async fn update(&self, number: usize) -> Result<()> {
        // A later round replaces each text with another one.
        let text = &self.texts[(number + number / QUERIES) % QUERIES];
        self.store.engine.update(&self.user, self.ids[number % QUERIES], text.as_str()).await?;
        self.run_jobs().await
    }

    async fn run_jobs(&self) -> Result<()> {
        let jobs = self.store.engine.drain(&self.user, |_| ()).await?;
        ensure!(jobs > 0, "the call queued no job");
        Ok(())
    }
}

async fn recall(engine: &memory_engine::MemoryEngine, scope: &Scope, query: RecallQuery) -> Result<()> {
    let recall = engine.recall(scope, query).await?;
    ensure!(!recall.is_partial(), "the recall is incomplete: {:?}", recall.degraded);
    ensure!(!recall.hits.is_empty(), "the recall has no hits");
    Ok(())
}

/// Returns the first `count` questions about records of this user.
fn questions_of(user: &str, count: usize) -> Vec<Question> {
    let questions = (0..).map(|number| synthetic::question(number, RECORDS));
    questions.filter(|question| question.user == user).take(count).collect()
}

/// Returns a message that asks for the answer to a question.
fn message_about(question: &Question) -> String {
    if question.text.is_ascii() {
        format!("Do you remember {}", question.text)
    } else {
        format!("还记得{}", question.text)
    }
}

/// Returns the message as that of a running conversation.
fn incoming(text: &str) -> IncomingMessage<'_> {
    IncomingMessage { round: 5, scene: SCENE, text }
}
