//! The state of grants: the latest refresh token of each, and those that are revoked.
//!
//! It is lost when the server stops: grants that were revoked and refresh tokens that were used are then valid again
//! until they expire. Another key or another `MEMORY_OAUTH_SECRET` ends them for good.

use std::collections::HashMap;

use super::token::REFRESH_TOKEN_SECONDS;

/// Maximum number of remembered grants, about 1.5 MB. At the maximum, the one that expires first is forgotten, revoked
/// ones last.
const MAX_GRANTS: usize = 10_000;
/// Time after a rotation in which the used token does not end the grant, in seconds: two processes of one client may
/// refresh at once, or repeat a request.
const ROTATION_GRACE_SECONDS: u64 = 10;

/// The grants that were refreshed or revoked since the start of the server.
#[derive(Debug, Default)]
pub(super) struct GrantTable(HashMap<String, GrantState>);

#[derive(Debug)]
struct GrantState {
    /// The generation of the newest refresh token that was issued or presented since the start. Lower ones are used;
    /// higher ones were issued before the start.
    generation: u64,
    rotated: u64,
    is_revoked: bool,
    /// Time at which the last token of the grant expires, in seconds since the Unix epoch.
    expires: u64,
}

impl GrantTable {
    /// Uses up the refresh token of a generation. Returns the next generation, or `None` for a token that was used
    /// before or is revoked. Repeated use revokes the grant: one of the two holders has stolen the token
    /// (RFC 9700, section 4.14).
    pub(super) fn rotate(&mut self, grant: &str, generation: u64, now: u64) -> Option<u64> {
        let next = generation.checked_add(1)?;
        let expires = now + REFRESH_TOKEN_SECONDS;
        match self.0.get_mut(grant) {
            Some(state) if state.is_revoked => None,
            Some(state) if generation < state.generation => {
                let is_repetition = next == state.generation && now < state.rotated + ROTATION_GRACE_SECONDS;
                state.is_revoked = !is_repetition;
                state.expires = expires;
                None
            }
            Some(state) => {
                *state = GrantState { generation: next, rotated: now, is_revoked: false, expires };
                Some(next)
            }
            None => {
                self.insert(grant, GrantState { generation: next, rotated: now, is_revoked: false, expires }, now);
                Some(next)
            }
        }
    }

    /// Ends a grant with all of its tokens.
    pub(super) fn revoke(&mut self, grant: &str, now: u64) {
        let expires = now + REFRESH_TOKEN_SECONDS;
        self.insert(grant, GrantState { generation: 0, rotated: now, is_revoked: true, expires }, now);
    }

    /// Returns true if the tokens of a grant are not valid any more.
    pub(super) fn is_revoked(&self, grant: &str) -> bool {
        self.0.get(grant).is_some_and(|state| state.is_revoked)
    }

    fn insert(&mut self, grant: &str, state: GrantState, now: u64) {
        if self.0.len() >= MAX_GRANTS && !self.0.contains_key(grant) {
            self.0.retain(|_, state| state.expires > now);
            if self.0.len() >= MAX_GRANTS {
                let first = self
                    .0
                    .iter()
                    .min_by_key(|(_, state)| (state.is_revoked, state.expires))
                    .map(|(grant, _)| grant.clone());
                first.and_then(|grant| self.0.remove(&grant));
            }
        }
        self.0.insert(grant.to_owned(), state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_used_token_ends_the_grant() {
        let mut grants = GrantTable::default();
        assert_eq!(grants.rotate("a", 0, 100), Some(1));
        assert_eq!(grants.rotate("a", 1, 200), Some(2));
        assert_eq!(grants.rotate("a", 0, 201), None);
        assert!(grants.is_revoked("a"));
        assert_eq!(grants.rotate("a", 2, 202), None);
        assert_eq!(grants.rotate("b", 0, 202), Some(1));
    }

    #[test]
    fn a_repetition_within_the_grace_time_does_not_revoke_the_grant() {
        let mut grants = GrantTable::default();
        assert_eq!(grants.rotate("a", 0, 100), Some(1));
        assert_eq!(grants.rotate("a", 0, 109), None);
        assert_eq!(grants.rotate("a", 1, 109), Some(2));
        assert_eq!(grants.rotate("a", 1, 119), None);
        assert!(grants.is_revoked("a"));
    }

    #[test]
    fn a_token_from_before_a_restart_is_accepted() {
        let mut grants = GrantTable::default();
        assert_eq!(grants.rotate("a", 7, 100), Some(8));
        assert_eq!(grants.rotate("b", 3, 100), Some(4));
        assert_eq!(grants.rotate("b", 5, 200), Some(6), "the owner of the newer token");
        assert_eq!(grants.rotate("b", 4, 300), None);
    }

    #[test]
    fn revoked_grants_are_forgotten_last() {
        let mut grants = GrantTable::default();
        grants.revoke("stolen", 100);
        for number in 0..MAX_GRANTS {
            grants.rotate(&number.to_string(), 0, 101);
        }
        assert_eq!(grants.0.len(), MAX_GRANTS);
        assert!(grants.is_revoked("stolen"));
    }

    #[test]
    fn the_number_of_grants_is_limited() {
        let mut grants = GrantTable::default();
        grants.revoke("first", 100);
        for number in 0..MAX_GRANTS {
            grants.revoke(&number.to_string(), 101);
        }
        assert_eq!(grants.0.len(), MAX_GRANTS);
        assert!(!grants.is_revoked("first") && grants.is_revoked("0"));
        grants.revoke("late", 101 + REFRESH_TOKEN_SECONDS);
        assert_eq!(grants.0.len(), 1, "expired grants are forgotten");
    }
}
