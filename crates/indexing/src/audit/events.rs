//! The events of a call of the record store.

use std::{collections::BTreeMap, sync::Arc};

use memory_engine_core::{
    PutMode, RecordId, Scope, Trust, Write,
    audit::{Actor, AuditAction, AuditContext, AuditEvent},
};

/// The operation of calls outside of the verbs of the engine.
const BACKGROUND: &str = "background";

/// The actor of a call, and the verb of the engine that makes it.
#[derive(Debug, Clone)]
pub(super) struct Author {
    actor: Actor,
    verb: Option<(AuditAction, &'static str)>,
}

impl Author {
    /// Returns the author of the running task: the engine itself outside of its verbs.
    pub(super) fn current() -> Self {
        let context = AuditContext::current();
        let verb = context.verb();
        let actor = context.actor().map(Arc::as_ref).cloned().unwrap_or_default();
        Self { actor: if verb.is_some() { actor } else { Actor::engine() }, verb }
    }

    /// Returns the author's event at a scope. Its action is `default` outside of verbs.
    pub(super) fn event(&self, scope: Scope, default: AuditAction) -> AuditEvent {
        let (action, operation) = self.verb.unwrap_or((default, BACKGROUND));
        AuditEvent::new(self.actor.clone(), action, operation, scope)
    }

    /// Returns the events for these records, with at most [`AuditEvent::MAX_RECORDS`] ids each.
    pub(super) fn events(&self, scope: &Scope, default: AuditAction, ids: &[RecordId]) -> Vec<AuditEvent> {
        let event = |ids: &[RecordId]| self.event(scope.clone(), default).with_records(ids.to_vec());
        ids.chunks(AuditEvent::MAX_RECORDS).map(event).collect()
    }

    /// Returns the events for the deletion of derived records that a change or deletion of their sources causes.
    pub(super) fn cascade(&self, scope: &Scope, ids: &[RecordId]) -> Vec<AuditEvent> {
        let delete = |event: AuditEvent| {
            let mut event = event;
            if event.action != AuditAction::Delete && event.action != AuditAction::Expire {
                event.action = AuditAction::Delete;
            }
            event
        };
        self.events(scope, AuditAction::Delete, ids).into_iter().map(delete).collect()
    }

    /// Returns the events of a batch of writes: one for each user and action.
    pub(super) fn writes(&self, scope: &Scope, writes: &[Write]) -> Vec<AuditEvent> {
        let mut groups: BTreeMap<(Scope, AuditAction), (Scope, Vec<RecordId>)> = BTreeMap::new();
        for write in writes {
            let address = &write.record.scope;
            // A record outside of the caller's scope is refused. It must not write to the log of another tenant.
            let address = if scope.covers(address) { address } else { scope };
            let group = groups.entry((address.namespace(), self.action_of(write)));
            let (common, ids) = group.or_insert_with(|| (address.clone(), Vec::new()));
            *common = common.common_with(address).unwrap_or_else(|| scope.clone());
            ids.push(write.record.id);
        }
        let mut events = Vec::new();
        for ((_, action), (common, ids)) in groups {
            for mut event in self.events(&common, action, &ids) {
                event.action = action;
                events.push(event);
            }
        }
        events
    }

    fn action_of(&self, write: &Write) -> AuditAction {
        let is_update = matches!(write.mode, PutMode::Update { .. });
        match self.verb {
            Some((AuditAction::Write, _)) if is_update => AuditAction::Change,
            Some((action, _)) => action,
            None if is_update => AuditAction::Change,
            None if write.record.trust == Trust::Derived => AuditAction::Derive,
            None => AuditAction::Write,
        }
    }
}
