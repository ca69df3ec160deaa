//! Downloads from a fake hub.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed assertion panics")]

mod support;

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

use memory_engine_core::{Error, ErrorKind};
use memory_engine_http_models::{FetchedFile, Hub, HubModel, Secret, Verification};
use sha2::{Digest, Sha256};
use support::{KEY, options, shown};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers::any};

const WEIGHTS: &[u8] = b"0123456789 the weights of a very small model";

fn sha(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the bytes under a path of the hub, and true if it sends a checksum.
fn content(path: &str) -> Option<(&'static [u8], bool)> {
    match path.strip_prefix("/lab/tiny/resolve/main/")? {
        "config.json" => Some((b"{}", false)),
        "tokenizer.json" => Some((b"{\"model\": 1}", true)),
        "model.safetensors" => Some((WEIGHTS, true)),
        _ => None,
    }
}

fn respond(request: &Request) -> ResponseTemplate {
    let Some((bytes, has_checksum)) = content(request.url.path()) else { return ResponseTemplate::new(404) };
    let from = request
        .headers
        .get("range")
        .and_then(|range| range.to_str().ok()?.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok());
    let mut answer = match from {
        Some(from) if from >= bytes.len() => ResponseTemplate::new(416),
        Some(from) => ResponseTemplate::new(206)
            .insert_header("content-range", format!("bytes {from}-{}/{}", bytes.len() - 1, bytes.len()))
            .set_body_bytes(&bytes[from..]),
        None => ResponseTemplate::new(200).set_body_bytes(bytes),
    };
    if has_checksum {
        answer = answer.insert_header("x-linked-etag", format!("\"{}\"", sha(bytes)));
        answer = answer.insert_header("x-linked-size", bytes.len().to_string());
    }
    answer
}

async fn server_with(respond: impl Fn(&Request) -> ResponseTemplate + Send + Sync + 'static) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(respond).mount(&server).await;
    server
}

async fn fetch(base: &str, model: &HubModel, models: &Path) -> Result<Vec<FetchedFile>, Error> {
    let hub = Hub::new(base, Some(&Secret::new(KEY)), options()).unwrap();
    hub.fetch(model, models, &|_| {}).await.map(|(folder, files)| {
        assert_eq!(folder, models.join("tiny"));
        files
    })
}

fn tiny() -> HubModel {
    HubModel::encoder("lab/tiny")
}

/// A models folder with one file of the model.
fn models_with(name: &str, bytes: &[u8]) -> TempDir {
    let models = TempDir::new().unwrap();
    fs::create_dir(models.path().join("tiny")).unwrap();
    fs::write(models.path().join("tiny").join(name), bytes).unwrap();
    models
}

fn weights(models: &TempDir) -> Vec<u8> {
    fs::read(models.path().join("tiny/model.safetensors")).unwrap()
}

#[tokio::test]
async fn a_model_is_downloaded_verified_and_recorded() {
    let server = server_with(respond).await;
    let models = TempDir::new().unwrap();
    let steps = Mutex::new(Vec::new());
    let hub = Hub::new(&server.uri(), None, options()).unwrap();
    let record = |progress: memory_engine_http_models::DownloadProgress<'_>| {
        steps.lock().unwrap().push((progress.name.to_owned(), progress.bytes, progress.total))
    };
    let (folder, files) = hub.fetch(&tiny(), models.path(), &record).await.unwrap();
    let verified: Vec<_> = files.iter().map(|file| (file.name.as_str(), file.verification, file.downloaded)).collect();
    let expected = [
        ("config.json", Verification::Size, true),
        ("tokenizer.json", Verification::Hub, true),
        ("model.safetensors", Verification::Hub, true),
    ];
    assert_eq!(verified, expected);
    assert_eq!(weights(&models), WEIGHTS);
    let size = WEIGHTS.len() as u64;
    assert_eq!(steps.lock().unwrap().last(), Some(&("model.safetensors".to_owned(), size, Some(size))));
    let recorded = fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
    assert!(recorded.contains(&format!("{}  model.safetensors\n", sha(WEIGHTS))), "{recorded}");
    assert!(!folder.join("model.safetensors.part").exists());
    assert!(!folder.join("1_Pooling").exists(), "a missing optional file creates no folder");
}

