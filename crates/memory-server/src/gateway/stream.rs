//! Passes a streamed reply to the client, event by event, and stores its turn before the end.

use std::{
    pin::{Pin, pin},
    time::Duration,
};

use axum::body::Bytes;
use memory_engine::{
    Error, ErrorKind,
    http_models::{RelayReply, SseEvents},
};
use tokio::{
    sync::mpsc,
    time::{Instant, Sleep, sleep},
};

use super::{
    conversion::EventConverter,
    dialect::Dialect,
    json::is_json,
    options::GatewayOptions,
    pending_turn::{Interruption, PendingTurn},
    relay::{count_event, not_json_fault},
    reply::ReplyAccumulator,
    sse::{FramedBytes, SseFramer},
};

const KEEP_ALIVE: Bytes = Bytes::from_static(b": keep-alive\n\n");
const NOT_STORED: Bytes = Bytes::from_static(b": memory degraded: store\n\n");

/// A streamed reply on its way to the client.
struct StreamRelay<'r> {
    client: mpsc::Sender<Bytes>,
    service: &'r str,
    dialects: StreamDialects,
    /// Converted events that are not sent yet.
    converted: String,
    turn: &'r mut PendingTurn,
    keep_alive: Duration,
    /// May expire before `keep_alive` has passed since a wait for bytes began; it is then set to the rest. It is not
    /// set for every chunk, because each setting takes CPU time.
    keep_alive_timer: Pin<Box<Sleep>>,
    framer: SseFramer,
    events: SseEvents,
    reply: ReplyAccumulator,
    /// True once the turn of a complete reply has been handed to the writer.
    is_stored: bool,
    /// True if the service sent an event that is not JSON.
    is_malformed: bool,
}

/// The dialects of a streamed reply.
pub(super) struct StreamDialects {
    pub(super) client: Dialect,
    pub(super) upstream: Dialect,
    /// `None` if both are the same.
    pub(super) converter: Option<EventConverter>,
}

/// A chunk or the end of the upstream's response.
enum Arrival {
    Bytes(Bytes),
    End(Option<Error>),
    ClientGone,
}

/// Passes a streamed reply on until it ends, breaks off or the client disconnects.
pub(super) async fn relay_stream(
    mut upstream: RelayReply,
    client: mpsc::Sender<Bytes>,
    service: &str,
    dialects: StreamDialects,
    turn: &mut PendingTurn,
    options: &GatewayOptions,
) {
    let mut relay = StreamRelay {
        client,
        service,
        dialects,
        converted: String::new(),
        turn,
        keep_alive: options.keep_alive,
        keep_alive_timer: Box::pin(sleep(options.keep_alive)),
        framer: SseFramer::new(options.max_reply_bytes),
        // The framer limits the size of events.
        events: SseEvents::new(usize::MAX),
        reply: ReplyAccumulator::new(options.max_reply_bytes),
        is_stored: false,
        is_malformed: false,
    };
    let sender = relay.client.clone();
    let mut client_gone = pin!(sender.closed());
    loop {
        match relay.next_arrival(&mut upstream, client_gone.as_mut()).await {
            Arrival::Bytes(bytes) => {
                // Line by line, so that the events before a malformed one are passed on.
                for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                    let was_mid_event = relay.is_mid_event();
                    let framed = relay.framer.feed(line);
                    relay.pass_on(framed, was_mid_event).await;
                    if relay.is_malformed {
                        return relay.finish_malformed().await;
                    }
                }
            }
            Arrival::End(error) => return relay.finish(error).await,
            Arrival::ClientGone => return relay.client_disconnected().await,
        }
    }
}

impl Drop for StreamRelay<'_> {
    /// Counts the tokens at the end of the stream, since they are reported after the text.
    fn drop(&mut self) {
        self.reply.usage().count(self.service);
    }
}

