//! Measures `memory serve` under load: the latency that the chat gateway adds, mem0 searches per second, and the CPU
//! time and memory of the server.
//!
//! Chats alternate between the gateway and a scripted upstream without it. The difference of the percentiles estimates
//! the added latency. The clients and the upstream share the processors with the server, so the CPU time per request is
//! more reliable than wall-clock times. Linux only. Prints a table and, on request, writes JSON.

mod chats;
mod connection;
mod searches;
mod server;
mod texts;
mod upstream;

use std::{fs, path::PathBuf, time::Duration};

use anyhow::{Context, Result};
use clap::Parser;
use memory_engine_benches::{
    process,
    times::{percentile, rounded},
};
use serde_json::{Value, json};

use chats::{ChatLoad, ChatTimes};
use searches::SearchRoute;
use server::ServerProcess;
use upstream::Script;

/// Runs chats and searches against a server, and prints the measurements.
#[derive(Debug, Parser)]
struct Arguments {
    /// The program `memory`; default: next to this program
    #[arg(long)]
    memory: Option<PathBuf>,
    /// The embedder of the server
    #[arg(long, default_value = "auto")]
    embedder: String,
    /// Number of turns stored before the measurement
    #[arg(long, default_value_t = 6000)]
    turns: usize,
    /// Number of users
    #[arg(long, default_value_t = 300, value_parser = at_least_one)]
    users: usize,
    /// Number of conversations at once; 0 for no chats
    #[arg(long, default_value_t = 200)]
    chats: usize,
    /// Number of rounds of chats, each with and without the gateway
    #[arg(long, default_value_t = 3, value_parser = at_least_one)]
    rounds: usize,
    /// Time of the chats of a round on each side, in seconds
    #[arg(long, default_value_t = 5.0, value_parser = positive)]
    chat_seconds: f64,
    /// Time between a reply and the next message of a conversation, in milliseconds
    #[arg(long, default_value_t = 0)]
    pause_ms: u64,
    /// Time of the upstream until the first chunk, in milliseconds
    #[arg(long, default_value_t = 200)]
    first_byte_ms: u64,
    /// Time of the upstream between chunks, in milliseconds
    #[arg(long, default_value_t = 10)]
    chunk_ms: u64,
    /// Number of chunks of a reply
    #[arg(long, default_value_t = 50)]
    chunks: usize,
    /// Number of clients that search at once; 0 for no searches
    #[arg(long, default_value_t = 32)]
    clients: usize,
    /// Time of the searches on each route, in seconds
    #[arg(long, default_value_t = 8.0, value_parser = positive)]
    search_seconds: f64,
    /// Prints the process id of the server, for a profiler
    #[arg(long)]
    pid: bool,
    /// File for the results
    #[arg(long)]
    json: Option<PathBuf>,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| *number > 0).ok_or_else(|| "expected a number of at least 1".to_owned())
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "expected a number above 0".to_owned())
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let program = match &arguments.memory {
        Some(program) => program.clone(),
        None => std::env::current_exe()?.with_file_name("memory"),
    };
    let folder = tempfile::tempdir().context("cannot create a temporary directory")?;
    let script = Script {
        first_byte: Duration::from_millis(arguments.first_byte_ms),
        interval: Duration::from_millis(arguments.chunk_ms),
        chunks: arguments.chunks.max(1),
    };
    let upstream = script.serve().await?;
    let server = ServerProcess::start(&program, folder.path(), &upstream, &arguments.embedder).await?;
    if arguments.pid {
        eprintln!("process id of the server: {}", server.pid());
    }
    searches::store_turns(&server.address, arguments.users, arguments.turns).await?;
    server.wait_until_idle().await?;
    let mut rows = Vec::new();
    println!("p50 and p99 are the time of a search, or the time to the first byte of a chat.\n");
    println!(
        "| workload | requests/s | p50 ms | p99 ms | end p50 ms | end p99 ms | server CPU ms | client CPU ms | MiB |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    if arguments.clients > 0 {
        for route in SearchRoute::ALL {
            rows.push(measure_searches(&server, &arguments, route).await?);
        }
    }
    if arguments.chats > 0 {
        rows.extend(measure_chats(&server, &arguments, script, &upstream).await?);
    }
    if let Some(path) = &arguments.json {
        let report = json!({
            "embedder": arguments.embedder, "turns": arguments.turns, "users": arguments.users,
            "chats": arguments.chats, "rounds": arguments.rounds, "chat_seconds": arguments.chat_seconds,
            "pause_ms": arguments.pause_ms, "first_byte_ms": arguments.first_byte_ms, "chunk_ms": arguments.chunk_ms,
            "chunks": arguments.chunks, "clients": arguments.clients, "search_seconds": arguments.search_seconds,
            "rows": rows,
        });
        fs::write(path, format!("{report:#}\n")).with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(())
}

