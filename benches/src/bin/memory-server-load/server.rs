//! The process of the server.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use tokio::time::sleep;

use crate::connection::Connection;

/// Units of the CPU times in `/proc/PID/stat`, per second.
const TICKS_PER_SECOND: f64 = 100.0;
const START_TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// A running `memory serve`. It is stopped when dropped.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    child: Child,
    pub(crate) address: String,
}

impl ServerProcess {
    /// Starts the program with a store in this folder, in front of an upstream, and waits until it answers.
    pub(crate) async fn start(program: &Path, folder: &Path, upstream: &str, embedder: &str) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let address = format!("127.0.0.1:{port}");
        let config = folder.join("memory.toml");
        let db: PathBuf = folder.join("memory.db");
        fs::write(
            &config,
            format!(
                "db = {db:?}\nlisten = \"{address}\"\nembedder = \"{embedder}\"\n[[gateway.upstreams]]\n\
                 name = \"scripted\"\nbase_url = \"http://{upstream}/v1\"\n"
            ),
        )?;
        let log = fs::File::create(folder.join("server.log"))?;
        let child = Command::new(program)
            .arg("serve")
            .arg("--config")
            .arg(&config)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .with_context(|| format!("{} cannot be started", program.display()))?;
        let server = Self { child, address };
        let started = Instant::now();
        loop {
            if let Ok(response) = Connection::new(&server.address).get("/ready").await
                && response.status == 200
            {
                return Ok(server);
            }
            let log = || fs::read_to_string(folder.join("server.log")).unwrap_or_default();
            ensure!(started.elapsed() < START_TIMEOUT, "the server does not answer:\n{}", log());
            sleep(POLL_INTERVAL).await;
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the seconds that all threads of the server have computed.
    pub(crate) fn cpu_s(&self) -> Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The name of the program, in parentheses, may contain spaces.
        let after_name = stat.rsplit_once(')').map_or("", |(_, after)| after);
        let ticks = after_name.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
        Ok(ticks.sum::<Result<u64, _>>()? as f64 / TICKS_PER_SECOND)
    }

    /// Returns the resident set of the server, in MiB.
    pub(crate) fn resident_mib(&self) -> Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        Ok(kib.context("no VmRSS")? / 1024.0)
    }

    /// Waits until the background jobs are done.
    pub(crate) async fn wait_until_idle(&self) -> Result<()> {
        let mut connection = Connection::new(&self.address);
        loop {
            let response = connection.get("/metrics").await?;
            ensure!(response.status == 200, "/metrics answered {}", response.status);
            let text = String::from_utf8_lossy(&response.body);
            let waiting = text.lines().filter(|line| line.starts_with("memory_queue_waiting{"));
            if waiting.filter_map(|line| line.rsplit(' ').next()?.trim().parse::<u64>().ok()).sum::<u64>() == 0 {
                return Ok(());
            }
            sleep(POLL_INTERVAL).await;
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
