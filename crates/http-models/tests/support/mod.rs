//! Test helpers: a client with short waits between attempts, and a server that misbehaves.

#![allow(dead_code)]

use std::{error::Error as _, time::Duration};

use memory_engine_core::Error;
use memory_engine_http_models::{Endpoint, HttpClient, HttpOptions, Secret};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// The key, which no error may show.
pub(crate) const KEY: &str = "sk-hunter2-0123456789";

pub(crate) fn options() -> HttpOptions {
    HttpOptions::default()
        .with_system_proxy(false)
        .with_waits(Duration::from_millis(5), Duration::from_secs(5))
        // Only reached if something hangs: a late answer would be asked for again.
        .with_read_timeout(Duration::from_secs(60))
        .with_timeout(Duration::from_secs(60))
}

pub(crate) fn client() -> HttpClient {
    HttpClient::new(options()).unwrap()
}

/// Returns a client for a server that does not answer.
pub(crate) fn impatient_client() -> HttpClient {
    HttpClient::new(options().with_read_timeout(Duration::from_millis(200))).unwrap()
}

pub(crate) fn endpoint(base: &str) -> Endpoint {
    Endpoint::new(&format!("{base}/v1")).unwrap().with_key(&Secret::new(KEY)).unwrap()
}

/// Returns the display and debug output of an error and all its sources.
pub(crate) fn shown(error: &Error) -> String {
    let mut all = format!("{error} {error:?} {error:#?}");
    let mut source = error.source();
    while let Some(cause) = source {
        all.push_str(&format!(" {cause} {cause:?}"));
        source = cause.source();
    }
    all
}

/// Reads a request to its end. A connection that is closed with unread bytes is reset, and the client then loses the
/// answer.
async fn read_request(connection: &mut TcpStream) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match connection.read(&mut buffer).await {
            Ok(length @ 1..) => request.extend_from_slice(&buffer[..length]),
            Ok(_) | Err(_) => return,
        }
        let text = String::from_utf8_lossy(&request).to_lowercase();
        let Some((head, _)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let body_length = length.map_or(0, |length| length.parse::<usize>().unwrap());
        if request.len() >= head.len() + 4 + body_length {
            return;
        }
    }
}

/// Starts a server that sends these bytes on every connection and closes it. Returns its base URL.
pub(crate) async fn raw(answer: impl Into<Vec<u8>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let answer = answer.into();
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let answer = answer.clone();
            tokio::spawn(async move {
                read_request(&mut connection).await;
                let _ = connection.write_all(&answer).await;
                let _ = connection.shutdown().await;
            });
        }
    });
    format!("http://{address}")
}