impl StreamRelay<'_> {
    /// Waits for the next bytes, and sends comments meanwhile so that no proxy closes the connection.
    async fn next_arrival(
        &mut self,
        upstream: &mut RelayReply,
        mut client_gone: Pin<&mut impl Future<Output = ()>>,
    ) -> Arrival {
        let mut next = pin!(upstream.next());
        let mut waiting_since = Instant::now();
        let arrived = loop {
            tokio::select! {
                biased;
                arrived = &mut next => break arrived,
                () = client_gone.as_mut() => return Arrival::ClientGone,
                () = self.keep_alive_timer.as_mut() => {
                    if waiting_since.elapsed() >= self.keep_alive {
                        // A comment inside of an event would break it.
                        if !self.is_mid_event() {
                            let _ = self.client.send(KEEP_ALIVE).await;
                        }
                        waiting_since = Instant::now();
                    }
                    let remaining = self.keep_alive.saturating_sub(waiting_since.elapsed());
                    self.keep_alive_timer.set(sleep(remaining));
                }
            }
        };
        match arrived {
            _ if self.client.is_closed() => Arrival::ClientGone,
            Ok(Some(bytes)) => Arrival::Bytes(bytes),
            Ok(None) => Arrival::End(None),
            Err(e) => Arrival::End(Some(e)),
        }
    }

    /// Reads the complete events, stores the turn once the reply is complete, and then passes the bytes on.
    /// `was_mid_event` is the state of the framer before these bytes.
    async fn pass_on(&mut self, FramedBytes { bytes, complete }: FramedBytes, was_mid_event: bool) {
        self.read_events(&complete);
        self.turn.record_owner(&self.reply).await;
        if self.is_malformed {
            return;
        }
        if !self.is_stored && self.reply.is_complete() {
            self.is_stored = true;
            // A comment cannot be inserted within an event.
            if !self.turn.store_complete(&self.reply).await && !was_mid_event {
                let _ = self.client.send(NOT_STORED).await;
            }
        }
        let bytes = match self.dialects.converter {
            Some(_) => Bytes::from(std::mem::take(&mut self.converted)),
            None => bytes,
        };
        if !bytes.is_empty() {
            let _ = self.client.send(bytes).await;
        }
    }

    /// Returns true if the bytes sent to the client end within an event.
    fn is_mid_event(&self) -> bool {
        self.dialects.converter.is_none() && self.framer.is_mid_event()
    }

    fn read_events(&mut self, complete: &[u8]) {
        // Bytes that cannot be parsed are passed on all the same.
        if self.events.feed(complete).is_ok() {
            loop {
                match self.events.next() {
                    Ok(Some(data)) => {
                        // JSON that the dialect does not know is passed on, too.
                        let is_valid = self.dialects.upstream.add_event(&mut self.reply, &data)
                            || matches!(data.trim(), "" | "[DONE]")
                            || is_json(data.as_bytes());
                        self.is_malformed |= !is_valid;
                        if let Some(converter) = self.dialects.converter.as_mut().filter(|_| !self.is_malformed) {
                            self.converted.push_str(&converter.push(&data));
                        }
                    }
                    Ok(None) => break,
                    // A line that is not valid is skipped.
                    Err(_) => {}
                }
            }
        }
        if self.framer.has_skipped() {
            self.reply.mark_truncated();
            // An event that is too long to be parsed cannot be converted.
            self.is_malformed |= self.dialects.converter.is_some();
        }
    }

    /// Handles the end of the upstream's stream, with the error that broke it off. Never sends an end marker that the
    /// service has not sent.
    async fn finish(mut self, error: Option<Error>) {
        let was_mid_event = self.is_mid_event();
        let rest = if error.is_none() { last_event(&self.framer.take_rest()) } else { FramedBytes::default() };
        self.pass_on(rest, was_mid_event).await;
        if self.is_malformed {
            return self.finish_malformed().await;
        }
        if self.reply.is_complete() {
            let end = self.dialects.converter.as_mut().map(EventConverter::finish).unwrap_or_default();
            if !end.is_empty() {
                let _ = self.client.send(Bytes::from(end)).await;
            }
            return;
        }
        if self.reply.has_failed() {
            return self.turn.store_partial(&self.reply, Interruption::Failed).await;
        }
        // The end marker may have been inside an event that was too long to parse.
        if error.is_none() && self.framer.has_skipped() {
            self.turn.store_complete(&self.reply).await;
            return;
        }
        self.turn.store_partial(&self.reply, Interruption::BrokenOff).await;
        count_event("broken_off", self.service);
        let timed_out = error.is_some_and(|e| e.kind() == ErrorKind::Timeout);
        let _ = self.client.send(self.broken_off_event(timed_out)).await;
    }

    /// Ends a stream in which the service sent an event that is not JSON, with an error in its place. A client would
    /// fail to parse the event.
    async fn finish_malformed(self) {
        if !self.is_stored {
            self.turn.store_partial(&self.reply, Interruption::BrokenOff).await;
        }
        let event = self.error_event(not_json_fault(self.service).message());
        let _ = self.client.send(event).await;
    }

    /// Returns the event that reports a stream that broke off.
    fn broken_off_event(&self, timed_out: bool) -> Bytes {
        let problem = if timed_out { "stopped for too long" } else { "broke off before its end" };
        self.error_event(&format!("the reply of the upstream '{}' {problem}", self.service))
    }

    fn error_event(&self, message: &str) -> Bytes {
        // Ends an event of which a part has been passed on.
        let end = if self.is_mid_event() { "\n\n" } else { "" };
        Bytes::from(format!("{end}{}", self.dialects.client.error_event(message)))
    }

    async fn client_disconnected(self) {
        if !self.is_stored {
            count_event("clients_gone", self.service);
            self.turn.store_partial(&self.reply, Interruption::ClientGone).await;
        }
    }
}

/// Returns the last event of a stream that does not end with a blank line. Empty unless the data of the event is
/// complete.
fn last_event(rest: &[u8]) -> FramedBytes {
    let text = String::from_utf8_lossy(rest);
    let data = text.trim_end().lines().last().and_then(|line| line.strip_prefix("data:")).map(str::trim);
    let is_complete =
        data.is_some_and(|data| data == "[DONE]" || serde_json::from_str::<serde::de::IgnoredAny>(data).is_ok());
    if !is_complete {
        return FramedBytes::default();
    }
    let bytes = Bytes::from([rest, b"\n\n"].concat());
    FramedBytes { complete: bytes.clone(), bytes }
}
