//! The memories of the users, and searches for them with the routes of mem0.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;
use tokio::task::JoinSet;

use crate::{connection::Connection, texts};

/// Number of concurrent requests that store memories.
const WRITERS: usize = 16;

/// A route that searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SearchRoute {
    /// `POST /v3/memories/search/`.
    Platform,
    /// `POST /search`.
    OpenSource,
}

/// The searches of a run.
#[derive(Debug, Default)]
pub(crate) struct SearchTimes {
    /// Time of each search in milliseconds.
    pub(crate) times: Vec<f64>,
    /// Number of searches that found something.
    pub(crate) with_results: usize,
    pub(crate) seconds: f64,
}

impl SearchRoute {
    pub(crate) const ALL: [Self; 2] = [Self::Platform, Self::OpenSource];

    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Platform => "/v3/memories/search/",
            Self::OpenSource => "/search",
        }
    }

    fn body(self, user: usize, number: usize) -> String {
        let query = texts::question(user, number);
        let user = texts::user(user);
        match self {
            Self::Platform => json!({ "query": query, "filters": { "user_id": user }, "top_k": 10 }).to_string(),
            Self::OpenSource => json!({ "query": query, "user_id": user, "top_k": 10 }).to_string(),
        }
    }
}

/// Stores this many turns of these users.
pub(crate) async fn store_turns(address: &str, users: usize, turns: usize) -> Result<()> {
    let mut tasks = JoinSet::new();
    for writer in 0..WRITERS {
        let mut connection = Connection::new(address);
        tasks.spawn(async move {
            // One session of at most ten turns per request.
            for turn in (writer..turns).step_by(WRITERS) {
                let (user, number) = (turn % users, turn / users);
                let body = json!({
                    "user_id": texts::user(user),
                    "run_id": format!("earlier-{}", number / 10),
                    "messages": [{ "role": "user", "content": texts::statement(user, number) }],
                });
                let response = connection.post("/memories", "", &body.to_string()).await?;
                let text = String::from_utf8_lossy(&response.body);
                ensure!(response.status == 200, "storing a turn was answered with {}: {text}", response.status);
            }
            Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

/// Searches with this many clients, each over one connection.
pub(crate) async fn search(
    address: &str,
    route: SearchRoute,
    users: usize,
    clients: usize,
    duration: Duration,
) -> Result<SearchTimes> {
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for client in 0..clients {
        let mut connection = Connection::new(address);
        tasks.spawn(async move {
            let mut of_one = SearchTimes::default();
            let mut number = client;
            while started.elapsed() < duration {
                let body = route.body(number * 7 % users, number);
                let response = connection.post(route.path(), "", &body).await?;
                let text = String::from_utf8_lossy(&response.body);
                ensure!(response.status == 200, "a search was answered with {}: {text}", response.status);
                of_one.times.push((response.end - response.sent).as_secs_f64() * 1e3);
                of_one.with_results += usize::from(text.contains("\"memory\":"));
                number += clients;
            }
            Ok::<_, anyhow::Error>(of_one)
        });
    }
    let mut all = SearchTimes::default();
    while let Some(done) = tasks.join_next().await {
        let of_one = done??;
        all.times.extend(of_one.times);
        all.with_results += of_one.with_results;
    }
    all.seconds = started.elapsed().as_secs_f64();
    Ok(all)
}
