//! A deletion is certified, and the certificate is verified against the store, a copy, and a store that was changed.

use std::sync::Arc;

use memory_engine::{
    Database, EnrichmentOptions, Field, Filter, Forget, Kind, MemoryEngine, PutMode, Record, RecordId, ScanQuery,
    Scope, Trust, Turn,
    certificate::{
        self, CertificateKey, CertificateVerification, CertifiedDeletion, DeletionCertificate, DeletionTarget,
        SearchExtent, verify_signature,
    },
    enrichment::SummaryTrigger,
    graph::RuleExtractor,
    synonyms::SynonymGroup,
};

use crate::fixtures::{TestDatabase, lin, story};

/// Statements in both languages, of which facts, entities, summaries and profiles are made.
const TEXTS: [&str; 6] = [
    "My name is Lin Zhao, I live in Porto and I work as a marine biologist at the aquarium.",
    "I'm allergic to shellfish and walnuts. Anna Reed lives in Lisbon with her brother.",
    "我叫林昭，我住在上海浦东新区，我在海洋馆做研究员。",
    "我对海鲜和核桃过敏，去年冬天在医院住了整整两个星期。",
    "We went hiking in the mountains on Saturday, and the weather was foggy and cold.",
    "周六我们去爬山了，山上雾很大，天气特别冷，下山的时候天已经黑了。",
];

async fn open(test_db: &TestDatabase) -> MemoryEngine {
    let digest = EnrichmentOptions::rules().unwrap().with_trigger(SummaryTrigger::every_turns(3)).with_profile(2);
    test_db.open_with(|builder| builder.enrichment(digest).graph(Arc::new(RuleExtractor::default()))).await
}

/// Stores turns with everything that is derived from them. Returns their ids.
async fn fill(memory: &MemoryEngine) -> Vec<RecordId> {
    let mut ids = Vec::new();
    for (text, number) in TEXTS.iter().zip(0..) {
        let turn = Turn::user(*text).with_message_id(format!("m{number}"));
        ids.push(memory.remember(&story(None), turn).await.unwrap());
    }
    // A turn that is long enough for chunks.
    let long: String =
        (0..90).map(|n| format!("On day {n} the keeper of the lighthouse wrote about ship {n}. ")).collect();
    ids.push(memory.remember(&story(None), Turn::user(&long).with_message_id("long")).await.unwrap());
    memory.drain(&lin(), |_| ()).await.unwrap();
    let kinds: Vec<String> = scan(memory, &lin()).await.into_iter().map(|record| record.kind.to_string()).collect();
    for kind in ["turn", "fact", "chunk", "summary", "profile"] {
        assert!(kinds.iter().any(|other| other == kind), "{kind} is missing: {kinds:?}");
    }
    ids
}

async fn scan(memory: &MemoryEngine, scope: &Scope) -> Vec<Record> {
    memory.scan(scope, &ScanQuery::oldest(9999)).await.unwrap().records
}

/// Forgets records within a scope, and certifies the deletion in the whole database.
async fn certify(
    memory: &MemoryEngine,
    scope: &Scope,
    target: impl Into<Forget>,
    key: &CertificateKey,
) -> CertifiedDeletion {
    memory.deletion().forget_with_certificate(scope, target, key, SearchExtent::Database).await.unwrap()
}

fn places(deletion: &CertifiedDeletion) -> Vec<&str> {
    let places = deletion.certificate.search.places.iter().filter(|place| place.residue() > 0);
    places.map(|place| place.name.as_str()).collect()
}

/// Asserts that the certificate contains no text, and is clean and signed.
fn assert_clean(deletion: &CertifiedDeletion, key: &CertificateKey) {
    let json = deletion.certificate.to_json().unwrap();
    assert_eq!((places(deletion), deletion.certificate.is_clean()), (vec![], true), "{json}");
    for secret in ["Porto", "allergic", "Lin Zhao", "海鲜", "林昭", "lighthouse"] {
        assert!(!json.contains(secret), "{secret} is in the certificate: {json}");
    }
    let read = DeletionCertificate::parse(&json).unwrap();
    assert_eq!(read, deletion.certificate);
    assert!(verify_signature(&read, Some(&key.public_key())).unwrap().has_passed());
}

fn failed(verification: &CertificateVerification) -> Vec<&str> {
    verification.checks.iter().filter(|check| !check.passed).map(|check| check.name).collect()
}