#[tokio::test]
async fn verified_files_need_no_network() {
    let server = server_with(respond).await;
    let models = TempDir::new().unwrap();
    fetch(&server.uri(), &tiny(), models.path()).await.unwrap();
    let files = fetch("http://127.0.0.1:1", &tiny(), models.path()).await.unwrap();
    assert!(files.iter().all(|file| !file.downloaded && file.verification == Verification::Recorded), "{files:?}");
}

#[tokio::test]
async fn an_existing_file_is_verified_by_the_hub() {
    let server = server_with(respond).await;
    let models = models_with("model.safetensors", WEIGHTS);
    let files = fetch(&server.uri(), &tiny(), models.path()).await.unwrap();
    assert_eq!((files[2].verification, files[2].downloaded), (Verification::Hub, false));
}

#[tokio::test]
async fn a_damaged_file_is_downloaded_again() {
    let server = server_with(respond).await;
    let models = TempDir::new().unwrap();
    fetch(&server.uri(), &tiny(), models.path()).await.unwrap();
    fs::write(models.path().join("tiny/model.safetensors"), b"damaged").unwrap();
    let files = fetch(&server.uri(), &tiny(), models.path()).await.unwrap();
    assert!(files[2].downloaded && !files[1].downloaded);
    assert_eq!(weights(&models), WEIGHTS);
}

#[tokio::test]
async fn a_partial_download_is_resumed() {
    let server = server_with(respond).await;
    let models = models_with("model.safetensors.part", &WEIGHTS[..10]);
    fetch(&server.uri(), &tiny(), models.path()).await.unwrap();
    assert_eq!(weights(&models), WEIGHTS);
    let requests = server.received_requests().await.unwrap();
    let ranges: Vec<_> = requests.iter().filter_map(|r| r.headers.get("range")?.to_str().ok()).collect();
    assert_eq!(ranges, ["bytes=10-"]);
}

#[tokio::test]
async fn a_complete_partial_file_is_only_verified() {
    let server = server_with(respond).await;
    let models = models_with("model.safetensors.part", WEIGHTS);
    let files = fetch(&server.uri(), &tiny(), models.path()).await.unwrap();
    assert_eq!((files[2].verification, weights(&models)), (Verification::Hub, WEIGHTS.to_vec()));
}

#[tokio::test]
async fn a_wrong_partial_file_is_discarded() {
    for wrong in [&b"something else"[..], &[b'x'; 500]] {
        let server = server_with(respond).await;
        let models = models_with("model.safetensors.part", wrong);
        fetch(&server.uri(), &tiny(), models.path()).await.unwrap();
        assert_eq!(weights(&models), WEIGHTS);
        // Without a checksum, a partial file is never resumed.
        let models = models_with("config.json.part", b"[");
        fetch(&server.uri(), &tiny(), models.path()).await.unwrap();
        assert_eq!(fs::read(models.path().join("tiny/config.json")).unwrap(), b"{}");
    }
}

#[tokio::test]
async fn a_cut_connection_is_resumed() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let offsets = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&offsets);
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let mut request = vec![0; 1 << 16];
            let read = connection.read(&mut request).await.unwrap();
            let request = String::from_utf8_lossy(&request[..read]).to_ascii_lowercase();
            let from =
                request.lines().find_map(|l| l.strip_prefix("range: bytes=")?.strip_suffix('-')?.parse::<usize>().ok());
            log.lock().unwrap().push(from);
            let (from, status) = (from.unwrap_or(0), if from.is_some() { "206 Partial Content" } else { "200 OK" });
            let (all, rest) = (WEIGHTS.len(), WEIGHTS.len() - from);
            let head = format!(
                "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {rest}\r\n\
                 content-range: bytes {from}-{}/{all}\r\nx-linked-etag: \"{}\"\r\n\r\n",
                all - 1,
                sha(WEIGHTS)
            );
            connection.write_all(head.as_bytes()).await.unwrap();
            // The connection is cut after seven bytes.
            connection.write_all(&WEIGHTS[from..all.min(from + 7)]).await.unwrap();
            connection.shutdown().await.unwrap();
        }
    });
    let models = TempDir::new().unwrap();
    let mut model = tiny();
    model.files.retain(|file| file.name == "model.safetensors");
    let files = fetch(&base, &model, models.path()).await.unwrap();
    assert_eq!((weights(&models), files[0].verification), (WEIGHTS.to_vec(), Verification::Hub));
    let offsets = offsets.lock().unwrap();
    assert!(
        offsets.len() == WEIGHTS.len().div_ceil(7) && offsets[1] == Some(7) && offsets[2] == Some(14),
        "{offsets:?}"
    );
}

