//! MCP over a pair of pipes.

use memory_engine::{Scope, Turn};
use memory_engine_server::{Access, Mcp, Owner};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::{engine, memories, modern, rpc};

#[tokio::test]
async fn k13_pipes_with_handshake() {
    let engine = engine().await;
    engine.remember(&Scope::user("lin").unwrap(), "I am allergic to shrimp").await.unwrap();
    engine.remember(&Scope::user("mei").unwrap(), "shrimp is my favourite").await.unwrap();
    let (client, server) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(server);
    let mcp = Mcp::new(engine).with_owner(Owner::user("lin"));
    let serving = tokio::spawn(mcp.serve(Access::tenant("me", "default").unwrap(), input, output));
    let (reading, mut writing) = tokio::io::split(client);
    let mut lines = BufReader::new(reading).lines();
    let mut ask = async |method: &str, params: Value| -> Value {
        writing.write_all(format!("{}\n", rpc(method, params)).as_bytes()).await.unwrap();
        serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap()
    };
    let client =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    assert_eq!(ask("initialize", client).await["result"]["serverInfo"]["name"], "memory-engine");
    let search = json!({ "name": "search_memory", "arguments": { "query": "shrimp" } });
    assert_eq!(memories(&ask("tools/call", search).await["result"]), ["I am allergic to shrimp"]);
    drop((lines, writing));
    serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn pipes_without_handshake() {
    let engine = engine().await;
    let (client, server) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(server);
    let serving = tokio::spawn(Mcp::new(engine).serve(Access::tenant("me", "default").unwrap(), input, output));
    let (reading, mut writing) = tokio::io::split(client);
    let mut lines = BufReader::new(reading).lines();
    let discover = rpc("server/discover", modern(json!({})));
    writing.write_all(format!("{discover}\n").as_bytes()).await.unwrap();
    let answer: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    drop((lines, writing));
    serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn lines_that_are_no_messages_are_answered() {
    let engine = engine().await;
    let (client, server) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(server);
    let serving = tokio::spawn(Mcp::new(engine).serve(Access::tenant("me", "default").unwrap(), input, output));
    let (reading, mut writing) = tokio::io::split(client);
    let mut lines = BufReader::new(reading).lines();
    let mut ask = async |line: &str| -> Value {
        writing.write_all(format!("\n{line}\n").as_bytes()).await.unwrap();
        serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap()
    };
    for (line, code) in [
        ("walnuts", -32700),
        ("{\"jsonrpc\":\"2.0\"", -32700),
        ("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":2.5,\"method\":\"ping\"}", -32600),
        ("{\"jsonrpc\":\"1.0\",\"id\":2,\"method\":\"ping\"}", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":[]}", -32600),
    ] {
        let answer = ask(line).await;
        assert_eq!(
            (answer.get("id"), &answer["error"]["code"]),
            (Some(&Value::Null), &json!(code)),
            "{line}: {answer}"
        );
    }
    let answer = ask(&rpc("server/discover", modern(json!({})))).await;
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    drop((lines, writing));
    serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn k13_pipes_are_limited_to_the_session() {
    let engine = engine().await;
    let lin = Scope::user("lin").unwrap();
    for session in ["monday", "tuesday"] {
        let scope = lin.clone().with_session(session).unwrap();
        engine.remember(&scope, Turn::user(format!("shrimp on {session}"))).await.unwrap();
    }
    let (client, server) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(server);
    let mcp = Mcp::new(engine).with_owner(Owner { session: Some("monday".into()), ..Owner::user("lin") });
    let access = Access::tenant("me", "default").unwrap().only_users(["lin"]).unwrap();
    let serving = tokio::spawn(mcp.serve(access, input, output));
    let (reading, mut writing) = tokio::io::split(client);
    let mut lines = BufReader::new(reading).lines();
    let search = modern(json!({ "name": "search_memory", "arguments": { "query": "shrimp" } }));
    writing.write_all(format!("{}\n", rpc("tools/call", search)).as_bytes()).await.unwrap();
    let answer: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
    assert_eq!(memories(&answer["result"]), ["shrimp on monday"]);
    drop((lines, writing));
    serving.await.unwrap().unwrap();
}
