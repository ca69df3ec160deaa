//! Accepts connections, and closes those that are idle or too many.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    net::IpAddr,
    pin::pin,
    sync::Arc,
    time::Duration,
};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use parking_lot::Mutex;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    time::sleep,
};

use crate::config::LimitsConfig;

/// The response to a connection above the limit of its address.
const REFUSAL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
/// The wait after an error of the listener, for example if no file descriptors are left.
const ACCEPT_BACKOFF: Duration = Duration::from_secs(1);

/// The limits of connections.
#[derive(Debug, Clone)]
pub(crate) struct Connections {
    /// Time limit until the head of a request is complete. `None` for no limit.
    head_timeout: Option<Duration>,
    /// Maximum number of open connections of one address. `None` for no limit.
    max_per_address: Option<usize>,
    /// The number of open connections of each address.
    open: Arc<Mutex<BTreeMap<IpAddr, usize>>>,
}

/// An open connection, counted for its address until it is dropped.
#[derive(Debug)]
struct OpenConnection {
    address: IpAddr,
    open: Arc<Mutex<BTreeMap<IpAddr, usize>>>,
}

impl Connections {
    pub(crate) fn new(limits: &LimitsConfig) -> Self {
        Self {
            head_timeout: Some(limits.head_seconds).filter(|seconds| *seconds > 0).map(Duration::from_secs),
            max_per_address: Some(limits.max_connections_per_address).filter(|max| *max > 0),
            open: Arc::default(),
        }
    }

    /// Serves until `stop` completes, and then until all connections have ended. A connection that is idle by then is
    /// closed, others after their response.
    pub(crate) async fn serve(&self, listener: TcpListener, router: Router, stop: impl Future<Output = ()>) {
        let (stopping, stopped) = watch::channel(false);
        let mut stop = pin!(stop);
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = &mut stop => break,
            };
            match accepted {
                Ok((stream, peer)) => match self.admit(peer.ip()) {
                    Some(open) => {
                        let served = serve_connection(stream, router.clone(), self.head_timeout, stopped.clone());
                        tokio::spawn(async move {
                            served.await;
                            drop(open);
                        });
                    }
                    None => refuse(stream),
                },
                // The client has gone already.
                Err(e) if is_of_connection(&e) => {}
                Err(error) => {
                    tracing::error!(%error, "a connection cannot be accepted");
                    sleep(ACCEPT_BACKOFF).await;
                }
            }
        }
        drop((listener, stopped));
        let _ = stopping.send(true); // Fails only without connections.
        stopping.closed().await;
    }

    /// Counts a connection. `None` at the limit of its address.
    fn admit(&self, address: IpAddr) -> Option<OpenConnection> {
        let address = address.to_canonical();
        let mut open = self.open.lock();
        let count = open.entry(address).or_default();
        if self.max_per_address.is_some_and(|max| *count >= max) {
            return None;
        }
        *count += 1;
        Some(OpenConnection { address, open: Arc::clone(&self.open) })
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        let mut open = self.open.lock();
        if let Some(count) = open.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.address);
            }
        }
    }
}

/// Serves the requests of a connection until it ends.
async fn serve_connection(
    stream: TcpStream,
    router: Router,
    head_timeout: Option<Duration>,
    mut stopped: watch::Receiver<bool>,
) {
    // Small chunks of a stream are sent at once.
    let _ = stream.set_nodelay(true);
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(head_timeout);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = wait_for_stop(&mut stopped) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::trace!(%error, "a connection ended early");
    }
}

async fn wait_for_stop(stopped: &mut watch::Receiver<bool>) {
    // Fails if the server has been dropped, which is a stop, too.
    let _ = stopped.wait_for(|is_stopping| *is_stopping).await;
}

/// Answers a connection above the limit, without waiting for a slow client.
fn refuse(stream: TcpStream) {
    if let Ok(mut stream) = stream.into_std() {
        let _ = stream.write(REFUSAL);
    }
}

fn is_of_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
