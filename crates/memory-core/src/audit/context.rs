//! The actor, the verb and the user's time zone of the running task.

use std::{cell::RefCell, future::poll_fn, pin::pin, sync::Arc};

use jiff::tz::TimeZone;

use super::{action::AuditAction, actor::Actor};

thread_local! {
    static CURRENT: RefCell<Option<AuditContext>> = const { RefCell::new(None) };
}

/// The actor, the verb and the user's time zone of the running task. It applies to a task, not to a thread: see
/// [`in_context`].
#[derive(Debug, Clone, Default)]
pub struct AuditContext {
    actor: Option<Arc<Actor>>,
    verb: Option<(AuditAction, &'static str)>,
    zone: Option<TimeZone>,
}

impl AuditContext {
    /// Returns the context of the running task. Empty outside of [`in_context`].
    pub fn current() -> Self {
        CURRENT.with_borrow(|current| current.clone().unwrap_or_default())
    }

    crate::setters! {
        #![must_use]
        /// Sets the actor.
        with_actor(actor: Arc<Actor>) => actor = Some(actor);
        /// Sets the verb and its action.
        with_verb(action: AuditAction, verb: &'static str) => verb = Some((action, verb));
        /// Sets the user's time zone.
        with_zone(zone: Option<TimeZone>);
    }

    /// Returns the user's time zone, if the client has named it.
    pub fn zone(&self) -> Option<&TimeZone> {
        self.zone.as_ref()
    }

    /// Returns the actor, if one is set.
    pub fn actor(&self) -> Option<&Arc<Actor>> {
        self.actor.as_ref()
    }

    /// Returns the action and the name of the verb; `None` outside of verbs, in background work.
    pub fn verb(&self) -> Option<(AuditAction, &'static str)> {
        self.verb
    }
}

/// Puts the former context back.
struct Entered(Option<AuditContext>);

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Runs a future in a context, on whichever threads it is polled. Tasks that it spawns have their own context.
pub async fn in_context<F: Future>(context: AuditContext, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|task| {
        let _entered = Entered(CURRENT.replace(Some(context.clone())));
        future.as_mut().poll(task)
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn key() -> Option<String> {
        AuditContext::current().actor().and_then(|actor| actor.key().map(str::to_owned))
    }

    #[test]
    fn a_context_holds_while_its_future_is_polled_and_not_between() {
        let actor = Arc::new(Actor::new(Some("laptop"), None));
        let mut polls = 0;
        let work = poll_fn(|_| {
            assert_eq!(key().as_deref(), Some("laptop"));
            polls += 1;
            if polls < 2 { Poll::Pending } else { Poll::Ready(()) }
        });
        let mut future = pin!(in_context(AuditContext::default().with_actor(actor), work));
        let mut task = Context::from_waker(Waker::noop());
        assert!(future.as_mut().poll(&mut task).is_pending());
        assert_eq!(key(), None, "between two polls, the thread runs other tasks");
        assert!(future.as_mut().poll(&mut task).is_ready());
        assert_eq!(key(), None);
    }
}
