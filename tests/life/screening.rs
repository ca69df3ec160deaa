//! Secrets are masked before they are stored, on each backend, and a redaction includes derived records.

use memory_engine::{
    EnrichmentOptions, Kind, Scope,
    screening::{Category, ScreeningAction, ScreeningPolicy},
};

use crate::fixtures::TestDatabase;

const PASSWORD: &str = "Kestrel-90417x";

fn long_text() -> String {
    let sentence = "We walked along the river in Porto and talked about the harvest and the weather. ".repeat(40);
    format!("{sentence}My password is {PASSWORD}. {sentence}服务器密码：{PASSWORD}。{sentence}")
}

async fn texts(memory: &memory_engine::MemoryEngine, scope: &Scope) -> Vec<(Kind, String)> {
    let records = memory.records(scope).collect().await.unwrap();
    records.into_iter().map(|record| (record.kind.clone(), serde_json::to_string(&record).unwrap())).collect()
}

pub(crate) async fn derived_records_are_made_from_masked_text(test_db: TestDatabase) {
    let rules = EnrichmentOptions::rules().unwrap();
    let memory = test_db.open_with(|builder| builder.enrichment(rules)).await;
    let lin = Scope::user("lin").unwrap();
    memory.remember(&lin, long_text()).await.unwrap();
    memory.drain(&lin, |_| ()).await.unwrap();
    let texts = texts(&memory, &lin).await;
    assert!(texts.iter().filter(|(kind, _)| *kind == Kind::CHUNK).count() > 1);
    assert!(texts.iter().all(|(_, text)| !text.contains(PASSWORD)), "{texts:?}");
    assert!(texts.iter().any(|(kind, text)| *kind == Kind::CHUNK && text.contains("[redacted: ")));
    memory.close().await.unwrap();
}

pub(crate) async fn a_redaction_includes_derived_records(test_db: TestDatabase) {
    let rules = EnrichmentOptions::rules().unwrap();
    let policy = ScreeningPolicy::uniform(ScreeningAction::Store);
    let memory = test_db.open_with(|builder| builder.enrichment(rules).screening(policy)).await;
    let lin = Scope::user("lin").unwrap();
    let mo = Scope::user("mo").unwrap();
    for user in [&lin, &mo] {
        memory.remember(user, long_text()).await.unwrap();
        memory.drain(user, |_| ()).await.unwrap();
    }
    assert!(texts(&memory, &lin).await.iter().any(|(kind, text)| *kind == Kind::CHUNK && text.contains(PASSWORD)));

    let report = memory.screening().scan(&lin).categories([Category::Password]).redact(true).run().await.unwrap();
    assert!(report.redacted > 0 && report.rules.len() == 2, "{report:?}");
    memory.drain(&lin, |_| ()).await.unwrap();
    let redacted = texts(&memory, &lin).await;
    assert!(redacted.iter().all(|(_, text)| !text.contains(PASSWORD)), "{redacted:?}");
    assert!(redacted.iter().filter(|(kind, _)| *kind == Kind::CHUNK).count() > 1, "chunks are derived again");
    assert!(memory.recall(&lin, "harvest and weather").await.unwrap().hits.len() > 1);
    let others = texts(&memory, &mo).await;
    assert!(others.iter().any(|(_, text)| text.contains(PASSWORD)), "another user is outside of the scope");
    memory.close().await.unwrap();
}
