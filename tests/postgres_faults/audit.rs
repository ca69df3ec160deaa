//! A damaged audit log: what cannot be logged is not done.

use memory_engine::{
    ErrorKind, Scope,
    audit::{AuditMode, AuditOptions},
    postgres::PostgresOptions,
};
use sqlx::Executor;

use crate::database::Database;

pub(crate) async fn test_damaged_log(url: String) {
    let database = Database::new(&url);
    let builder = database.builder(&url, PostgresOptions::default());
    let engine = builder.audit(AuditOptions::new(AuditMode::On)).build().await.unwrap();
    let lin = Scope::user("lin").unwrap();
    let id = engine.remember(&lin, "one").await.unwrap();
    // The table stays: without it, its name would be that of a table of another test in the schema `public`.
    database.connect(&url).await.execute("ALTER TABLE audit_log RENAME COLUMN sequence TO lost").await.unwrap();
    let refused = [
        engine.remember(&lin, "two").await.map(drop).unwrap_err(),
        engine.forget(&lin, id).await.map(drop).unwrap_err(),
        engine.audit().log_export(&lin, "a test").await.unwrap_err(),
    ];
    for error in refused {
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.message().contains("nothing was done"), "{error}");
    }
    assert_eq!(engine.stats(&lin).await.unwrap().records, 1);
}