/// The CPU seconds of the server and of this program.
#[derive(Debug, Clone, Copy, Default)]
struct CpuTimes {
    server: f64,
    client: f64,
}

impl CpuTimes {
    fn now(server: &ServerProcess) -> Result<Self> {
        Ok(Self { server: server.cpu_s()?, client: process::cpu_s() })
    }

    fn since(self, before: Self) -> Self {
        Self { server: self.server - before.server, client: self.client - before.client }
    }

    fn plus(self, other: Self) -> Self {
        Self { server: self.server + other.server, client: self.client + other.client }
    }
}

/// The chats of all rounds on one side: through the gateway, or directly.
#[derive(Debug, Default)]
struct ChatMeasurement {
    times: ChatTimes,
    cpu: CpuTimes,
}

impl ChatMeasurement {
    /// Runs the chats of a round, and waits for the background jobs of the server.
    async fn add_round(&mut self, server: &ServerProcess, load: &ChatLoad) -> Result<()> {
        let before = CpuTimes::now(server)?;
        let measured = load.run().await?;
        server.wait_until_idle().await?;
        self.cpu = self.cpu.plus(CpuTimes::now(server)?.since(before));
        self.times.first_byte.extend(measured.first_byte);
        self.times.end.extend(measured.end);
        self.times.seconds += measured.seconds;
        Ok(())
    }

    fn print(&self, workload: &str, resident_mib: Option<f64>) -> Result<Value> {
        let times = &self.times;
        Row {
            workload,
            requests: times.end.len(),
            seconds: times.seconds,
            times: &times.first_byte,
            ends: Some(&times.end),
            cpu: self.cpu,
            resident_mib,
        }
        .print()
    }
}

/// Two percentiles of times, in milliseconds.
#[derive(Debug, Clone, Copy)]
struct Percentiles {
    p50_ms: f64,
    p99_ms: f64,
}

impl Percentiles {
    fn of(times: &[f64]) -> Self {
        Self { p50_ms: rounded(percentile(times, 0.5)), p99_ms: rounded(percentile(times, 0.99)) }
    }

    fn minus(self, other: Self) -> Self {
        Self { p50_ms: rounded(self.p50_ms - other.p50_ms), p99_ms: rounded(self.p99_ms - other.p99_ms) }
    }
}

/// A row of the table.
struct Row<'t> {
    workload: &'t str,
    requests: usize,
    seconds: f64,
    /// Time of each request in milliseconds; of a chat, until the first byte.
    times: &'t [f64],
    /// Time of each chat until its end, in milliseconds.
    ends: Option<&'t [f64]>,
    cpu: CpuTimes,
    resident_mib: Option<f64>,
}

