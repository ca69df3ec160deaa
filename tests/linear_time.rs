//! The processing time of a text grows at most linearly with its length, for every stage that reads stored texts or
//! messages, and for the texts that are most expensive to read.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::time::Duration;

use futures::executor::block_on;
use jiff::tz::TimeZone;
use memory_engine::Database;
use memory_engine_context::{IncomingMessage, InjectionRules, contextual_query, is_backchannel, is_question, quoted};
use memory_engine_core::{Kind, Language, Record, Role, Scope, SystemClock, Timestamp, phrases, text};
use memory_engine_embedder::{Embedder, HashEmbedder, Purpose, WordEmbedder};
use memory_engine_graph::{RuleExtractor, likely_names, names_in};
use memory_engine_indexing::{date_clauses, indexed_text};
use memory_engine_intake::{IncomingWords, model_words, without_injected};
use memory_engine_keyword_store::{Analyzer, TextAnalyzer};
use memory_engine_scene::{SceneDetector, SceneRules};
use memory_engine_summarizer::{Chunker, ExtractiveSummarizer, RuleFacts, RuleMetadata, SummaryRequest, sentences};

/// Length of the shorter text of a comparison, in bytes.
const SHORT_BYTES: usize = 4 << 10;
/// Length of the longer text.
const LONG_BYTES: usize = SHORT_BYTES * GROWTH;
/// The longer text is this many times longer. Quadratic time grows by the square of it, 64.
const GROWTH: usize = 8;
/// Maximum growth of the time in relation to the growth of the length. Linear time has 1 and quadratic time 8. Tables
/// that no longer fit into a cache make time grow faster than the text, and other processes on the same core too.
const TOLERANCE: f64 = 3.0;
/// Times below this are not compared: the shorter text would be measured in less than 4 ms.
const NOISE: Duration = Duration::from_millis(30);
/// Maximum number of measurements of each text. The shortest time counts: other processes only add to a time.
const MAX_MEASUREMENTS: usize = 4;

/// A longer time is no disturbance: the measurement is not repeated.
const CLEARLY_SLOW: Duration = Duration::from_secs(3);

/// A stage that reads a text.
struct Stage {
    name: &'static str,
    run: Box<dyn Fn(&str)>,
}

fn stage(name: &'static str, run: impl Fn(&str) + 'static) -> Stage {
    Stage { name, run: Box::new(run) }
}

fn turn(text: &str) -> Record {
    let mut record = Record::new(Scope::user("lin").unwrap(), Kind::TURN, text, &SystemClock);
    record.role = Some(Role::USER);
    record
}

fn stages() -> Vec<Stage> {
    let facts = RuleFacts::built_in().unwrap();
    let metadata = RuleMetadata::default();
    let scenes = SceneDetector::new(&SceneRules::default(), SystemClock).unwrap();
    let session = Scope::user("lin").unwrap();
    let injection = InjectionRules::default();
    let now = Timestamp::from_micros(1_700_000_000_000_000);
    let words = WordEmbedder::new();
    let hashes = HashEmbedder::with_dimensions(256).unwrap();
    vec![
        stage("normalise", |text| _ = text::normalize(text)),
        stage("fold", |text| _ = phrases::fold(text)),
        stage("language", |text| _ = Language::of(text)),
        stage("analyze document", |text| _ = TextAnalyzer.document(text)),
        stage("analyze query", |text| _ = TextAnalyzer.query(text)),
        stage("indexed text", |text| _ = indexed_text(&turn(text))),
        stage("dates", move |text| _ = date_clauses(text, now, &TimeZone::UTC, 1.0)),
        stage("date anchors", move |text| _ = memory_engine_temporal::anchored(text, now, &TimeZone::UTC)),
        stage("scene", move |text| _ = scenes.detect(&session, text)),
        stage("sentences", |text| _ = sentences(text)),
        stage("injected blocks", |text| _ = without_injected(text)),
        stage("words of a user", |text| _ = IncomingWords::of(text)),
        stage("words of a model", |text| _ = model_words(text)),
        stage("facts", move |text| _ = facts.facts(&[turn(text)])),
        stage("metadata", move |text| _ = metadata.describe(text)),
        stage("chunks", |text| _ = Chunker::default().chunks(text)),
        stage("summary", |text| {
            _ = ExtractiveSummarizer::default().summary(&[turn(text)], &SummaryRequest::default());
        }),
        stage("graph", |text| _ = RuleExtractor::default().read(text, &[])),
        stage("likely names", |text| _ = likely_names(text)),
        stage("names in a query", |text| _ = names_in(text)),
        stage("word vectors", move |text| _ = block_on(words.embed(&[text], Purpose::Document)).unwrap()),
        stage("hashed vectors", move |text| _ = block_on(hashes.embed(&[text], Purpose::Document)).unwrap()),
        stage("injection", move |text| {
            _ = injection.decide(&IncomingMessage { round: 3, scene: "daily", text });
        }),
        stage("question", |text| _ = (is_question(text), is_backchannel(text))),
        stage("contextual query", |text| _ = contextual_query(&[("user", text)], text, 1200)),
        stage("prompt line", |text| _ = quoted(text, &["user:"])),
        stage("database address", |text| _ = format!("{}", Database::from(format!("postgres://{text}")))),
    ]
}

