//! The async runtime that an engine is built on.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use memory_engine_core::{Error, ErrorKind, Result};
use memory_engine_indexing::current_runtime;

/// Returns an error if the current tokio runtime has no timers.
///
/// # Errors
/// `Unsupported` outside of a tokio runtime, and on one without timers.
pub fn check_timers(operation: &'static str) -> Result<()> {
    current_runtime(operation)?;
    // Tokio offers no other way to ask: making a timer panics on a runtime without them.
    catch_unwind(AssertUnwindSafe(|| drop(tokio::time::sleep(Duration::ZERO)))).map_err(|_| {
        let message = "the tokio runtime has no timers; call `enable_all` or `enable_time` on its builder";
        Error::new(ErrorKind::Unsupported, operation, message)
    })
}

/// Returns an error if the current tokio runtime has no network.
///
/// # Errors
/// `Unsupported` on a runtime without IO; `Unavailable` if the machine gives no socket.
#[cfg(feature = "postgres")]
pub(crate) fn check_network(operation: &'static str) -> Result<()> {
    let no_socket = |e| Error::new(ErrorKind::Unavailable, operation, "the system gives no socket").with_source(e);
    let socket = std::net::UdpSocket::bind((std::net::Ipv4Addr::LOCALHOST, 0)).map_err(no_socket)?;
    socket.set_nonblocking(true).map_err(no_socket)?;
    // Tokio offers no other way to ask: registering a socket panics on a runtime without IO.
    let registered = catch_unwind(AssertUnwindSafe(|| tokio::net::UdpSocket::from_std(socket).map(drop)));
    let message = "the tokio runtime has no IO; call `enable_all` or `enable_io` on its builder";
    registered.map_err(|_| Error::new(ErrorKind::Unsupported, operation, message))?.map_err(no_socket)
}
