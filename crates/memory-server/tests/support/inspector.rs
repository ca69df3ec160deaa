//! Servers with the inspector, on the memory of `inspector_data`.

use std::{
    path::Path,
    sync::{Arc, OnceLock},
};

use axum::Router;
use memory_engine::{MemoryEngine, certificate::CertificateKey};
use memory_engine_server::{ApiKey, Config, Inspector, KeyConfig, Metrics, Server};
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinHandle};

use crate::{
    inspector_data::{ANNA, LIN, filled_engine},
    support::upstream::{self, ReceivedRequests},
};

/// The metrics of this process, which can be installed once.
static METRICS: OnceLock<Metrics> = OnceLock::new();

/// Three servers on one memory, until the value is dropped.
pub(crate) struct InspectedMemory {
    /// URL of the server without keys, `http://127.0.0.1:PORT` without a slash.
    pub(crate) open_url: String,
    /// URL of the server with keys.
    pub(crate) keyed_url: String,
    /// URL of a server without keys whose configuration switches the inspector off.
    pub(crate) without_ui_url: String,
    /// A key for all users of the tenant.
    pub(crate) key: ApiKey,
    /// A key for Anna only.
    pub(crate) anna_key: ApiKey,
    /// A key for Lin only.
    pub(crate) lin_key: ApiKey,
    pub(crate) engine: MemoryEngine,
    _folder: TempDir,
    tasks: Vec<JoinHandle<()>>,
}

impl InspectedMemory {
    /// Fills a new SQLite file, and starts the servers on it.
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = filled_engine(folder.path()).await;
        let [key, anna_key, lin_key] = std::array::from_fn(|_| ApiKey::generate());
        let mut tasks = Vec::new();
        let mut serve = async |router: Router| {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}", listener.local_addr().unwrap());
            tasks.push(tokio::spawn(async move { axum::serve(listener, router).await.unwrap() }));
            url
        };
        let upstream = serve(upstream::router(Arc::new(ReceivedRequests::default()))).await;
        let open = config(folder.path(), &upstream);
        let mut keyed = open.clone();
        keyed.keys = vec![
            key_config("everyone", &key, None),
            key_config("anna's key", &anna_key, Some(ANNA)),
            key_config("lin's key", &lin_key, Some(LIN)),
        ];
        let mut without_ui = open.clone();
        without_ui.ui.enabled = false;
        let open_url = serve(inspected(&open, &engine).router()).await;
        let keyed_url = serve(inspected(&keyed, &engine).router()).await;
        let without_ui_url = serve(server(&without_ui, &engine).router()).await;
        Self { open_url, keyed_url, without_ui_url, key, anna_key, lin_key, engine, _folder: folder, tasks }
    }
}

impl Drop for InspectedMemory {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// Returns the configuration of an open server with all parts.
fn config(folder: &Path, upstream: &str) -> Config {
    let text = format!(
        "db = {:?}\ndigest = \"rules\"\ngraph = \"rules\"\nprofile_every = 20\nzone = \"Asia/Shanghai\"\n\
         review = \"tools=review\"\n[audit]\nmode = \"on\"\n[metrics]\nenabled = false\n\
         [[gateway.upstreams]]\nname = \"scripted\"\nbase_url = \"{upstream}/v1\"\n",
        folder.join("memory.db")
    );
    toml::from_str(&text).unwrap()
}

fn key_config(name: &str, key: &ApiKey, user: Option<&str>) -> KeyConfig {
    let users = user.into_iter().map(str::to_owned).collect();
    KeyConfig {
        name: name.to_owned(),
        hash: key.hash(),
        tenant: "default".to_owned(),
        users,
        metrics_only: false,
        operator: false,
    }
}

fn server(config: &Config, engine: &MemoryEngine) -> Server {
    static CERTIFICATE_KEY: OnceLock<String> = OnceLock::new();
    let certificate_key = CERTIFICATE_KEY.get_or_init(|| CertificateKey::generate().unwrap().to_pem());
    let variable = |name: &str| (name == "MEMORY_CERTIFICATE_KEY").then(|| certificate_key.clone());
    config.server(engine, variable).unwrap()
}

/// Returns a server with the inspector and the metrics of this process.
fn inspected(config: &Config, engine: &MemoryEngine) -> Server {
    let metrics = METRICS.get_or_init(|| Metrics::install().unwrap());
    let inspector = Inspector::new(engine.clone(), config.clone()).metrics(metrics.clone());
    server(config, engine).metrics(metrics.clone()).inspector(inspector)
}
