//! A history in this process: several handles, power failures and clock jumps.

use std::path::{Path, PathBuf};

use futures::future::join_all;
use memory_engine::sqlite::Synchronous;
use tempfile::TempDir;

use crate::{
    count::Count,
    crash_image::LogHistory,
    handle::{self, Handle, RetractionIds, SharedClock, outcome},
    model::{Model, Observed, is_between},
    operation::{DocumentNumber, Operation},
    random::Random,
};

const MIN_OPERATIONS: u64 = 6;
const MAX_OPERATIONS: u64 = 22;
const MAX_HANDLES: u64 = 3;

struct History {
    path: PathBuf,
    clock: SharedClock,
    synchronous: Synchronous,
    handles: Vec<Handle>,
    model: Model,
    retractions: RetractionIds,
    log: LogHistory,
    random: Random,
    /// The folder of an adopted crash image.
    folder: Option<TempDir>,
    /// The operations and faults so far, for the message of a failure.
    trace: Vec<String>,
}

/// Runs the history of a seed.
pub(crate) fn run(seed: u64, path: &Path) {
    handle::run(async {
        let mut history = History::start(seed, path).await;
        let operations = MIN_OPERATIONS + history.random.below(MAX_OPERATIONS - MIN_OPERATIONS);
        for _ in 0..operations {
            if history.random.chance(12) {
                history.concurrent_step().await;
            } else {
                history.step().await;
            }
            if history.random.chance(25) {
                history.power_failure().await;
            }
        }
        history.finish().await;
    });
}

impl History {
    async fn start(seed: u64, path: &Path) -> Self {
        let mut random = Random::new(seed, 1);
        let synchronous = if random.chance(50) { Synchronous::Full } else { Synchronous::Normal };
        let model = Model::default();
        let mut history = Self {
            path: path.to_owned(),
            clock: SharedClock::default(),
            synchronous,
            handles: Vec::new(),
            log: LogHistory::new(path, &model),
            model,
            retractions: RetractionIds::new(),
            random,
            folder: None,
            trace: vec![format!("seed {seed}, {synchronous:?}")],
        };
        history.clock.set(history.model.now());
        let handles = 1 + history.random.below(MAX_HANDLES);
        history.open_handles(handles).await;
        history
    }

    async fn open_handles(&mut self, count: u64) {
        for _ in 0..count {
            self.handles.push(Handle::open(&self.path, &self.clock, self.synchronous).await.unwrap());
        }
        self.log = LogHistory::new(&self.path, &self.model);
    }

    fn random_handle(&mut self) -> usize {
        self.random.below(self.handles.len() as u64) as usize
    }

    /// Runs one operation on one handle, and reads with another one.
    async fn step(&mut self) {
        let operation = Operation::random(&mut self.random, &self.model);
        let index = self.random_handle();
        self.trace.push(format!("handle {index}: {operation:?}"));
        let next_retraction = self.model.next_retraction();
        let expected = self.model.apply(&operation);
        if matches!(operation, Operation::Reopen) {
            self.handles.remove(index).close().await;
            self.handles.push(Handle::open(&self.path, &self.clock, self.synchronous).await.unwrap());
        } else if let Operation::SetClock { now } = operation {
            self.clock.set(now);
        } else {
            let result = self.handles[index].run(&operation, next_retraction, &mut self.retractions).await;
            let text = format!("{result:?}");
            assert_eq!(outcome(result), expected, "{text}: {:#?}", self.trace);
        }
        self.log.push(&self.path, &self.model, operation.is_atomic());
        Count::Operations.add();
        let reader = self.random_handle();
        let observed = self.handles[reader].observe(&self.model).await.unwrap();
        assert_eq!(observed, self.model.observed(), "handle {reader} reads: {:#?}", self.trace);
    }

