//! Evidence through Supabase's REST interface equals that of the database behind it: the SQL functions of a real
//! Postgres are called through a stand-in for PostgREST and directly.

use std::{env, path::Path, process::Command, sync::Arc, time::Duration};

use libtest_mimic::Failed;
use memory_engine::{
    Kind, MemoryEngine, Scope, Timestamp, Turn,
    admin::ViewSet,
    embed::{DefaultEmbedder, Embedder, Purpose},
    http_models::{HttpClient, HttpOptions, PostgrestClient, Secret},
};
use memory_engine_evidence::{
    DatabaseEvidence, Evidence, EvidenceCascade, EvidenceOptions, EvidenceQuery, EvidenceSource, LocalEvidence,
    MemoryEvidence, SupabaseEvidence,
};
use memory_engine_postgres::{PostgresOptions, PostgresStore, install_views, migrate_down};
use serde_json::{Map, Value};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers::header, matchers::method};

/// Returns true if `psql` is available, which the stand-in uses.
pub(crate) fn is_possible() -> bool {
    env::var_os("WITH_POSTGRES_BIN").is_some()
}

/// Answers `POST /rest/v1/rpc/FUNCTION` like PostgREST: calls the function with the arguments in the body.
struct PostgrestStub {
    url: String,
    schema: String,
}

impl PostgrestStub {
    fn call(&self, function: &str) -> Option<&'static str> {
        Some(match function {
            "search_memory_events" => {
                "search_memory_events(
                    query_embedding => (a.body->>'query_embedding')::vector,
                    match_threshold => (a.body->>'match_threshold')::double precision,
                    match_count => (a.body->>'match_count')::integer, asset_filter => a.assets,
                    min_confidence => (a.body->>'min_confidence')::double precision,
                    time_window_hours => (a.body->>'time_window_hours')::integer)"
            }
            "search_memory_events_keywords" => {
                "search_memory_events_keywords(
                    query_keywords => ARRAY(SELECT jsonb_array_elements_text(a.body->'query_keywords')),
                    time_window_hours => (a.body->>'time_window_hours')::integer,
                    match_count => (a.body->>'match_count')::integer,
                    min_confidence => (a.body->>'min_confidence')::double precision, asset_filter => a.assets)"
            }
            _ => return None,
        })
    }

    /// Returns the rows of a call as JSON, or the error message of the database.
    fn rows(&self, call: &str, body: &str) -> Result<String, String> {
        let sql = format!(
            "SELECT coalesce(jsonb_agg(to_jsonb(f)), '[]') FROM (
                SELECT b.body, CASE jsonb_typeof(b.body->'asset_filter') WHEN 'array'
                    THEN ARRAY(SELECT jsonb_array_elements_text(b.body->'asset_filter')) END AS assets
                FROM (SELECT :'body'::jsonb AS body) b
             ) a CROSS JOIN LATERAL {call} f"
        );
        let psql = Path::new(&env::var_os("WITH_POSTGRES_BIN").unwrap()).join("psql");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("call.sql");
        std::fs::write(&file, sql).unwrap();
        let ran = Command::new(psql)
            .args([self.url.as_str(), "-XqAt", "-v", "ON_ERROR_STOP=1", "-v", &format!("body={body}"), "-f"])
            .arg(file)
            .env("PGOPTIONS", format!("-c search_path={},public", self.schema))
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if ran.status.success() { Ok(text(&ran.stdout)) } else { Err(text(&ran.stderr)) }
    }
}

impl Respond for PostgrestStub {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let call = request.url.path().strip_prefix("/rest/v1/rpc/").and_then(|function| self.call(function));
        let Some(call) = call else { return ResponseTemplate::new(404) };
        match self.rows(call, str::from_utf8(&request.body).unwrap()) {
            Ok(rows) => ResponseTemplate::new(200).set_body_raw(rows, "application/json"),
            Err(error) => ResponseTemplate::new(400).set_body_json(serde_json::json!({ "message": error })),
        }
    }
}

/// Record, time, text, translation and millionths of a score.
type EventParts = (String, Timestamp, String, Option<String>, i64);

/// Returns the parts of an event that both sources return; the direct source has no row number.
fn event_parts(evidence: &Evidence) -> EventParts {
    let at: Timestamp = evidence.created_at.clone().unwrap().parse().unwrap();
    let score = (evidence.match_score * 1e6).round() as i64;
    let text = evidence.content_text.clone().unwrap();
    (evidence.record_id.clone().unwrap(), at, text, evidence.translated_text.clone(), score)
}

fn slots(evidence: &MemoryEvidence) -> [Option<Vec<EventParts>>; 3] {
    let all = [&evidence.supabase_vector, &evidence.supabase_keyword, &evidence.local_keyword];
    all.map(|slot| slot.as_ref().map(|slot| slot.iter().map(event_parts).collect()))
}