#[tokio::test]
async fn a_file_with_a_wrong_checksum_is_removed() {
    let server = server_with(respond).await;
    let models = TempDir::new().unwrap();
    let pinned = tiny().with_sum("model.safetensors", &sha(b"other weights")).unwrap();
    let error = fetch(&server.uri(), &pinned, models.path()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.message().contains("model.safetensors has the SHA-256"), "{error}");
    let remaining: Vec<_> = fs::read_dir(models.path().join("tiny")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(!remaining.iter().any(|name| name.to_string_lossy().starts_with("model.safetensors")), "{remaining:?}");
    let correct = tiny().with_sum("model.safetensors", &sha(WEIGHTS)).unwrap();
    assert_eq!(fetch(&server.uri(), &correct, models.path()).await.unwrap()[2].verification, Verification::Pinned);
}

#[tokio::test]
async fn a_file_that_differs_from_the_hub_is_rejected() {
    let damaged = |request: &Request| {
        let response = respond(request);
        if request.url.path().ends_with("safetensors") {
            response.set_body_bytes(&b"damaged on the way"[..])
        } else {
            response
        }
    };
    let server = server_with(damaged).await;
    let models = TempDir::new().unwrap();
    assert_eq!(fetch(&server.uri(), &tiny(), models.path()).await.unwrap_err().kind(), ErrorKind::Corrupt);
    assert!(!models.path().join("tiny/model.safetensors").exists());
}

#[tokio::test]
async fn hub_errors_have_their_kind() {
    let models = TempDir::new().unwrap();
    let error = fetch("http://127.0.0.1:1", &tiny(), models.path()).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Unavailable && error.message().contains("cannot be reached"), "{error}");
    let server = server_with(|_| ResponseTemplate::new(404)).await;
    let error = fetch(&server.uri(), &tiny(), models.path()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let server = server_with(|_| ResponseTemplate::new(401)).await;
    let error = fetch(&server.uri(), &tiny(), models.path()).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Unauthorized && !shown(&error).contains(KEY));
}

#[tokio::test]
async fn the_token_is_not_sent_to_redirect_targets() {
    // The checksum of the storage server is ignored; only that of the hub counts.
    let storage =
        server_with(|_| ResponseTemplate::new(200).set_body_bytes(WEIGHTS).insert_header("etag", sha(b"a lie"))).await;
    let to = format!("{}/bytes", storage.uri());
    let hub = server_with(move |_| {
        ResponseTemplate::new(302).insert_header("location", to.as_str()).insert_header("x-linked-etag", sha(WEIGHTS))
    })
    .await;
    let models = TempDir::new().unwrap();
    let mut model = tiny();
    model.files.retain(|file| file.name == "model.safetensors");
    assert_eq!(fetch(&hub.uri(), &model, models.path()).await.unwrap()[0].verification, Verification::Hub);
    let request = &hub.received_requests().await.unwrap()[0];
    assert_eq!(request.headers["authorization"], format!("Bearer {KEY}"));
    assert!(!storage.received_requests().await.unwrap()[0].headers.contains_key("authorization"));
    let circle = server_with(|_| ResponseTemplate::new(302).insert_header("location", "/round")).await;
    let error = fetch(&circle.uri(), &model, TempDir::new().unwrap().path()).await.unwrap_err();
    assert!(error.message().contains("redirects more than"), "{error}");
}