    /// Runs operations on different documents at the same time, one for each handle, while a reader reads.
    async fn concurrent_step(&mut self) {
        let mut documents: Vec<DocumentNumber> = self.model.documents().collect();
        let mut work = Vec::new();
        let before = self.model.clone();
        for _ in 0..self.handles.len() {
            let operation = if documents.is_empty() || self.random.chance(40) {
                let mut operation = Operation::random(&mut self.random, &Model::default());
                if let Operation::Remember { document, .. } = &mut operation {
                    *document = self.model.next_document();
                }
                operation
            } else {
                let index = self.random.below(documents.len() as u64) as usize;
                Operation::random_on(&mut self.random, documents.swap_remove(index))
            };
            if matches!(operation, Operation::Remember { .. } | Operation::Update { .. })
                || matches!(operation, Operation::Forget { .. } | Operation::Retract { .. })
            {
                let next_retraction = self.model.next_retraction();
                let expected = self.model.apply(&operation);
                work.push((operation, next_retraction, expected));
            }
        }
        let operations: Vec<&Operation> = work.iter().map(|(operation, ..)| operation).collect();
        self.trace.push(format!("at the same time: {operations:?}"));
        let running = self.handles.iter().zip(&work).map(|(handle, (operation, next_retraction, _))| async move {
            let mut retractions = RetractionIds::new();
            (handle.run(operation, *next_retraction, &mut retractions).await, retractions)
        });
        let reading = self.handles[0].observe(&before);
        let (results, observed) = futures::join!(join_all(running), reading);
        for ((result, retractions), (_, _, expected)) in results.into_iter().zip(&work) {
            let text = format!("{result:?}");
            assert_eq!(outcome(result), *expected, "{text}: {:#?}", self.trace);
            self.retractions.extend(retractions);
        }
        self.check_between(&observed.unwrap(), &before);
        // Their order in the log is unknown.
        self.log = LogHistory::new(&self.path, &self.model);
        let observed = self.handles[0].observe(&self.model).await.unwrap();
        assert_eq!(observed, self.model.observed(), "{:#?}", self.trace);
    }

    /// Checks that a reader has seen each document as it was before or after.
    fn check_between(&self, observed: &Observed, before: &Model) {
        let (before, after) = (before.observed(), self.model.observed());
        for number in before.documents.keys().chain(after.documents.keys()).chain(observed.documents.keys()) {
            let seen = observed.documents.get(number);
            let is_known = seen == before.documents.get(number) || seen == after.documents.get(number);
            assert!(is_known, "a reader has seen {seen:?} of {number}: {:#?}", self.trace);
        }
    }

    /// Copies the files as a power failure may leave them, and checks the copy. Sometimes goes on with it.
    async fn power_failure(&mut self) {
        let folder = crate::temporary_folder();
        let only_last = self.synchronous == Synchronous::Full;
        let Some(image) = self.log.crash(&self.path, folder.path(), only_last, &mut self.random) else { return };
        self.trace.push(format!("power failure: {}", image.description));
        let copy = Handle::open(&image.path, &self.clock, self.synchronous).await.unwrap();
        let observed = copy.observe(&image.after).await.unwrap();
        Count::PowerFailures.add();
        let is_valid = is_between(&observed, &image.before, &image.after, image.is_atomic);
        let matching = [image.before, image.after].into_iter().find(|model| model.observed() == observed);
        let Some(matching) = matching else {
            assert!(is_valid, "{observed:#?} after the failure: {:#?}", self.trace);
            copy.close().await;
            return;
        };
        copy.check_indexes(&matching).await;
        copy.close().await;
        if self.random.chance(50) {
            let count = self.handles.len() as u64;
            for handle in self.handles.drain(..) {
                handle.close().await;
            }
            self.clock.set(matching.now());
            self.model = matching;
            self.path = image.path;
            self.folder = Some(folder);
            self.open_handles(count).await;
        }
    }

    async fn finish(mut self) {
        self.handles[0].check_indexes(&self.model).await;
        for handle in self.handles.drain(..) {
            handle.close().await;
        }
        let handle = Handle::open(&self.path, &self.clock, self.synchronous).await.unwrap();
        let observed = handle.observe(&self.model).await.unwrap();
        assert_eq!(observed, self.model.observed(), "after the last opening: {:#?}", self.trace);
        handle.close().await;
    }
}
