fn rss() -> u64 {
    let s = std::fs::read_to_string("/proc/self/status").unwrap();
    s.lines().find(|l| l.starts_with("VmRSS")).unwrap().split_whitespace().nth(1).unwrap().parse().unwrap()
}
fn main() {
    let before = rss();
    let t = std::time::Instant::now();
    let p = memory_engine_summarizer::FactPatterns::built_in().unwrap();
    println!("built_in {:?} rss +{} kB", t.elapsed(), rss() - before);
    let r = memory_engine_summarizer::RuleFacts::new(p);
    let t = std::time::Instant::now();
    let mut n = 0;
    let mut msgs = 0;
    for f in ["zh", "en"] {
        for line in std::fs::read_to_string(format!("crates/summarizer/tests/tables/natural.{f}.jsonl")).unwrap().lines() {
            let v: serde_json::Value = serde_json::from_str(line).unwrap();
            let mut turn = memory_engine_core::Record::new(memory_engine_core::Scope::user("lin").unwrap(), memory_engine_core::Kind::TURN, v["text"].as_str().unwrap(), &memory_engine_core::SystemClock);
            turn.role = Some(memory_engine_core::Role::USER);
            for _ in 0..10 { n += r.facts(&[turn.clone()]).len(); msgs += 1; }
        }
    }
    println!("{n} facts of {msgs} messages, {:?} each, rss +{} kB", t.elapsed() / msgs, rss() - before);
}
