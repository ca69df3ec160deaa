//! Authorization codes. They are kept in memory, for one minute and one use.

use std::collections::BTreeMap;

use uuid::Uuid;

/// Time in which a code can be used, in seconds.
pub(super) const CODE_SECONDS: u64 = 60;
/// Maximum number of codes. At the maximum, the oldest code is dropped. Only owners of keys create codes.
const MAX_CODES: usize = 1000;

/// The authorization that a person has given to a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Authorization {
    /// The id of the key that the person typed.
    pub(super) key: String,
    /// The id of the client, in short.
    pub(super) client: String,
    pub(super) redirect_uri: String,
    /// The PKCE challenge (S256).
    pub(super) challenge: String,
    /// Identifies all tokens that result from this authorization.
    pub(super) grant: String,
}

/// The codes that have not expired.
#[derive(Debug, Default)]
pub(super) struct CodeTable(BTreeMap<String, CodeState>);

#[derive(Debug)]
struct CodeState {
    authorization: Authorization,
    is_used: bool,
    /// Seconds since the Unix epoch.
    expires: u64,
}

/// The result of presenting a code.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CodeUse {
    First(Authorization),
    /// The code was used before. All tokens of this grant have to be revoked.
    Repeated {
        grant: String,
    },
    Unknown,
}

impl CodeTable {
    /// Creates a code.
    pub(super) fn create(&mut self, authorization: Authorization, now: u64) -> String {
        self.0.retain(|_, state| state.expires > now);
        if self.0.len() >= MAX_CODES {
            let oldest = self.0.iter().min_by_key(|(_, state)| state.expires).map(|(code, _)| code.clone());
            oldest.and_then(|code| self.0.remove(&code));
        }
        let code = random_text();
        let state = CodeState { authorization, is_used: false, expires: now + CODE_SECONDS };
        self.0.insert(code.clone(), state);
        code
    }

    /// Uses a code up.
    pub(super) fn redeem(&mut self, code: &str, now: u64) -> CodeUse {
        match self.0.get_mut(code).filter(|state| state.expires > now) {
            None => CodeUse::Unknown,
            Some(state) if state.is_used => CodeUse::Repeated { grant: state.authorization.grant.clone() },
            Some(state) => {
                state.is_used = true;
                CodeUse::First(state.authorization.clone())
            }
        }
    }
}

/// Returns 244 random bits as text.
pub(super) fn random_text() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authorization(grant: &str) -> Authorization {
        Authorization {
            key: "key".into(),
            client: "client".into(),
            redirect_uri: "https://app.example/".into(),
            challenge: "challenge".into(),
            grant: grant.into(),
        }
    }

    #[test]
    fn a_code_is_used_once_within_a_minute() {
        let mut codes = CodeTable::default();
        let code = codes.create(authorization("a"), 100);
        assert_eq!(codes.redeem("other", 100), CodeUse::Unknown);
        assert_eq!(codes.redeem(&code, 159), CodeUse::First(authorization("a")));
        assert_eq!(codes.redeem(&code, 159), CodeUse::Repeated { grant: "a".into() });
        assert_eq!(codes.redeem(&code, 160), CodeUse::Unknown);
        let late = codes.create(authorization("b"), 200);
        assert_eq!(codes.redeem(&late, 260), CodeUse::Unknown);
    }

    #[test]
    fn the_number_of_codes_is_limited() {
        let mut codes = CodeTable::default();
        let first = codes.create(authorization("first"), 100);
        let others: Vec<String> = (0..MAX_CODES).map(|_| codes.create(authorization("a"), 101)).collect();
        assert_eq!(codes.0.len(), MAX_CODES);
        assert_eq!(codes.redeem(&first, 102), CodeUse::Unknown);
        assert!(matches!(codes.redeem(&others[MAX_CODES - 1], 102), CodeUse::First(_)));
        codes.create(authorization("late"), 200);
        assert_eq!(codes.0.len(), 1, "expired codes are dropped");
    }
}