/// Returns texts of about this length that are expensive to read.
fn shapes(bytes: usize) -> Vec<(&'static str, String)> {
    let repeated = |part: &str| part.repeat(bytes / part.len());
    // A multiplicative generator: the same noise in each run.
    let mut state = 42_u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let mut noise = |alphabet: &str| {
        let alphabet: Vec<char> = alphabet.chars().collect();
        let length = bytes / alphabet[0].len_utf8();
        (0..length).map(|_| alphabet[next() % alphabet.len()]).collect::<String>()
    };
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let numbered = |prefix: &str, between: &str| {
        (0..bytes / (prefix.len() + 5 + between.len())).map(|n| format!("{prefix}{n}{between}")).collect::<String>()
    };
    vec![
        ("base64", noise(&format!("{letters}+/"))),
        ("base64 without marks", noise(letters)),
        ("random Chinese", noise("王小明李华的是在有和了不我你他她是张医生北京上海公司村市说去来看见妹妹")),
        ("random sentences", noise("我喜欢,吃。Ik tea and not I am a ")),
        ("kana", repeated("カタカナ")),
        ("full-width letters", repeated("ＡＢＣｄｅｆ")),
        ("numbered names", numbered("Name", " ")),
        ("numbered names in sentences", numbered("We saw Name", ". ")),
        ("numbered names with commas", numbered("Anna", ", ")),
        ("numbered Chinese names", numbered("王小明", "说，")),
        ("negations", repeated("不")),
        ("English negations", repeated("not ")),
        ("opening brackets", repeated("(")),
        ("Chinese brackets", repeated("「（")),
        ("pairs of brackets", repeated("()[]{}")),
        ("book marks", repeated("《")),
        ("one long sentence", repeated("the quick brown fox jumped over my lazy dog and I like it ")),
        ("one long Chinese sentence", repeated("我的猫叫小白昨天去了北京上海")),
        ("line breaks", format!("a{}b", repeated("\n"))),
        ("short lines", repeated("a\n")),
        ("headings", repeated("# a\n")),
        ("spaces", format!("a{}b", repeated(" "))),
        ("one word", repeated("a")),
        ("capitals", repeated("A")),
        ("one Chinese character", repeated("我")),
        ("surnames", repeated("王")),
        ("relatives", repeated("是妹妹有")),
        ("existence", repeated("王有")),
        ("place endings", repeated("市村公司")),
        ("digits", repeated("1")),
        ("numbers", repeated("1.2.3-")),
        ("full stops", repeated(".")),
        ("initials", repeated("A. ")),
        ("commas", repeated(", ")),
        ("quotation marks", repeated("\"")),
        ("code fences", repeated("``` ")),
        ("tags", repeated("<a>")),
        ("open JSON", repeated("{\"a\":")),
        ("links", repeated("http://a.b/")),
        ("days", repeated("2024-01-02 ")),
        ("relative days", repeated("yesterday ")),
        ("nested days", format!("{}yesterday", repeated("two days before "))),
        ("Chinese days", repeated("昨天")),
        ("months", repeated("年1月")),
        ("statements", repeated("my name is Lin. ")),
        ("open statements", repeated("I am ")),
        ("Chinese statements", repeated("我喜欢吃苹果，")),
        ("joined names", repeated("Anna and ")),
        ("places", repeated("New York ")),
        ("prepositions", repeated("of ")),
        ("actions", repeated("*a* ")),
        ("pronouns", repeated("Anna she her ")),
        ("Chinese pronouns", repeated("王小明他她")),
        ("emoji", repeated("😀")),
        ("joined emoji", repeated("👨\u{200d}")),
        ("combining marks", format!("a{}", repeated("\u{301}"))),
        ("Korean", repeated("한국어")),
        ("Arabic", repeated("مرحبا ")),
    ]
}

