//! A proxy in front of Postgres that injects a fault at a chosen message of the client.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
};

const BUFFER_BYTES: usize = 64 << 10;
/// The number of steps of a proxy that injects no fault.
const DISARMED: i64 = -1;

/// The fault that is injected at the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The connection is closed, and the message is not sent.
    CutBefore,
    /// The message is sent, and the connection is closed when the server has answered. The client gets no answer: a
    /// commit has taken effect, and the client cannot know.
    CutAfter,
    /// The message is sent, and the server is killed and started again.
    Kill,
}

impl Fault {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::CutBefore => "the_connection_is_lost_before_a_message",
            Self::CutAfter => "the_connection_is_lost_after_a_message",
            Self::Kill => "the_server_is_killed",
        }
    }
}

type Kill = Arc<dyn Fn() + Send + Sync>;

struct Control {
    server: String,
    /// Number of messages before the fault.
    steps: AtomicI64,
    fault: std::sync::Mutex<Fault>,
    is_injected: AtomicBool,
    kill: std::sync::Mutex<Option<Kill>>,
}

pub(crate) struct Proxy {
    port: u16,
    control: Arc<Control>,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy").field("port", &self.port).finish_non_exhaustive()
    }
}

/// Returns host and port of a URL.
fn address(url: &str) -> &str {
    let start = url.rfind('@').unwrap() + 1;
    &url[start..start + url[start..].find('/').unwrap()]
}

impl Proxy {
    /// Starts a proxy to the server of this URL.
    pub(crate) async fn start(url: &str) -> Self {
        let control = Arc::new(Control {
            server: address(url).to_owned(),
            steps: AtomicI64::new(DISARMED),
            fault: std::sync::Mutex::new(Fault::CutBefore),
            is_injected: AtomicBool::new(false),
            kill: std::sync::Mutex::new(None),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let accepting = Arc::clone(&control);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(relay(client, Arc::clone(&accepting)));
            }
        });
        Self { port, control }
    }

    /// Sets the function that kills and restarts the server.
    pub(crate) fn with_kill(self, kill: impl Fn() + Send + Sync + 'static) -> Self {
        *self.control.kill.lock().unwrap() = Some(Arc::new(kill));
        self
    }

    /// Returns the URL with this proxy in place of the server.
    pub(crate) fn url(&self, url: &str) -> String {
        url.replace(address(url), &format!("127.0.0.1:{}", self.port))
    }

    /// Injects a fault after this number of messages.
    pub(crate) fn arm(&self, fault: Fault, steps: u32) {
        *self.control.fault.lock().unwrap() = fault;
        self.control.is_injected.store(false, Ordering::SeqCst);
        self.control.steps.store(i64::from(steps), Ordering::SeqCst);
    }

    /// Injects no fault from now on. Returns true if one was injected.
    pub(crate) fn disarm(&self) -> bool {
        self.control.steps.store(DISARMED, Ordering::SeqCst);
        self.control.is_injected.load(Ordering::SeqCst)
    }

    /// Counts the messages from now on, without a fault.
    pub(crate) fn start_count(&self) {
        self.arm(Fault::CutBefore, u32::MAX);
    }

    /// Returns the number of messages since [`start_count`](Self::start_count).
    pub(crate) fn finish_count(&self) -> u32 {
        let rest = self.control.steps.swap(DISARMED, Ordering::SeqCst);
        u32::try_from(i64::from(u32::MAX) - rest).unwrap()
    }
}

impl Control {
    /// Counts a message. Returns the fault if it is the one.
    fn next_fault(&self) -> Option<Fault> {
        let count = |steps: i64| (steps != DISARMED).then_some(steps - 1);
        let steps = self.steps.fetch_update(Ordering::SeqCst, Ordering::SeqCst, count).ok()?;
        if steps > 0 {
            return None;
        }
        self.is_injected.store(true, Ordering::SeqCst);
        Some(*self.fault.lock().unwrap())
    }
}

/// Relays one connection until it is closed.
async fn relay(client: TcpStream, control: Arc<Control>) {
    let Ok(server) = TcpStream::connect(&control.server).await else { return };
    let _ = client.set_nodelay(true).and(server.set_nodelay(true));
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    // True while answers of the server are dropped.
    let (mute, is_muted) = watch::channel(false);
    let answers = tokio::spawn(relay_answers(from_server, to_client, is_muted));
    relay_messages(from_client, to_server, control, mute).await;
    answers.abort();
}

async fn relay_messages(
    mut client: OwnedReadHalf,
    mut server: OwnedWriteHalf,
    control: Arc<Control>,
    mute: watch::Sender<bool>,
) {
    let mut buffer = vec![0; BUFFER_BYTES];
    while let Ok(length @ 1..) = client.read(&mut buffer).await {
        let fault = control.next_fault();
        if fault == Some(Fault::CutBefore) {
            return;
        }
        if fault == Some(Fault::CutAfter) {
            mute.send_replace(true);
        }
        if server.write_all(&buffer[..length]).await.is_err() {
            return;
        }
        match fault {
            None | Some(Fault::CutBefore) => {}
            Some(Fault::CutAfter) => {
                // The other side ends when it has dropped the answer.
                mute.closed().await;
                return;
            }
            Some(Fault::Kill) => {
                let kill = control.kill.lock().unwrap().clone().unwrap();
                tokio::task::spawn_blocking(move || kill()).await.unwrap();
                return;
            }
        }
    }
}

async fn relay_answers(mut server: OwnedReadHalf, mut client: OwnedWriteHalf, is_muted: watch::Receiver<bool>) {
    let mut buffer = vec![0; BUFFER_BYTES];
    while let Ok(length @ 1..) = server.read(&mut buffer).await {
        if *is_muted.borrow() || client.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}
