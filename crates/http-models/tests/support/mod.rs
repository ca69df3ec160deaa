//! Test helpers: a client with short time limits, and a server that misbehaves.

#![allow(dead_code)]

use std::{error::Error as _, time::Duration};

use memory_engine_core::Error;
use memory_engine_http_models::{Endpoint, HttpClient, HttpOptions, Secret};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

/// The key, which no error may show.
pub(crate) const KEY: &str = "sk-hunter2-0123456789";

pub(crate) fn options() -> HttpOptions {
    HttpOptions::default()
        .with_system_proxy(false)
        .with_waits(Duration::from_millis(5), Duration::from_secs(5))
        .with_read_timeout(Duration::from_millis(400))
        .with_timeout(Duration::from_secs(5))
}

pub(crate) fn client() -> HttpClient {
    HttpClient::new(options()).unwrap()
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

/// Starts a server that sends these bytes on every connection and closes it. Returns its base URL.
pub(crate) async fn raw(answer: impl Into<Vec<u8>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let answer = answer.into();
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let answer = answer.clone();
            tokio::spawn(async move {
                let mut request = vec![0; 1 << 16];
                let _ = connection.read(&mut request).await;
                let _ = connection.write_all(&answer).await;
                let _ = connection.shutdown().await;
            });
        }
    });
    format!("http://{address}")
}