pub(crate) async fn a_deletion_by_id_is_certified(test_db: TestDatabase) {
    let memory = open(&test_db).await;
    let key = CertificateKey::generate().unwrap();
    let ids = fill(&memory).await;
    let unknown = RecordId::new();
    let target = vec![ids[1], ids[3], ids[6], unknown];
    let deletion = certify(&memory, &lin(), target.clone(), &key).await;
    assert_clean(&deletion, &key);
    let certificate = &deletion.certificate;
    assert_eq!(
        (certificate.target, &certificate.scope, certificate.not_found.clone()),
        (DeletionTarget::Ids, &lin(), vec![unknown])
    );
    let kinds = |kind: &str| certificate.records.iter().filter(|record| record.kind.as_deref() == Some(kind)).count();
    assert!(
        kinds("turn") == 3 && kinds("fact") >= 2 && kinds("chunk") >= 2 && kinds("summary") >= 1,
        "{certificate:?}"
    );
    assert_eq!(certificate.records.len() as u64, deletion.report.records());
    assert!(certificate.records.iter().all(|record| record.derived == (record.kind.as_deref() != Some("turn"))));
    assert_eq!(certificate.removed.items["vectors"], deletion.report.removed.vectors);
    assert!(certificate.search.fragments > 70 && !certificate.search.limits.is_empty());

    let checked = memory.deletion().verify_certificate(&lin(), certificate, Some(&key.public_key())).await.unwrap();
    assert_eq!(failed(&checked), Vec::<&str>::new(), "{checked:#?}");
    // After everything was derived again from the rest, and by another process.
    memory.drain(&lin(), |_| ()).await.unwrap();
    drop(memory);
    let checked = certificate::verify(certificate, &test_db.database(), None).await.unwrap();
    assert_eq!(failed(&checked), Vec::<&str>::new(), "{checked:#?}");

    // The same request again certifies what is deleted already.
    let memory = open(&test_db).await;
    let again = certify(&memory, &lin(), target, &key).await;
    assert_clean(&again, &key);
    assert_eq!((again.report.records(), again.certificate.records.len()), (0, 3));
    assert!(again.certificate.records.iter().all(|record| record.kind.is_none()));
    assert_ne!(again.certificate.records[0].content, certificate.records[0].content, "another salt");
    let other = Scope::user("mo").unwrap();
    let denied = memory.deletion().verify_certificate(&other, certificate, None).await.unwrap_err();
    assert_eq!(denied.kind(), memory_engine::ErrorKind::Unauthorized);
}

pub(crate) async fn a_deletion_by_filter_and_of_everything_is_certified(test_db: TestDatabase) {
    let memory = open(&test_db).await;
    let key = CertificateKey::generate().unwrap();
    let ids = fill(&memory).await;
    let mo = Scope::user("mo").unwrap();
    // Another user says the same, word for word.
    memory.remember(&mo, TEXTS[3]).await.unwrap();
    memory.drain(&mo, |_| ()).await.unwrap();
    let retraction = memory.history().retract(&lin(), &[ids[4]], "it was a joke").await.unwrap();
    let others = scan(&memory, &mo).await;
    let filter = Filter::any_of(Field::MessageId, ["m3", "m4"]);
    let deletion = certify(&memory, &lin(), Forget::Matching(filter), &key).await;
    assert_clean(&deletion, &key);
    assert_eq!(deletion.certificate.target, DeletionTarget::Matching);
    let _ = retraction;
    let word = SynonymGroup::new("我家那位住在海边的老朋友", ["an old friend who lives by the sea"]);
    memory.settings().synonyms().store().put(&lin(), &[word]).await.unwrap();
    memory.drain(&lin(), |_| ()).await.unwrap();

    let deletion = certify(&memory, &lin(), Forget::Everything, &key).await;
    assert_clean(&deletion, &key);
    assert_eq!(
        (deletion.certificate.target, deletion.certificate.removed.items["synonyms"]),
        (DeletionTarget::Everything, 1)
    );
    assert_eq!(scan(&memory, &mo).await, others, "nobody else is touched");
    // The whole tenant, with several users.
    memory.remember(&lin(), TEXTS[0]).await.unwrap();
    let tenant = Scope::tenant_wide(lin().tenant()).unwrap();
    let deletion = certify(&memory, &tenant, Forget::Everything, &key).await;
    assert_clean(&deletion, &key);
    let users: Vec<_> = deletion.certificate.records.iter().filter_map(|record| record.user.as_deref()).collect();
    assert!(users.contains(&"lin") && users.contains(&"mo") && users.len() == deletion.certificate.records.len());
    let checked = certificate::verify(&deletion.certificate, &test_db.database(), None).await.unwrap();
    assert_eq!(failed(&checked), Vec::<&str>::new(), "{checked:#?}");
}

