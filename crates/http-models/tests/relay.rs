//! The relay: time limits of a stream.

#![cfg(feature = "relay")]
#![allow(clippy::unwrap_used, reason = "a failed assertion panics")]

use std::time::Duration;

use http::Method;
use memory_engine_core::ErrorKind;
use memory_engine_http_models::{Endpoint, Relay, RelayOptions, RelayRequest};
use tokio::{
    net::{TcpListener, TcpStream},
    time::sleep,
};

const IDLE_TIMEOUT: Duration = Duration::from_millis(1500);
const CHUNK_INTERVAL: Duration = Duration::from_millis(350);
/// Sending them takes longer than [`IDLE_TIMEOUT`].
const CHUNKS: usize = 5;

async fn send(stream: &TcpStream, text: &str) {
    stream.writable().await.unwrap();
    assert_eq!(stream.try_write(text.as_bytes()).unwrap(), text.len());
}

/// Sends chunks at an interval, and then nothing.
async fn stall_after_chunks(listener: TcpListener) {
    let (stream, _) = listener.accept().await.unwrap();
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        stream.readable().await.unwrap();
        let mut buffer = [0; 1024];
        // Fails if the stream is not ready yet.
        let length = stream.try_read(&mut buffer).unwrap_or(0);
        request.extend_from_slice(&buffer[..length]);
    }
    send(&stream, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await;
    for _ in 0..CHUNKS {
        sleep(CHUNK_INTERVAL).await;
        send(&stream, "2\r\nhi\r\n").await;
    }
    sleep(IDLE_TIMEOUT * 10).await;
}

#[tokio::test]
async fn the_idle_time_starts_again_with_each_chunk() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = Endpoint::new(&format!("http://{}/v1", listener.local_addr().unwrap())).unwrap();
    tokio::spawn(stall_after_chunks(listener));
    let options = RelayOptions::default().with_idle_timeout(IDLE_TIMEOUT).with_system_proxy(false);
    let relay = Relay::new(endpoint, options).unwrap();
    let request = RelayRequest::new(Method::GET, &["stream"]);
    let mut reply = relay.send(&request, Duration::from_secs(30)).await.unwrap();
    for _ in 0..CHUNKS {
        assert_eq!(reply.next().await.unwrap().unwrap(), "hi");
    }
    // Each wait has the whole time limit.
    for _ in 0..2 {
        assert_eq!(reply.next().await.unwrap_err().kind(), ErrorKind::Timeout);
    }
}
