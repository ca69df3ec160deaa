//! Fetching models from a stand-in for a hub.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod support;

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

use memory_engine_core::{Error, ErrorKind};
use memory_engine_http_models::{Checked, Fetched, Hub, HubModel, Secret};
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

fn answer(request: &Request) -> ResponseTemplate {
    let Some((bytes, summed)) = content(request.url.path()) else { return ResponseTemplate::new(404) };
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
    if summed {
        answer = answer.insert_header("x-linked-etag", format!("\"{}\"", sha(bytes)));
        answer = answer.insert_header("x-linked-size", bytes.len().to_string());
    }
    answer
}

async fn serving(answer: impl Fn(&Request) -> ResponseTemplate + Send + Sync + 'static) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(answer).mount(&server).await;
    server
}

async fn fetch(base: &str, model: &HubModel, models: &Path) -> Result<Vec<Fetched>, Error> {
    let hub = Hub::new(base, Some(&Secret::new(KEY)), options()).unwrap();
    hub.fetch(model, models, &|_| {}).await.map(|(folder, files)| {
        assert_eq!(folder, models.join("tiny"));
        files
    })
}

fn tiny() -> HubModel {
    HubModel::encoder("lab/tiny")
}

/// A folder for models, with a file in the model's own.
fn with(name: &str, bytes: &[u8]) -> TempDir {
    let models = TempDir::new().unwrap();
    fs::create_dir(models.path().join("tiny")).unwrap();
    fs::write(models.path().join("tiny").join(name), bytes).unwrap();
    models
}

fn weights(models: &TempDir) -> Vec<u8> {
    fs::read(models.path().join("tiny/model.safetensors")).unwrap()
}

#[tokio::test]
async fn a_model_is_fetched_checked_and_noted() {
    let server = serving(answer).await;
    let models = TempDir::new().unwrap();
    let steps = Mutex::new(Vec::new());
    let hub = Hub::new(&server.uri(), None, options()).unwrap();
    let note = |step: memory_engine_http_models::Step<'_>| {
        steps.lock().unwrap().push((step.name.to_owned(), step.bytes, step.total))
    };
    let (folder, files) = hub.fetch(&tiny(), models.path(), &note).await.unwrap();
    let checked: Vec<_> = files.iter().map(|file| (file.name.as_str(), file.checked, file.downloaded)).collect();
    let expected = [
        ("config.json", Checked::Size, true),
        ("tokenizer.json", Checked::Hub, true),
        ("model.safetensors", Checked::Hub, true),
    ];
    assert_eq!(checked, expected);
    assert_eq!(weights(&models), WEIGHTS);
    let size = WEIGHTS.len() as u64;
    assert_eq!(steps.lock().unwrap().last(), Some(&("model.safetensors".to_owned(), size, Some(size))));
    let notes = fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
    assert!(notes.contains(&format!("{}  model.safetensors\n", sha(WEIGHTS))), "{notes}");
    assert!(!folder.join("model.safetensors.part").exists());
    assert!(!folder.join("1_Pooling").exists(), "a file that the model lacks leaves nothing");
}

#[tokio::test]
async fn what_is_there_is_left_alone_without_the_network() {
    let server = serving(answer).await;
    let models = TempDir::new().unwrap();
    fetch(&server.uri(), &tiny(), models.path()).await.unwrap();
    let files = fetch("http://127.0.0.1:1", &tiny(), models.path()).await.unwrap();
    assert!(files.iter().all(|file| !file.downloaded && file.checked == Checked::Noted), "{files:?}");
}

#[tokio::test]
async fn a_file_that_was_put_there_by_hand_is_compared_with_the_hub() {
    let server = serving(answer).await;
    let models = with("model.safetensors", WEIGHTS);
    let files = fetch(&server.uri(), &tiny(), models.path()).await.unwrap();
    assert_eq!((files[2].checked, files[2].downloaded), (Checked::Hub, false));
}

#[tokio::test]
async fn a_damaged_file_is_fetched_again() {
    let server = serving(answer).await;
    let models = TempDir::new().unwrap();
    fetch(&server.uri(), &tiny(), models.path()).await.unwrap();
    fs::write(models.path().join("tiny/model.safetensors"), b"damaged").unwrap();
    let files = fetch(&server.uri(), &tiny(), models.path()).await.unwrap();
    assert!(files[2].downloaded && !files[1].downloaded);
    assert_eq!(weights(&models), WEIGHTS);
}

#[tokio::test]
async fn what_broke_off_is_continued() {
    let server = serving(answer).await;
    let models = with("model.safetensors.part", &WEIGHTS[..10]);
    fetch(&server.uri(), &tiny(), models.path()).await.unwrap();
    assert_eq!(weights(&models), WEIGHTS);
    let requests = server.received_requests().await.unwrap();
    let ranges: Vec<_> = requests.iter().filter_map(|r| r.headers.get("range")?.to_str().ok()).collect();
    assert_eq!(ranges, ["bytes=10-"]);
}

#[tokio::test]
async fn what_was_whole_but_for_its_name_is_only_checked() {
    let server = serving(answer).await;
    let models = with("model.safetensors.part", WEIGHTS);
    let files = fetch(&server.uri(), &tiny(), models.path()).await.unwrap();
    assert_eq!((files[2].checked, weights(&models)), (Checked::Hub, WEIGHTS.to_vec()));
}

