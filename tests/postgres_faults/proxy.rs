//! A proxy in front of Postgres that injects a fault at a chosen message of the client.

use std::{fmt, sync::Arc};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
};

const BUFFER_BYTES: usize = 64 << 10;

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
    plan: watch::Sender<Plan>,
    kill: std::sync::Mutex<Option<Kill>>,
}

/// What the proxy is to do, and has done.
#[derive(Debug, Clone, Copy)]
struct Plan {
    fault: Fault,
    /// Number of messages before the fault; `None`: messages are not counted, and no fault is injected.
    steps: Option<u32>,
    is_injected: bool,
    /// True while the server is killed and started again.
    is_killing: bool,
}

impl Plan {
    fn new(fault: Fault, steps: Option<u32>) -> Self {
        Self { fault, steps, is_injected: false, is_killing: false }
    }
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
            plan: watch::Sender::new(Plan::new(Fault::CutBefore, None)),
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
        self.control.plan.send_replace(Plan::new(fault, Some(steps)));
    }

    /// Injects no fault from now on. Returns true if one was injected, when a server that it killed is back: a verb can
    /// return before, if it does not wait for the answer to its last message.
    pub(crate) async fn disarm(&self) -> bool {
        self.control.plan.send_modify(|plan| plan.steps = None);
        self.control.plan.subscribe().wait_for(|plan| !plan.is_killing).await.unwrap().is_injected
    }

    /// Counts the messages from now on, without a fault.
    pub(crate) fn start_count(&self) {
        self.arm(Fault::CutBefore, u32::MAX);
    }

    /// Returns the number of messages since [`start_count`](Self::start_count).
    pub(crate) fn finish_count(&self) -> u32 {
        let plan = self.control.plan.send_replace(Plan::new(Fault::CutBefore, None));
        u32::MAX - plan.steps.unwrap()
    }
}

impl Control {
    /// Counts a message. Returns the fault if it is the one.
    fn next_fault(&self) -> Option<Fault> {
        let mut fault = None;
        self.plan.send_modify(|plan| match plan.steps {
            None => {}
            Some(0) => {
                fault = Some(plan.fault);
                let is_killing = plan.fault == Fault::Kill;
                *plan = Plan { steps: None, is_injected: true, is_killing, ..*plan };
            }
            Some(steps) => plan.steps = Some(steps - 1),
        });
        fault
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
        // A kill is carried out in any case: `disarm` waits for it.
        if server.write_all(&buffer[..length]).await.is_err() && fault != Some(Fault::Kill) {
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
                control.plan.send_modify(|plan| plan.is_killing = false);
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
