//! Separate servers for tests that kill a server, read its log or need a replica. They are started with the programs in
//! the folder `WITH_POSTGRES_BIN`.

use std::{
    collections::hash_map::RandomState,
    env, fs,
    hash::BuildHasher,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// Maximum time until a server accepts connections.
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// Returns true if the programs of the server are available.
pub(crate) fn can_start() -> bool {
    env::var_os("WITH_POSTGRES_BIN").is_some()
}

/// The ports of the servers: below those that the system chooses from, which are 32768 to 60999 on Linux.
const FIRST_PORT: u16 = 16_000;
const PORTS: u16 = 16_000;

/// A running server. It is stopped, and its data is deleted, when this value is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    folder: PathBuf,
    port: u16,
    settings: &'static str,
    process: Option<Child>,
}

/// Returns the command of a server program, run as a user that may run it.
fn program(name: &str, folder: &Path) -> Command {
    let prefix = env::var("WITH_POSTGRES_AS").unwrap_or_default();
    let path = Path::new(&env::var("WITH_POSTGRES_BIN").unwrap()).join(name);
    let mut words = prefix.split_whitespace();
    let mut command = match words.next() {
        Some(first) => {
            let mut command = Command::new(first);
            command.args(words).arg(path);
            command
        }
        None => Command::new(path),
    };
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Creates an empty folder that belongs to the user of the server.
fn create_folder() -> PathBuf {
    let prefix = env::var("WITH_POSTGRES_AS").unwrap_or_default();
    let line = format!("{prefix} mktemp -d /tmp/memory-postgres.XXXXXX");
    let mut words = line.split_whitespace();
    let output = Command::new(words.next().unwrap()).args(words).output().unwrap();
    assert!(output.status.success());
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
}

/// Returns a random port on which no program listens. It is not one of those that the system gives to programs that
/// ask for any: a server keeps its port while it is killed and started again.
fn free_port() -> u16 {
    loop {
        let random = RandomState::new().hash_one(std::process::id());
        let port = FIRST_PORT + u16::try_from(random % u64::from(PORTS)).unwrap();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

impl Server {
    /// Starts a new, empty server with these settings (`-c name=value …`).
    pub(crate) fn new(settings: &'static str) -> Self {
        let folder = create_folder();
        let mut initdb = program("initdb", &folder);
        initdb.args(["-D", "data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]);
        assert!(initdb.status().unwrap().success());
        Self::on_new_port(folder, settings)
    }

    /// Starts a streaming replica of this server.
    pub(crate) fn replica(&self) -> Self {
        let folder = create_folder();
        let mut copy = program("pg_basebackup", &folder);
        copy.args(["-D", "data", "-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", "postgres"]);
        copy.args(["-R", "-X", "stream", "-c", "fast", "--no-sync"]);
        assert!(copy.status().unwrap().success());
        Self::on_new_port(folder, self.settings)
    }

    /// Starts a server on the data in this folder. Another program may take its port before it does; the next attempt
    /// is on another port.
    fn on_new_port(folder: PathBuf, settings: &'static str) -> Self {
        let mut server = Self { folder, port: 0, settings, process: None };
        let deadline = Instant::now() + START_TIMEOUT;
        while Instant::now() < deadline {
            server.port = free_port();
            if server.try_start() {
                return server;
            }
        }
        panic!("the server does not start: {}", server.log());
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres?sslmode=disable", self.port)
    }

    /// Starts the server on its existing data. Repeats this until the processes of a killed server have ended.
    pub(crate) fn start(&mut self) {
        let deadline = Instant::now() + START_TIMEOUT;
        while Instant::now() < deadline {
            if self.try_start() {
                return;
            }
        }
        panic!("the server does not start: {}", self.log());
    }

    /// Starts the server, and waits until it accepts connections. Returns false if its process ends.
    fn try_start(&mut self) -> bool {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.log_file()).unwrap();
        let mut command = program("postgres", &self.folder);
        command.args(["-D", "data", "-p", &self.port.to_string(), "-c", "listen_addresses=127.0.0.1"]);
        command.args(["-c", "unix_socket_directories=", "-c", "max_connections=50"]);
        command.args(self.settings.split_whitespace()).stderr(log);
        let mut process = command.spawn().unwrap();
        while process.try_wait().unwrap().is_none() {
            if self.is_ready() {
                self.process = Some(process);
                return true;
            }
            pause();
        }
        false
    }

    fn is_ready(&self) -> bool {
        let state = fs::read_to_string(self.folder.join("data/postmaster.pid")).unwrap_or_default();
        let ready = state.lines().nth(7).is_some_and(|line| line.starts_with("ready"));
        ready && TcpStream::connect(("127.0.0.1", self.port)).is_ok()
    }

    /// Kills the server, without a shutdown. Waits until its other processes have ended too, at most 30 seconds: they
    /// may answer a statement before they notice the death of the server.
    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            let children = output_of("pgrep", &["-P", &process.id().to_string()]);
            process.kill().unwrap();
            process.wait().unwrap();
            let children = children.split_whitespace().collect::<Vec<_>>().join(",");
            let deadline = Instant::now() + Duration::from_secs(30);
            // A process that has ended is listed as defunct (Z) until another one has read its status.
            let states = || output_of("ps", &["-o", "stat=", "-p", &children]);
            let is_running = || states().lines().any(|state| !state.trim().starts_with('Z'));
            while !children.is_empty() && is_running() && Instant::now() < deadline {
                pause();
            }
        }
    }

    /// Returns the server's log.
    pub(crate) fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.log_file()).unwrap_or_default()).into_owned()
    }

    fn log_file(&self) -> PathBuf {
        self.folder.join("log")
    }
}

/// Returns the standard output of a command; nothing if it cannot be run.
fn output_of(command: &str, arguments: &[&str]) -> String {
    let output = Command::new(command).args(arguments).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

/// Waits for 20 ms. The lints of this project do not allow `thread::sleep`.
fn pause() {
    std::thread::park_timeout(Duration::from_millis(20));
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