#[tokio::test]
async fn a_beginning_of_another_file_is_thrown_away() {
    for wrong in [&b"something else"[..], &[b'x'; 500]] {
        let server = serving(answer).await;
        let models = with("model.safetensors.part", wrong);
        fetch(&server.uri(), &tiny(), models.path()).await.unwrap();
        assert_eq!(weights(&models), WEIGHTS);
        // Without a sum a beginning cannot be trusted at all.
        let models = with("config.json.part", b"[");
        fetch(&server.uri(), &tiny(), models.path()).await.unwrap();
        assert_eq!(fs::read(models.path().join("tiny/config.json")).unwrap(), b"{}");
    }
}

#[tokio::test]
async fn a_connection_that_is_cut_is_taken_up_where_it_broke() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
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
                "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {rest}\r\ncontent-range: bytes {from}-{}/{all}\r\nx-linked-etag: \"{}\"\r\n\r\n",
                all - 1,
                sha(WEIGHTS)
            );
            connection.write_all(head.as_bytes()).await.unwrap();
            // Seven bytes at a time, and then the line is cut.
            connection.write_all(&WEIGHTS[from..all.min(from + 7)]).await.unwrap();
            connection.shutdown().await.unwrap();
        }
    });
    let models = TempDir::new().unwrap();
    let mut model = tiny();
    model.files.retain(|file| file.name == "model.safetensors");
    let files = fetch(&base, &model, models.path()).await.unwrap();
    assert_eq!((weights(&models), files[0].checked), (WEIGHTS.to_vec(), Checked::Hub));
    let asked = asked.lock().unwrap();
    assert!(asked.len() == WEIGHTS.len().div_ceil(7) && asked[1] == Some(7) && asked[2] == Some(14), "{asked:?}");
}

#[tokio::test]
async fn a_file_with_another_sum_than_the_pinned_one_is_refused_and_removed() {
    let server = serving(answer).await;
    let models = TempDir::new().unwrap();
    let pinned = tiny().with_sum("model.safetensors", &sha(b"other weights")).unwrap();
    let error = fetch(&server.uri(), &pinned, models.path()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.message().contains("model.safetensors has the SHA-256"), "{error}");
    let left: Vec<_> = fs::read_dir(models.path().join("tiny")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("model.safetensors")), "{left:?}");
    let right = tiny().with_sum("model.safetensors", &sha(WEIGHTS)).unwrap();
    assert_eq!(fetch(&server.uri(), &right, models.path()).await.unwrap()[2].checked, Checked::Pinned);
}

#[tokio::test]
async fn a_file_that_is_not_what_the_hub_announced_is_refused() {
    let lying = |request: &Request| {
        let answer = answer(request);
        if request.url.path().ends_with("safetensors") {
            answer.set_body_bytes(&b"damaged on the way"[..])
        } else {
            answer
        }
    };
    let server = serving(lying).await;
    let models = TempDir::new().unwrap();
    assert_eq!(fetch(&server.uri(), &tiny(), models.path()).await.unwrap_err().kind(), ErrorKind::Corrupt);
    assert!(!models.path().join("tiny/model.safetensors").exists());
}

#[tokio::test]
async fn a_hub_that_is_not_there_or_lacks_the_model_says_so() {
    let models = TempDir::new().unwrap();
    let error = fetch("http://127.0.0.1:1", &tiny(), models.path()).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Unavailable && error.message().contains("cannot be reached"), "{error}");
    let server = serving(|_| ResponseTemplate::new(404)).await;
    let error = fetch(&server.uri(), &tiny(), models.path()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let server = serving(|_| ResponseTemplate::new(401)).await;
    let error = fetch(&server.uri(), &tiny(), models.path()).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Unauthorized && !shown(&error).contains(KEY));
}

#[tokio::test]
async fn the_token_goes_to_the_hub_and_not_to_where_it_leads() {
    // Who keeps the bytes says nothing about their sum: only the hub is believed.
    let keeper =
        serving(|_| ResponseTemplate::new(200).set_body_bytes(WEIGHTS).insert_header("etag", sha(b"a lie"))).await;
    let to = format!("{}/bytes", keeper.uri());
    let hub = serving(move |_| {
        ResponseTemplate::new(302).insert_header("location", to.as_str()).insert_header("x-linked-etag", sha(WEIGHTS))
    })
    .await;
    let models = TempDir::new().unwrap();
    let mut model = tiny();
    model.files.retain(|file| file.name == "model.safetensors");
    assert_eq!(fetch(&hub.uri(), &model, models.path()).await.unwrap()[0].checked, Checked::Hub);
    let asked = &hub.received_requests().await.unwrap()[0];
    assert_eq!(asked.headers["authorization"], format!("Bearer {KEY}"));
    assert!(!keeper.received_requests().await.unwrap()[0].headers.contains_key("authorization"));
    let circle = serving(|_| ResponseTemplate::new(302).insert_header("location", "/round")).await;
    let error = fetch(&circle.uri(), &model, TempDir::new().unwrap().path()).await.unwrap_err();
    assert!(error.message().contains("circles"), "{error}");
}
