//! Times to live of new records.

use memory_engine::{
    Kind, Result,
    retention::{RetentionPolicy, RetentionRule, parse_time_to_live},
};
use serde::{Deserialize, Serialize};

/// Times to live of new records, by kind and scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct RetentionConfig {
    /// The rules. The first one that matches a record decides. Default: none; then records do not expire.
    pub rules: Vec<RetentionRuleConfig>,
    /// True if an expired record leaves a tombstone, so that no import stores it again. Default: true.
    pub tombstones: bool,
}

impl Default for RetentionConfig {
    fn default() -> Self {
        Self { rules: Vec::new(), tombstones: true }
    }
}

/// A time to live of the records of a kind and of a part of the tenants and users. What is not set matches all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct RetentionRuleConfig {
    /// The time after which a record expires, such as `90d` or `12h`, or `forever`. There is no default.
    pub time_to_live: String,
    /// The kind, such as `turn`. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The tenant. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The user. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The agent. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The session. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

impl RetentionConfig {
    /// Returns the policy.
    ///
    /// # Errors
    /// `InvalidInput` for a time to live that is no duration.
    pub fn policy(&self) -> Result<RetentionPolicy> {
        let mut policy = RetentionPolicy::default().with_tombstones(self.tombstones);
        for rule in &self.rules {
            policy = policy.with_rule(rule.rule()?);
        }
        policy.validate().map(|()| policy)
    }
}

impl RetentionRuleConfig {
    fn rule(&self) -> Result<RetentionRule> {
        let mut rule = match self.time_to_live.as_str() {
            "forever" => RetentionRule::keep(),
            text => RetentionRule::expire_after(parse_time_to_live(text)?),
        };
        if let Some(kind) = &self.kind {
            rule = rule.of_kind(Kind::new(kind));
        }
        if let Some(tenant) = &self.tenant {
            rule = rule.of_tenant(tenant);
        }
        if let Some(user) = &self.user {
            rule = rule.of_user(user);
        }
        if let Some(agent) = &self.agent {
            rule = rule.of_agent(agent);
        }
        if let Some(session) = &self.session {
            rule = rule.of_session(session);
        }
        Ok(rule)
    }
}
