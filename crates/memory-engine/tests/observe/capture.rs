//! A subscriber that keeps every span and event of the process.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber,
};

/// A span as it was recorded.
#[derive(Debug, Clone)]
pub(crate) struct CapturedSpan {
    pub(crate) name: &'static str,
    pub(crate) level: String,
    /// The names of its fields, those without a value too.
    pub(crate) declared: Vec<&'static str>,
    pub(crate) fields: BTreeMap<&'static str, String>,
    pub(crate) is_closed: bool,
}

#[derive(Default)]
struct Recorded {
    spans: BTreeMap<u64, CapturedSpan>,
    references: BTreeMap<u64, usize>,
    events: Vec<String>,
}

/// The captured spans, events and metrics.
#[derive(Clone, Default)]
pub(crate) struct Capture {
    next: Arc<AtomicU64>,
    recorded: Arc<Mutex<Recorded>>,
}

impl Capture {
    /// Captures everything from now on, of all threads.
    pub(crate) fn install() -> Self {
        let capture = Self::default();
        subscriber::set_global_default(capture.clone()).unwrap();
        capture
    }

    /// Returns the spans since the last call, in the order in which they began.
    pub(crate) fn take(&self) -> Vec<CapturedSpan> {
        let mut recorded = self.recorded.lock().unwrap();
        std::mem::take(&mut recorded.spans).into_values().collect()
    }

    pub(crate) fn take_events(&self) -> Vec<String> {
        std::mem::take(&mut self.recorded.lock().unwrap().events)
    }
}

struct Fields<'m>(&'m mut BTreeMap<&'static str, String>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

impl Subscriber for Capture {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let metadata = attributes.metadata();
        let mut fields = BTreeMap::new();
        attributes.record(&mut Fields(&mut fields));
        let declared = metadata.fields().iter().map(|field| field.name()).collect();
        let level = metadata.level().to_string();
        let span = CapturedSpan { name: metadata.name(), level, declared, fields, is_closed: false };
        let mut recorded = self.recorded.lock().unwrap();
        recorded.spans.insert(id, span);
        recorded.references.insert(id, 1);
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        if let Some(span) = self.recorded.lock().unwrap().spans.get_mut(&span.into_u64()) {
            values.record(&mut Fields(&mut span.fields));
        }
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = BTreeMap::new();
        event.record(&mut Fields(&mut fields));
        let metadata = event.metadata();
        self.recorded.lock().unwrap().events.push(format!("{} {} {fields:?}", metadata.level(), metadata.target()));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}

    fn clone_span(&self, id: &Id) -> Id {
        *self.recorded.lock().unwrap().references.entry(id.into_u64()).or_default() += 1;
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        let mut recorded = self.recorded.lock().unwrap();
        let id = id.into_u64();
        let references = recorded.references.entry(id).or_default();
        *references = references.saturating_sub(1);
        let is_closed = *references == 0;
        if is_closed && let Some(span) = recorded.spans.get_mut(&id) {
            span.is_closed = true;
        }
        is_closed
    }
}
