//! Measures the cost of the chat gateway, and checks that it loses nothing: many chats at once against a fast
//! service, directly and through the gateway, and then with the gateway killed in the middle.
//!
//! ```text
//! cargo run --release -p memory-engine-server --example load -- [CHATS=200] [ROUNDS=10] [PAUSE_MS=1000]
//! ```
//!
//! Each chat sends a round, reads the stream to its end, pauses as a person does (`PAUSE_MS` on average), and sends
//! the next one with the whole history. Service, gateway and chats share this machine: the service and the chats in
//! this process, the gateway in one of its own.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a measurement that cannot go on stops")]

use std::{
    collections::BTreeSet,
    convert::Infallible,
    env,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::{Body, Bytes},
    http::{HeaderMap, Method},
    response::IntoResponse,
    routing::post,
};
use futures::{future::join_all, stream};
use memory_engine::{
    MemoryEngine, ScanQuery, Scope,
    http_models::{Endpoint, Relay, RelayOptions, RelayRequest},
    sqlite::SqliteOptions,
};
use memory_engine_server::{Access, Config, Gateway, GatewayOptions, Guard, Server, Upstream};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{net::TcpListener, runtime::Runtime};

/// A fast model service: it sends twelve chunks at once.
async fn service(body: Bytes) -> impl IntoResponse {
    let body: Value = serde_json::from_slice(&body).unwrap();
    let question = body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
    let piece = |text: String| {
        Bytes::from(format!("data: {}\n\n", json!({ "choices": [{ "index": 0, "delta": { "content": text } }] })))
    };
    let mut pieces: Vec<Bytes> = (0..11).map(|i| piece(format!("第{i}段，"))).collect();
    pieces.push(piece(format!("回答：{question}")));
    pieces.push(Bytes::from_static(
        b"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    ));
    let pieces = stream::iter(pieces.into_iter().map(Ok::<_, Infallible>));
    ([("content-type", "text/event-stream")], Body::from_stream(pieces))
}

async fn listen(router: Router) -> String {
    use axum::serve::ListenerExt;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    url
}

/// The gateway in a separate process, and its URL.
struct Process(Child, String);

impl Process {
    fn start(file: &Path, service: &str) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--gateway", file.to_str().unwrap(), service])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self(child, url.trim().to_owned())
    }

    /// Returns the current resident memory, in MB.
    fn resident(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok()).map_or(f64::NAN, |kb| kb / 1024.0)
    }

    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

async fn gateway(file: &str, service: &str) {
    let cache_bytes = Config::default().page_cache_bytes;
    let engine = MemoryEngine::builder()
        .sqlite_with(file, SqliteOptions::default().with_cache_bytes(cache_bytes))
        .build()
        .await
        .unwrap();
    let upstream = Upstream::new("fast", Endpoint::new(&format!("{service}/v1")).unwrap());
    let gateway = Gateway::new(engine.clone(), vec![upstream], GatewayOptions::default()).unwrap();
    let guard = Guard::open(Access::tenant("all", "load").unwrap());
    println!("{}", listen(Server::new(engine, guard).gateway(gateway).router()).await);
    std::future::pending().await
}

/// The results of a run.
#[derive(Debug, Default)]
struct Tally {
    first_byte: Vec<Duration>,
    end: Vec<Duration>,
    /// Completed replies, as session and text.
    answered: BTreeSet<(String, String)>,
    failed: usize,
}

struct Load {
    chats: usize,
    rounds: usize,
    pause: Duration,
}

impl Load {
    async fn run(&self, url: &str, run: &str) -> Tally {
        let relay = Relay::new(Endpoint::new(url).unwrap(), RelayOptions::default()).unwrap();
        let tally = Arc::new(Mutex::new(Tally::default()));
        let chats = (0..self.chats).map(|chat| {
            let (relay, tally) = (relay.clone(), tally.clone());
            let (rounds, pause, session) = (self.rounds, self.pause, format!("{run}-{chat}"));
            tokio::spawn(async move {
                let mut history = Vec::new();
                tokio::time::sleep(pause.mul_f64((chat * 37 % 100) as f64 / 100.0)).await;
                for round in 0..rounds {
                    let text = format!("第{round}轮：今天在{session}吃了番茄炒蛋，然后去公园散步 and read a book");
                    history.push(json!({ "role": "user", "content": text }));
                    let answer = send_round(&relay, &session, &history, &tally).await;
                    history.push(json!({ "role": "assistant", "content": answer }));
                    tokio::time::sleep(pause.mul_f64(0.5 + ((chat + round * 53) % 100) as f64 / 100.0)).await;
                }
            })
        });
        join_all(chats).await;
        Arc::try_unwrap(tally).unwrap().into_inner()
    }
}

/// Sends one round, reads the stream to its end, and returns the text of the reply.
async fn send_round(relay: &Relay, session: &str, history: &[Value], tally: &Mutex<Tally>) -> String {
    let mut headers = HeaderMap::new();
    headers.insert("x-user-id", session.parse().unwrap());
    headers.insert("x-session-id", session.parse().unwrap());
    let body = json!({ "model": "fast", "stream": true, "messages": history }).to_string();
    let path = ["v1", "chat", "completions"];
    let request = RelayRequest::new(Method::POST, &path).with_headers(headers).with_body(body);
    let started = Instant::now();
    let Ok(mut reply) = relay.send(&request, Duration::from_secs(20)).await else {
        tally.lock().failed += 1;
        return String::new();
    };
    let mut read = Vec::new();
    let mut first = None;
    let is_complete = loop {
        match reply.next().await {
            Ok(Some(bytes)) => {
                first.get_or_insert_with(|| started.elapsed());
                read.extend_from_slice(&bytes);
            }
            Ok(None) => break reply.status().is_success() && read.ends_with(b"data: [DONE]\n\n"),
            Err(_) => break false,
        }
    };
    let end = started.elapsed();
    let chunks = String::from_utf8_lossy(&read)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok())
        .collect::<Vec<_>>();
    let text: String = chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect();
    let mut tally = tally.lock();
    if is_complete {
        tally.first_byte.extend(first);
        tally.end.push(end);
        tally.answered.insert((session.to_owned(), text.clone()));
    } else {
        tally.failed += 1;
    }
    text
}