async fn measure_searches(server: &ServerProcess, arguments: &Arguments, route: SearchRoute) -> Result<Value> {
    let run = |seconds| {
        let duration = Duration::from_secs_f64(seconds);
        searches::search(&server.address, route, arguments.users, arguments.clients, duration)
    };
    // Fills caches.
    run(arguments.search_seconds.min(1.0)).await?;
    let before = CpuTimes::now(server)?;
    let searched = run(arguments.search_seconds).await?;
    let cpu = CpuTimes::now(server)?.since(before);
    let with_results = searched.with_results as f64 / searched.times.len() as f64;
    let row = Row {
        workload: route.path(),
        requests: searched.times.len(),
        seconds: searched.seconds,
        times: &searched.times,
        ends: None,
        cpu,
        resident_mib: Some(server.resident_mib()?),
    };
    let mut row = row.print()?;
    row["with_results"] = json!(rounded(with_results));
    Ok(row)
}

/// Runs chats through the gateway and without it, alternately. The CPU time of the server includes that of the background
/// jobs of the stored turns.
async fn measure_chats(
    server: &ServerProcess,
    arguments: &Arguments,
    script: Script,
    upstream: &str,
) -> Result<Vec<Value>> {
    let reply = script.first_byte + script.interval * (arguments.chunks.max(1) as u32 - 1);
    let load = |address: &str, round| ChatLoad {
        address: address.to_owned(),
        conversations: arguments.chats,
        users: arguments.users,
        pause: Duration::from_millis(arguments.pause_ms),
        spread: reply + Duration::from_millis(arguments.pause_ms),
        duration: Duration::from_secs_f64(arguments.chat_seconds),
        round,
    };
    let mut direct = ChatMeasurement::default();
    let mut gateway = ChatMeasurement::default();
    let mut resident = Vec::new();
    for round in 0..arguments.rounds {
        direct.add_round(server, &load(upstream, round)).await?;
        gateway.add_round(server, &load(&server.address, round)).await?;
        resident.push(rounded(server.resident_mib()?));
    }
    let direct_row = direct.print("chats, direct", None)?;
    let mut gateway_row = gateway.print("chats, gateway", Some(server.resident_mib()?))?;
    gateway_row["server_mib_after_each_round"] = json!(resident);
    let first_byte = Percentiles::of(&gateway.times.first_byte).minus(Percentiles::of(&direct.times.first_byte));
    let end = Percentiles::of(&gateway.times.end).minus(Percentiles::of(&direct.times.end));
    println!(
        "| added | | {:.1} | {:.1} | {:.1} | {:.1} | | | |",
        first_byte.p50_ms, first_byte.p99_ms, end.p50_ms, end.p99_ms
    );
    let added = json!({
        "workload": "added", "p50_ms": first_byte.p50_ms, "p99_ms": first_byte.p99_ms, "end_p50_ms": end.p50_ms,
        "end_p99_ms": end.p99_ms,
    });
    Ok(vec![direct_row, gateway_row, added])
}

impl Row<'_> {
    /// Prints the row, and returns it for the JSON file.
    fn print(&self) -> Result<Value> {
        let per_request = |seconds: f64| rounded(seconds * 1e3 / self.requests as f64);
        let server_ms = per_request(self.cpu.server);
        let client_ms = per_request(self.cpu.client);
        let times = Percentiles::of(self.times);
        let ends = self.ends.map(Percentiles::of);
        let end_p50 = ends.map(|ends| ends.p50_ms);
        let end_p99 = ends.map(|ends| ends.p99_ms);
        let shown = |value: Option<f64>| value.map(|value| format!("{value:.1}")).unwrap_or_default();
        let rate = self.requests as f64 / self.seconds;
        println!(
            "| {} | {rate:.0} | {:.1} | {:.1} | {} | {} | {server_ms:.2} | {client_ms:.2} | {} |",
            self.workload,
            times.p50_ms,
            times.p99_ms,
            shown(end_p50),
            shown(end_p99),
            shown(self.resident_mib),
        );
        Ok(json!({
            "workload": self.workload, "requests": self.requests, "requests_per_s": rounded(rate),
            "p50_ms": times.p50_ms, "p99_ms": times.p99_ms, "end_p50_ms": end_p50, "end_p99_ms": end_p99,
            "server_cpu_ms": server_ms, "client_cpu_ms": client_ms, "server_mib": self.resident_mib.map(rounded),
        }))
    }
}