async fn store_news(memory: &MemoryEngine, scope: &Scope) {
    let now = Timestamp::from_micros(i64::try_from(since_1970().as_micros()).unwrap());
    for (text, hours, confidence, asset, translated) in [
        ("SEC approves a spot bitcoin ETF", 5, 0.9, "BTC", None),
        ("Exchange hacked, bitcoin ETF outflows", 50, 0.7, "BTC", None),
        ("bitcoin ETF rumours on a forum", 2, 0.3, "BTC", None),
        ("gold ETF hits a record", 1, 0.9, "GOLD", None),
        ("bitcoin ETF filing from last month", 700, 0.9, "BTC", None),
        ("央行降准，债券上涨", 3, 0.8, "CN10Y", Some("PBoC cuts reserve ratio, bonds rise")),
    ] {
        let at = now.before(Duration::from_secs(hours * 3600));
        let mut turn = Turn::note(text).with_kind(Kind::EVENT).with_confidence(confidence).with_tags([asset]).at(at);
        if let Some(translated) = translated {
            turn = turn.with_metadata(Map::from_iter([("translated_text".to_owned(), Value::from(translated))]));
        }
        memory.remember(scope, turn).await.unwrap();
    }
    memory.drain(scope, |_| ()).await.unwrap();
}

/// The database uses its own clock.
fn since_1970() -> Duration {
    use memory_engine::{Clock, SystemClock};
    Duration::from_micros(u64::try_from(SystemClock.now().as_micros()).unwrap())
}

pub(crate) async fn evidence_is_the_same_through_rest_and_directly(url: &str) -> Result<(), Failed> {
    let schema = format!("rest_{}", std::process::id());
    let embedder = DefaultEmbedder::default();
    let options = PostgresOptions::default().with_schema(schema.as_str());
    install_views(url, &options, ViewSet::Evidence).await.unwrap();
    let builder = MemoryEngine::builder().background(false);
    let store = PostgresStore::connect_with(url, builder.store_options(), options.clone()).await.unwrap();
    let store = Arc::new(store);
    let memory = builder.stores(store.clone()).build().await.unwrap();
    let everybody = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap();
    store_news(&memory, &everybody).await;

    let server = MockServer::start().await;
    let rest = PostgrestStub { url: url.to_owned(), schema };
    Mock::given(method("POST")).and(header("apikey", "sb_secret_test")).respond_with(rest).mount(&server).await;
    let client = HttpClient::new(HttpOptions::default()).unwrap();
    let client = PostgrestClient::supabase(client, &server.uri(), &Secret::new("sb_secret_test")).unwrap();

    let local = || Arc::new(LocalEvidence::new(memory.clone(), everybody.clone()));
    let cascade = |source: Arc<dyn EvidenceSource>| {
        let mut options = EvidenceOptions::default();
        options.step_time = Duration::from_secs(20);
        EvidenceCascade::new(local()).with_database(Some(source)).with_options(options)
    };
    let through_rest = cascade(Arc::new(SupabaseEvidence::new(client)));
    let directly = cascade(Arc::new(DatabaseEvidence::new(store.clone(), everybody.clone())));

    let near = async |text: &str| {
        let vectors = embedder.embed(&[text], Purpose::Query).await.unwrap();
        EvidenceQuery::new().with_embedding(vectors[0].values().to_vec())
    };
    let queries = [
        // The vectors answer, in Chinese and in English; the vectors find nothing and the words do, with an asset,
        // without one, and by a translation; nothing does.
        (near("SEC approves a spot bitcoin ETF").await.with_keywords(["gold"]), [1, 0, 0]),
        (near("央行降准，债券上涨").await, [1, 0, 0]),
        (near("weather").await.with_keywords(["Bitcoin", "ETF"]).about_assets(["BTC"]), [0, 2, 0]),
        (EvidenceQuery::new().with_keywords(["etf", "it's \"quoted\""]), [0, 3, 0]),
        (EvidenceQuery::new().with_keywords(["reserve"]), [0, 1, 0]),
        (EvidenceQuery::new().with_keywords(["降准"]).about_assets(["BTC"]), [0, 0, 0]),
    ];
    for (query, counts) in queries {
        let (rest, direct) = (through_rest.gather(&query).await, directly.gather(&query).await);
        let of = |evidence: &MemoryEvidence| slots(evidence).map(|slot| slot.map_or(0, |slot| slot.len()));
        assert_eq!(of(&direct), counts, "{query:?}: {:?}", direct.steps);
        assert_eq!(slots(&rest), slots(&direct), "{query:?}: {:?} and {:?}", rest.steps, direct.steps);
        let outcomes = |evidence: &MemoryEvidence| evidence.steps.iter().map(|s| s.outcome.clone()).collect::<Vec<_>>();
        assert_eq!(outcomes(&rest), outcomes(&direct), "{query:?}");
    }
    drop((memory, through_rest, directly, store));
    migrate_down(url, &options, 0).await.unwrap();
    Ok(())
}
