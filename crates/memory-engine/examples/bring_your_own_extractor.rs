//! A fact extractor and a summarizer of your own. Both ask a chat model, here one with a script.
//!
//! `cargo run -p memory-engine --example bring_your_own_extractor`

use std::sync::Arc;

use async_trait::async_trait;
use memory_engine::{
    enrichment::{
        Cardinality, ExtractedFact, FactExtractor, Facts, Language, Locale, Summarizer, Summary, SummaryRequest,
        SummaryTrigger,
    },
    llm::{ChatModel, ChatRequest, Message, OutputSchema, structured},
    prelude::*,
    serde_json::json,
    testing::ScriptedModel,
};
use serde::Deserialize;

const PROMPT: &str = "Which book is the user reading now? Give the number of the message, and the title as it says it.";

/// The books in the answer of the model.
#[derive(Debug, Deserialize)]
struct BookList {
    books: Vec<Book>,
}

#[derive(Debug, Deserialize)]
struct Book {
    /// Number of the message, from 1.
    message: usize,
    title: String,
}

/// Extracts the book that the user is reading.
#[derive(Debug)]
struct BookFacts {
    model: Arc<dyn ChatModel>,
}

impl BookFacts {
    async fn ask(&self, said: &[&Record]) -> Result<Vec<ExtractedFact>> {
        let lines: Vec<String> = said.iter().zip(1..).map(|(turn, n)| format!("{n}. {}", turn.text)).collect();
        let book = json!({
            "type": "object",
            "properties": {"message": {"type": "integer"}, "title": {"type": "string"}},
            "required": ["message", "title"],
        });
        let schema = json!({"type": "object", "properties": {"books": {"type": "array", "items": book}}});
        let request = ChatRequest::new([Message::system(PROMPT), Message::user(lines.join("\n"))])
            .with_temperature(0.0)
            .with_output(OutputSchema::new("books", schema));
        let answer = structured::ask::<BookList>(&*self.model, request).await?.value;
        Ok(answer.books.into_iter().filter_map(|book| fact(book, said)).collect())
    }
}

/// Returns the fact of an answer, if the message that it names contains the title: a model may invent one.
fn fact(book: Book, said: &[&Record]) -> Option<ExtractedFact> {
    let turn = said.get(book.message.checked_sub(1)?).filter(|turn| turn.text.contains(&book.title))?;
    let text = format!("The user is reading {}.", book.title);
    let fact = ExtractedFact::new("reading", book.title, text, turn);
    // The next book supersedes this one.
    Some(ExtractedFact { cardinality: Cardinality::Single, ..fact })
}

#[async_trait]
impl FactExtractor for BookFacts {
    async fn extract(&self, turns: &[Record], _: &Locale) -> Result<Facts> {
        let said: Vec<&Record> = turns.iter().filter(|turn| turn.role == Some(Role::USER)).collect();
        if said.is_empty() {
            return Ok(Facts::default());
        }
        match self.ask(&said).await {
            Ok(facts) => Ok(Facts { facts, degraded: None }),
            // The job is tried again when the service is back.
            Err(error) if error.is_transient() => Err(error),
            // The same answer would come again. The log names the kind of the error.
            Err(error) => Ok(Facts { facts: Vec::new(), degraded: Some(error) }),
        }
    }
}

/// Summarizes in one sentence.
#[derive(Debug)]
struct ModelSummaries {
    model: Arc<dyn ChatModel>,
}

#[async_trait]
impl Summarizer for ModelSummaries {
    async fn summarize(&self, turns: &[Record], request: &SummaryRequest) -> Result<Summary> {
        let said: Vec<&Record> = turns.iter().filter(|turn| turn.is_said()).collect();
        let lines: Vec<&str> = said.iter().map(|turn| turn.text.as_str()).collect();
        let prompt = format!("Summarize in one sentence of at most {} characters.", request.max_chars);
        let messages = [Message::system(prompt), Message::user(lines.join("\n"))];
        let reply = self.model.complete(&ChatRequest::new(messages)).await?;
        let language = request.language.unwrap_or_else(|| Language::of(&reply.text));
        Ok(Summary::new(reply.text, language, said.iter().map(|turn| turn.id)))
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    // `memory_engine::http_models::HttpChatModel` is a model behind an API (feature `http-models`).
    let model: Arc<dyn ChatModel> = Arc::new(
        ScriptedModel::default()
            .when(|request| request.output.is_some(), r#"{"books": [{"message": 1, "title": "Middlemarch"}]}"#)
            .otherwise("The user reads Middlemarch in the evening."),
    );
    let options = EnrichmentOptions::default()
        .with_facts(BookFacts { model: Arc::clone(&model) })
        .with_summaries(ModelSummaries { model })
        .with_trigger(SummaryTrigger::every_turns(2));
    let memory = MemoryEngine::builder().in_memory().enrichment(options).background(false).build().await?;

    let lin = Scope::user("lin")?;
    let monday = lin.clone().with_session("monday")?;
    let turns = [Turn::user("I read Middlemarch in the evening."), Turn::assistant("How do you like it?")];
    memory.remember_all(&monday, turns).await?;
    memory.drain(&lin, |_| ()).await?;

    let facts = memory.facts(&lin).await?;
    for fact in &facts {
        println!("{} = {} (said: {:?})", fact.attribute, fact.value, fact.evidence[0].quote);
    }
    let summaries = ScanQuery::oldest(10).with_filter(Filter::eq(Field::Kind, Kind::SUMMARY));
    for summary in memory.scan(&lin, &summaries).await?.records {
        println!("{} (of {} turns)", summary.text, summary.derived_from.len());
    }
    assert_eq!(facts[0].value, "Middlemarch");
    Ok(())
}
