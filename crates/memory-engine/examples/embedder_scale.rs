//! Measures the scale of an embedder: `semantic_weight`, `score_floor` and `unrelated` of your model.
//!
//! ```text
//! cargo run --release -p memory-engine --example embedder_scale                                 # the hash embedder
//! cargo run --release -p memory-engine --features local-models --example embedder_scale MODEL  # a local model
//! ```
//!
//! A file of pairs can follow: one question, a tab and the text that answers it in each line. Take 100 pairs of your
//! application or more; the built-in ones only show the form.

use std::sync::Arc;

use memory_engine::{
    Result,
    embed::{Embedder, Embedding, HashEmbedder, Purpose},
};

const PAIRS: &str = "\
When is my interview?\tMy interview has moved to Friday
What am I allergic to?\tI get a rash from peanuts and shrimp
Where do my parents live?\tMum and dad moved to a village near Ghent
Which instrument do I play?\tI practise the violin every evening
What is my dog called?\tBiscuit chewed my shoes again, bad dog
How do I get to work?\tI take the tram number five to the office
What did the doctor say?\tThe physician told me to sleep more
What do I drink in the morning?\tTwo cups of coffee before eight, always
我面试是哪天？\t面试改到周五了
我对什么过敏？\t吃虾会起疹子
我爸妈住在哪里？\t父母搬到了苏州的乡下
我会什么乐器？\t每天晚上练小提琴
我的狗叫什么？\t团子又把鞋咬坏了
我怎么去上班？\t坐地铁五号线去公司
医生怎么说？\t大夫让我多睡觉
我早上喝什么？\t八点前要喝两杯咖啡
";

fn cosine(a: &Embedding, b: &Embedding) -> f64 {
    let dot = |a: &Embedding, b: &Embedding| -> f64 {
        a.values().iter().zip(b.values()).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

fn percentile(scores: &mut [f64], percent: usize) -> f64 {
    scores.sort_by(f64::total_cmp);
    scores.get(scores.len() * percent / 100).copied().unwrap_or(f64::NAN)
}

async fn embed(embedder: &dyn Embedder, texts: &[&str], purpose: Purpose) -> Result<Vec<Embedding>> {
    let mut vectors = Vec::new();
    for batch in texts.chunks(embedder.max_batch()) {
        vectors.extend(embedder.embed(batch, purpose).await?);
    }
    Ok(vectors)
}

/// Prints the scores of pairs whose question and text are in these languages.
fn report(name: &str, related: &mut [f64], unrelated: &mut [f64]) {
    if unrelated.is_empty() {
        return;
    }
    let low = percentile(unrelated, 5);
    let high = percentile(unrelated, 95);
    let median = percentile(unrelated, 50);
    println!("{name}: unrelated {median:.3} (5 % below {low:.3}, 5 % above {high:.3})");
    if !related.is_empty() {
        println!("    related: median {:.3}, lowest 1 % {:.3}", percentile(related, 50), percentile(related, 1));
    }
}

#[cfg(feature = "local-models")]
async fn embedder(model: Option<String>) -> Result<Arc<dyn Embedder>> {
    match model {
        Some(path) => Ok(Arc::new(memory_engine::embed::LocalModel::open(path).await?.embedder())),
        None => Ok(Arc::new(HashEmbedder::default())),
    }
}

#[cfg(not(feature = "local-models"))]
async fn embedder(_: Option<String>) -> Result<Arc<dyn Embedder>> {
    Ok(Arc::new(HashEmbedder::default()))
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let embedder = embedder(arguments.next()).await?;
    let file = arguments.next().and_then(|path| std::fs::read_to_string(path).ok());
    let pairs = file.as_deref().unwrap_or(PAIRS);
    let pairs: Vec<(&str, &str)> = pairs.lines().filter_map(|line| line.split_once('\t')).collect();
    let questions: Vec<&str> = pairs.iter().map(|(question, _)| *question).collect();
    let texts: Vec<&str> = pairs.iter().map(|(_, text)| *text).collect();
    let queries = embed(embedder.as_ref(), &questions, Purpose::Query).await?;
    let documents = embed(embedder.as_ref(), &texts, Purpose::Document).await?;

    // The scores of unrelated texts depend on their languages.
    for (name, question_is_ascii, text_is_ascii) in [
        ("ASCII, ASCII", true, true),
        ("other, other", false, false),
        ("ASCII, other", true, false),
        ("other, ASCII", false, true),
    ] {
        let mut related = Vec::new();
        let mut unrelated = Vec::new();
        for (i, query) in queries.iter().enumerate().filter(|(i, _)| questions[*i].is_ascii() == question_is_ascii) {
            for (j, document) in documents.iter().enumerate().filter(|(j, _)| texts[*j].is_ascii() == text_is_ascii) {
                let scores = if i == j { &mut related } else { &mut unrelated };
                scores.push(cosine(query, document));
            }
        }
        report(name, &mut related, &mut unrelated);
    }
    println!(
        "the embedder's own: semantic_weight {}, score_floor {:.3}",
        embedder.semantic_weight(),
        embedder.score_floor()
    );
    Ok(())
}