/// Returns a quantile (0 to 1) of the times, in milliseconds.
fn quantile_ms(times: &mut [Duration], quantile: f64) -> f64 {
    times.sort_unstable();
    let index = ((times.len() as f64 * quantile) as usize).min(times.len().saturating_sub(1));
    times.get(index).map_or(f64::NAN, |time| time.as_secs_f64() * 1000.0)
}

fn report(name: &str, tally: &mut Tally) -> [f64; 4] {
    let first_p50 = quantile_ms(&mut tally.first_byte, 0.5);
    let first_p99 = quantile_ms(&mut tally.first_byte, 0.99);
    let end_p50 = quantile_ms(&mut tally.end, 0.5);
    let end_p99 = quantile_ms(&mut tally.end, 0.99);
    println!(
        "{name:8} {:6} answers, {} failed; first byte p50 {first_p50:.2} ms, p99 {first_p99:.2} ms; \
         end p50 {end_p50:.2} ms, p99 {end_p99:.2} ms",
        tally.end.len(),
        tally.failed
    );
    [first_p50, first_p99, end_p50, end_p99]
}

/// Returns the number of replies that are not in the file.
async fn count_missing(file: &Path, answered: &BTreeSet<(String, String)>) -> usize {
    let engine = MemoryEngine::builder().sqlite(file).background(false).build().await.unwrap();
    let mut stored = BTreeSet::new();
    let scope = Scope::tenant_wide("load").unwrap();
    let mut query = ScanQuery::oldest(1000);
    loop {
        let page = engine.scan(&scope, &query).await.unwrap();
        stored.extend(page.records.into_iter().map(|r| (r.scope.session().unwrap_or_default().to_owned(), r.text)));
        match page.next {
            Some(next) => query = query.with_after(Some(next)),
            None => return answered.difference(&stored).count(),
        }
    }
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let runtime = Runtime::new().unwrap();
    if let [flag, file, service] = arguments.as_slice()
        && flag == "--gateway"
    {
        return runtime.block_on(gateway(file, service));
    }
    let number = |i: usize, default: usize| arguments.get(i).map_or(default, |text| text.parse().unwrap());
    let load =
        Load { chats: number(0, 200), rounds: number(1, 10), pause: Duration::from_millis(number(2, 1000) as u64) };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("memory.db");
    runtime.block_on(async {
        let service = listen(Router::new().route("/v1/chat/completions", post(service))).await;
        let process = Process::start(&file, &service);
        println!(
            "{} chats, {} rounds each, a pause of {} ms; the gateway starts with {:.0} MB",
            load.chats,
            load.rounds,
            load.pause.as_millis(),
            process.resident()
        );
        // Connections and caches are set up before the measurement.
        let warm_up = Load { chats: 20, rounds: 2, pause: Duration::from_millis(50) };
        warm_up.run(&service, "w").await;
        warm_up.run(&process.1, "w").await;
        let direct = report("direct", &mut load.run(&service, "d").await);
        let mut through_gateway = load.run(&process.1, "g").await;
        let gateway = report("gateway", &mut through_gateway);
        let overhead: Vec<f64> = gateway.iter().zip(direct).map(|(gateway, direct)| gateway - direct).collect();
        println!(
            "overhead: first byte p50 {:.2} ms, p99 {:.2} ms; end p50 {:.2} ms, p99 {:.2} ms; {:.0} MB now",
            overhead[0],
            overhead[1],
            overhead[2],
            overhead[3],
            process.resident()
        );

        // The same load again, with the gateway killed in the middle.
        let url = process.1.clone();
        let middle = load.pause.mul_f64(load.rounds as f64 / 2.0);
        let (killed, ()) = tokio::join!(load.run(&url, "k"), async {
            tokio::time::sleep(middle).await;
            process.kill();
        });
        let restarted = Process::start(&file, &service);
        let after = load.run(&restarted.1, "a").await;
        restarted.kill();
        println!("killed: {} answers before, {} after the restart", killed.answered.len(), after.answered.len());
        for (name, tally) in [("whole run", &through_gateway), ("killed run", &killed), ("after", &after)] {
            println!(
                "lost in {name}: {} of {} answers",
                count_missing(&file, &tally.answered).await,
                tally.answered.len()
            );
        }
    });
}