pub(crate) async fn a_restored_record_fails_the_verification(test_db: TestDatabase) {
    let memory = open(&test_db).await;
    let key = CertificateKey::generate().unwrap();
    let ids = fill(&memory).await;
    let before = scan(&memory, &lin()).await;
    let deletion = certify(&memory, &lin(), ids[3], &key).await;
    assert_clean(&deletion, &key);
    let check = async |memory: &MemoryEngine| {
        let checked = memory.deletion().verify_certificate(&lin(), &deletion.certificate, None).await.unwrap();
        (failed(&checked).into_iter().map(str::to_owned).collect::<Vec<_>>(), checked)
    };
    // A store that never saw the deletion: the records come back by an import, with everything that is derived.
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.db");
    let digest = EnrichmentOptions::rules().unwrap();
    let builder = MemoryEngine::builder().clock(test_db.clock.clone()).background(false).sqlite(&copy);
    let other = builder.enrichment(digest).build().await.unwrap();
    other.store(&lin(), before.clone(), PutMode::Upsert).await.unwrap();
    other.drain(&lin(), |_| ()).await.unwrap();
    // The engine searches the rows of the user, and not the indexes.
    let (names, checked) = check(&other).await;
    assert_eq!(names, ["tables", "tombstones"], "{checked:#?}");
    let by_file = certificate::verify(&deletion.certificate, &Database::file(&copy), None).await.unwrap();
    assert_eq!(failed(&by_file), ["tables", "indexes", "tombstones"]);
    // The text comes back under another id, into a store without the tombstone.
    other.forget(&lin(), Forget::Everything).await.unwrap();
    let clean = folder.path().join("clean.db");
    let other = MemoryEngine::builder().background(false).sqlite(&clean).build().await.unwrap();
    let deleted = before.iter().find(|record| record.id == ids[3]).unwrap().clone();
    let mut again = Record::new(story(None), Kind::TURN, &deleted.text, &memory_engine::SystemClock);
    (again.trust, again.occurred_at) = (Trust::Import, deleted.occurred_at);
    other.store(&lin(), vec![again.clone()], PutMode::Create).await.unwrap();
    let (names, checked) = check(&other).await;
    assert_eq!(names, ["contents", "tombstones"], "{checked:#?}");
    assert!(checked.checks.iter().any(|check| check.detail.contains(&again.id.to_string())), "{checked:#?}");
    // The store itself refuses it, and a new statement of the person is allowed.
    memory.store(&lin(), before, PutMode::IfAbsent).await.unwrap();
    memory.store(&lin(), vec![again], PutMode::IfAbsent).await.unwrap();
    assert_eq!(check(&memory).await.0, Vec::<String>::new());
    memory.remember(&story(None), &deleted.text[..]).await.unwrap();
    assert_eq!(check(&memory).await.0, Vec::<String>::new());
}

pub(crate) async fn a_changed_certificate_fails_the_verification(test_db: TestDatabase) {
    let memory = open(&test_db).await;
    let key = CertificateKey::generate().unwrap();
    let id = memory.remember(&story(None), TEXTS[0]).await.unwrap();
    let certificate = certify(&memory, &lin(), id, &key).await.certificate;
    let json = certificate.to_json().unwrap();
    let verify = |json: &str| {
        let read = DeletionCertificate::parse(json)?;
        verify_signature(&read, None).map(|verification| failed(&verification).concat())
    };
    assert_eq!(verify(&json).unwrap(), "");
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    // Another order of the fields and other white space are the same certificate.
    assert_eq!(verify(&value.to_string()).unwrap(), "");
    let fields = value.as_object().unwrap();
    assert!(fields.len() >= 16, "{fields:?}");
    for name in fields.keys().filter(|name| !["format", "version", "algorithm", "public_key"].contains(&name.as_str()))
    {
        let mut changed = value.clone();
        let field = &mut changed[name];
        *field = match field.take() {
            serde_json::Value::Number(number) => (number.as_u64().unwrap() + 1).into(),
            serde_json::Value::Array(mut items) => {
                match items.pop() {
                    Some(_) => {}
                    None => items.push(RecordId::new().to_string().into()),
                }
                items.into()
            }
            serde_json::Value::String(text) => match name.as_str() {
                "target" => "everything".into(),
                "begun_at" | "searched_at" => "2020-01-01T00:00:00Z".into(),
                "salt" => "0".repeat(64).into(),
                _ => format!("{text}x").into(),
            },
            mut object @ (serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Object(_)) => {
                let inner = match name.as_str() {
                    "scope" => "user",
                    "store" => "system",
                    "removed" => "records",
                    _ => "fragments",
                };
                object[inner] = match inner {
                    "records" => serde_json::json!({ "turn": 2 }),
                    "fragments" => 777.into(),
                    _ => "mo".into(),
                };
                object
            }
        };
        let found = verify(&changed.to_string()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(found.contains("signature"), "{name} was changed: {found}");
    }
    let mut unknown = value.clone();
    unknown["comment"] = "signed by me".into();
    assert!(verify(&unknown.to_string()).unwrap_err().to_string().contains("comment"));
    assert!(verify(&json.replacen('{', "{\"residue\": 0,", 1)).unwrap_err().to_string().contains("duplicate"));
    // Signed again with another key: only the comparison with the known key shows it.
    let other = CertificateKey::generate().unwrap();
    let id = memory.remember(&story(None), TEXTS[2]).await.unwrap();
    let forged = certify(&memory, &lin(), id, &other).await.certificate;
    assert!(verify_signature(&forged, None).unwrap().has_passed());
    assert_eq!(failed(&verify_signature(&forged, Some(&key.public_key())).unwrap()), ["public key"]);
}
