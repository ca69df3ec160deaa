//! The policies of an engine for what it stores.

use memory_engine_core::ReviewPolicy;
use memory_engine_indexing::RetentionPolicy;
use memory_engine_screening::ScreeningPolicy;

use super::Builder;
use crate::audit::AuditOptions;

impl Builder {
    memory_engine_core::setters! {
        /// Sets what happens to secrets and personal data in records before they are stored. Default: credentials are
        /// masked, and personal data is stored. [`ScreeningPolicy::uniform`] with
        /// [`ScreeningAction::Store`](crate::screening::ScreeningAction::Store) switches the screening off.
        ///
        /// ```
        /// use memory_engine::{MemoryEngine, Scope, screening::{Category, ScreeningAction, ScreeningPolicy}};
        ///
        /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
        /// let policy = ScreeningPolicy::default().with(Category::Card, ScreeningAction::Refuse);
        /// let memory = MemoryEngine::builder().in_memory().screening(policy).build().await?;
        /// let lin = Scope::user("lin")?;
        /// let id = memory.remember(&lin, "家里的wifi密码是tiger4711").await?;
        /// assert_eq!(memory.get(&lin, id).await?.unwrap().text, "家里的wifi密码是[redacted: zh-password]");
        /// let refused = memory.remember(&lin, "My Visa is 4539 6574 7291 6880").await.unwrap_err();
        /// assert!(refused.to_string().contains("matches the screening rule"));
        /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
        /// ```
        screening(policy: ScreeningPolicy) => screening = policy;

        /// Sets the times to live of new records, by kind and scope. Default: records do not expire.
        ///
        /// ```
        /// use std::time::Duration;
        /// use memory_engine::{MemoryEngine, Scope, Turn, retention::{RetentionPolicy, RetentionRule}};
        ///
        /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
        /// let day = Duration::from_secs(24 * 60 * 60);
        /// let policy = RetentionPolicy::default().with_rule(RetentionRule::expire_after(30 * day));
        /// let memory = MemoryEngine::builder().in_memory().retention(policy).build().await?;
        /// let lin = Scope::user("lin")?;
        /// let id = memory.remember(&lin, "The code of the gate is 4711").await?;
        /// assert!(memory.get(&lin, id).await?.unwrap().expires_at.is_some());
        /// let id = memory.remember(&lin, Turn::note("Speaks Portuguese").pinned()).await?;
        /// assert!(!memory.get(&lin, id).await?.unwrap().is_expired("2999-01-01".parse()?));
        /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
        /// ```
        retention(policy: RetentionPolicy) => retention = policy;

        /// Sets which new memories wait until a person [accepts](crate::review::Review::accept) them. Default: none.
        ///
        /// ```
        /// use memory_engine::{MemoryEngine, review::{ReviewMode, ReviewPolicy, ReviewSource}};
        ///
        /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
        /// let policy = ReviewPolicy::default()
        ///     .with(ReviewSource::ModelFacts, ReviewMode::Review)
        ///     .with(ReviewSource::Profiles, ReviewMode::Reject);
        /// let memory = MemoryEngine::builder().in_memory().review(policy).build().await?;
        /// assert_eq!(memory.settings().review_policy().mode(ReviewSource::RuleFacts), ReviewMode::Automatic);
        /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
        /// ```
        review(policy: ReviewPolicy) => review = policy;

        /// Sets whether changes and exports are [logged](crate::audit). Default: if the store has a log already.
        audit(options: AuditOptions) => audit = options;
    }
}