/// Returns the processor time of this thread, which does not include waiting for a processor.
#[cfg(unix)]
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
}

/// Returns the time since the first call: this system does not report the processor time of a thread.
#[cfg(not(unix))]
fn thread_time() -> Duration {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed()
}

fn measure(stage: &Stage, text: &str) -> Duration {
    let start = thread_time();
    (stage.run)(text);
    thread_time() - start
}

/// Returns the shortest time of each text if the time grows too fast.
fn growth_fault(stage: &Stage, short: &str, long: &str) -> Option<(Duration, Duration)> {
    let mut short_time = Duration::MAX;
    let mut long_time = Duration::MAX;
    for _ in 0..MAX_MEASUREMENTS {
        long_time = long_time.min(measure(stage, long));
        if long_time < NOISE {
            return None;
        }
        short_time = short_time.min(measure(stage, short));
        if long_time.as_secs_f64() <= short_time.as_secs_f64() * GROWTH as f64 * TOLERANCE {
            return None;
        }
        if long_time > CLEARLY_SLOW {
            break;
        }
    }
    Some((short_time, long_time))
}

#[test]
fn time_of_each_stage_is_linear_in_the_length_of_the_text() {
    let short = shapes(SHORT_BYTES);
    let long = shapes(LONG_BYTES);
    let mut faults = Vec::new();
    for stage in stages() {
        // Loads dictionaries and compiles patterns.
        (stage.run)("我们昨天去爬山了，王小明也去了。We went hiking with Anna yesterday.");
        for ((shape, short), (_, long)) in short.iter().zip(&long) {
            if let Some((short_time, long_time)) = growth_fault(&stage, short, long) {
                faults.push(format!(
                    "{}, {shape}: {short_time:?} for {SHORT_BYTES} bytes, {long_time:?} for {LONG_BYTES}",
                    stage.name
                ));
            }
        }
    }
    assert!(faults.is_empty(), "time grows faster than the text:\n{}", faults.join("\n"));
}

#[test]
fn a_stage_of_quadratic_time_is_found() {
    let quadratic = stage("pairs of bytes", |text| {
        let bytes = text.as_bytes();
        let equal = bytes.iter().flat_map(|first| bytes.iter().filter(move |second| first == *second)).count();
        std::hint::black_box(equal);
    });
    // The time of the longer text is above the noise, in a release build too.
    let repetitions = if cfg!(debug_assertions) { 256 } else { 4096 };
    assert!(growth_fault(&quadratic, &"ab".repeat(repetitions), &"ab".repeat(repetitions * GROWTH)).is_some());
}

/// Prints the time of each stage and shape for 5 MB: `cargo test --release … -- --ignored --nocapture`.
#[test]
#[ignore = "prints figures of a release build"]
fn figures_for_five_megabytes() {
    let texts = shapes(5 << 20);
    for stage in stages() {
        (stage.run)("我们昨天去爬山了，王小明也去了。We went hiking with Anna yesterday.");
        let (slowest, shape) = texts.iter().map(|(shape, text)| (measure(&stage, text), shape)).max().unwrap();
        println!("{:<20} {slowest:>8.2?} for {shape}", stage.name);
    }
}
