//! Connections to a served server: bodies that are not read, time-outs and limits.

use std::time::Duration;

use memory_engine::MemoryEngine;
use memory_engine_server::{Access, ApiKey, Guard, KeyRing, LimitsConfig, Mem0, Server};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    time::timeout,
};

use crate::support::{TIME_LIMIT, wait_until};

/// A server with a key, that stops when it is dropped.
struct Running {
    address: String,
    _stop: oneshot::Sender<()>,
}

async fn serve(limits: LimitsConfig) -> Running {
    let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
    let access = Access::tenant("tests", "acme").unwrap();
    let guard = Guard::keys(KeyRing::default().with_key(&ApiKey::generate(), access));
    let server = Server::new(engine.clone(), guard).limits(limits).mem0(Mem0::new(engine));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = async { drop(stopped.await) };
    tokio::spawn(async move { server.serve(listener, stopped).await.unwrap() });
    Running { address, _stop: stop }
}

async fn connect(running: &Running) -> TcpStream {
    TcpStream::connect(&running.address).await.unwrap()
}

/// Returns the head of a POST without a key.
fn post_head(length: usize, more: &str) -> String {
    format!(
        "POST /memories HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{more}\
         content-length: {length}\r\n\r\n"
    )
}

/// Reads one response. Returns its head.
async fn read_response(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let head_end = loop {
        let mut buffer = [0; 4096];
        let count = timeout(TIME_LIMIT, stream.read(&mut buffer)).await.unwrap().unwrap();
        assert!(count > 0, "closed after {:?}", String::from_utf8_lossy(&bytes));
        bytes.extend_from_slice(&buffer[..count]);
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).unwrap().to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
    let missing = (head_end + length.parse::<usize>().unwrap()).saturating_sub(bytes.len());
    stream.read_exact(&mut vec![0; missing]).await.unwrap();
    head
}

/// Returns true if the server closes the connection within this time.
async fn is_closed_within(stream: &mut TcpStream, time: Duration) -> bool {
    matches!(timeout(time, stream.read(&mut [0; 64])).await, Ok(Ok(0) | Err(_)))
}

#[tokio::test]
async fn a_connection_survives_a_refusal_with_a_small_body() {
    let running = serve(LimitsConfig::default()).await;
    let mut stream = connect(&running).await;
    for _ in 0..3 {
        // Head and body are sent apart, as the usual clients do.
        stream.write_all(post_head(9, "").as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        stream.write_all(b"{\"a\": 123").await.unwrap();
        let head = read_response(&mut stream).await;
        assert!(head.starts_with("http/1.1 401") && !head.contains("connection: close"), "{head}");
    }
}

#[tokio::test]
async fn a_refusal_that_ends_the_connection_says_so() {
    let running = serve(LimitsConfig::default()).await;
    for head in [post_head(1 << 20, ""), post_head(9, "expect: 100-continue\r\n"), post_head(9, "")] {
        let mut stream = connect(&running).await;
        stream.write_all(head.as_bytes()).await.unwrap();
        let response = read_response(&mut stream).await;
        assert!(response.starts_with("http/1.1 401") && response.contains("connection: close"), "{head}{response}");
        assert!(is_closed_within(&mut stream, TIME_LIMIT).await);
    }
}

#[tokio::test]
async fn idle_and_half_open_connections_are_closed() {
    let limits = |head_seconds| {
        let mut limits = LimitsConfig::default();
        limits.head_seconds = head_seconds;
        limits
    };
    let running = serve(limits(1)).await;
    let mut silent = connect(&running).await;
    let mut half = connect(&running).await;
    half.write_all(b"GET /health HTTP/1.1\r\nhost: loc").await.unwrap();
    let mut idle = connect(&running).await;
    idle.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    assert!(read_response(&mut idle).await.starts_with("http/1.1 200"));
    for stream in [&mut silent, &mut half, &mut idle] {
        assert!(is_closed_within(stream, TIME_LIMIT).await);
    }
    let running = serve(limits(0)).await;
    let mut silent = connect(&running).await;
    // A limit of 0 seconds would close it at once.
    assert!(!is_closed_within(&mut silent, Duration::from_millis(500)).await);
}

#[tokio::test]
async fn connections_of_an_address_are_limited() {
    let mut limits = LimitsConfig::default();
    limits.max_connections_per_address = 2;
    let running = serve(limits).await;
    let request = b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut stream = connect(&running).await;
        stream.write_all(request).await.unwrap();
        assert!(read_response(&mut stream).await.starts_with("http/1.1 200"));
        open.push(stream);
    }
    let mut refused = connect(&running).await;
    assert!(read_response(&mut refused).await.starts_with("http/1.1 503"));
    open.pop();
    wait_until("a closed connection does not count", async || {
        let mut stream = connect(&running).await;
        stream.write_all(request).await.unwrap();
        read_response(&mut stream).await.starts_with("http/1.1 200")
    })
    .await;
}

#[tokio::test]
async fn a_stop_closes_idle_connections_and_the_listener() {
    let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
    let server = Server::new(engine, Guard::open(Access::tenant("tests", "acme").unwrap()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(server.serve(listener, async { drop(stopped.await) }));
    let mut idle = TcpStream::connect(address).await.unwrap();
    idle.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    read_response(&mut idle).await;
    drop(stop);
    timeout(TIME_LIMIT, serving).await.unwrap().unwrap().unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}
