//! Measures a model on this machine: load time, one query, and texts per CPU-second of one core.
//!
//! `cargo run --release --example speed -- MODEL [auto|int8|f32] [vnni|avx2|neon|plain] [SECONDS]`

use std::time::{Duration, Instant};

use memory_engine_local_models::{Kernel, Model, ModelError, ModelOptions, Precision};

const TEXTS: [&str; 2] = [
    "passage: 昨天下午我和小明去了西湖边的茶馆，他说下个月要搬到上海去工作，我们聊了很久孩子上学。",
    "passage: The quarterly report shows that revenue grew by 12% while operating costs fell, and \
     the board approved the new budget for research.",
];

/// Returns the CPU time of this process, or `None` if the system does not report it.
fn cpu_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}

/// Measures wall and CPU time of one call. Without CPU time, both are the wall time.
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration, Duration) {
    let (cpu, wall) = (cpu_time(), Instant::now());
    let result = work();
    let wall = wall.elapsed();
    let cpu = cpu.zip(cpu_time()).map_or(wall, |(before, after)| after - before);
    (result, wall, cpu)
}

fn resident_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or("VmRSS: unknown");
    line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
}

fn main() -> Result<(), ModelError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |index: usize| arguments.get(index).map(String::as_str);
    let path = argument(0).unwrap_or("models/e5-small-q4/e5-small-q4.bin");
    let mut options = ModelOptions::default().with_precision(match argument(1) {
        Some("int8") => Precision::Int8,
        Some("f32") => Precision::F32,
        _ => Precision::Auto,
    });
    options.kernel = match argument(2) {
        Some("vnni") => Some(Kernel::Vnni),
        Some("avx2") => Some(Kernel::Avx2),
        Some("neon") => Some(Kernel::Neon),
        Some("plain") => Some(Kernel::Plain),
        _ => None,
    };
    let seconds = argument(3).and_then(|text| text.parse().ok()).unwrap_or(3.0);

    let (model, wall, cpu) = timed(|| Model::open_with(path, &options));
    let model = model?;
    let kernel = options.kernel.unwrap_or_else(Kernel::detect);
    println!("{}: {:?} on {kernel:?}", model.id(), options.precision);
    println!("load          {wall:>8.1?} wall {cpu:>8.1?} cpu, resident {}", resident_memory());

    for text in TEXTS {
        let tokens = model.tokenize(text).len();
        let mut best = [Duration::MAX; 2];
        for _ in 0..30 {
            let (_, wall, cpu) = timed(|| model.embed(&[text], 1));
            best = [best[0].min(wall), best[1].min(cpu)];
        }
        println!("one text      {:>8.2?} wall {:>8.2?} cpu, {tokens} tokens", best[0], best[1]);
    }

    let batch: Vec<&str> = TEXTS.into_iter().cycle().take(64).collect();
    let mut rates = Vec::new();
    let started = Instant::now();
    while started.elapsed().as_secs_f64() < seconds {
        let (_, _, cpu) = timed(|| model.embed(&batch, 1));
        rates.push(batch.len() as f64 / cpu.as_secs_f64());
    }
    rates.sort_by(f64::total_cmp);
    println!(
        "batches of 64 {:>8.1} texts per cpu-second (median), {:.1} best, {:.1} worst",
        rates[rates.len() / 2],
        rates[rates.len() - 1],
        rates[0]
    );
    let tokenise = || (0..100).flat_map(|_| &batch).map(|text| model.tokenize(text).len()).sum();
    let (_, _, cpu): (usize, _, _) = timed(tokenise);
    println!("tokenising    {:>8.0} texts per cpu-second", 6_400.0 / cpu.as_secs_f64());
    println!("resident at the end {}", resident_memory());
    Ok(())
}
