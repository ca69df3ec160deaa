//! Reads dumps of the tables `conversations` and `summaries` of a chat gateway, as CSV or as JSON Lines.

use std::io::BufRead;

use memory_engine_core::RecordId;
use serde_json::{Map, Value, json};

use crate::{
    csv::CsvReader,
    error::{ImportError, RowError},
    json_lines::objects,
    row::{ImportRows, ImportedTurn, Row, convert_time, is_blank, parse_integer, take_first},
};

/// Names of the column with the message of the user.
const USER_COLUMNS: &[&str] = &["user_msg", "user_message", "user_content"];
/// Names of the column with the answer of the assistant.
const ASSISTANT_COLUMNS: &[&str] = &["assistant_msg", "assistant_message", "assistant_content", "ai_msg"];
/// Names of the column with the text of a row with one message, or of a summary.
const TEXT_COLUMNS: &[&str] = &["summary", "summary_text", "content", "text"];
/// Each key of a turn with the columns that tables use for it.
const COLUMN_ALIASES: &[(&str, &[&str])] = &[
    ("user", &["user_id", "username", "user"]),
    ("agent", &["agent_id", "agent", "character"]),
    ("session", &["session_id", "conversation_id", "chat_id", "session"]),
    ("scene", &["scene_type", "scene"]),
    ("topic", &["topic"]),
    ("emotion", &["emotion"]),
    ("speaker", &["speaker"]),
    ("time", &["created_at", "timestamp", "time"]),
];
/// Columns that have no meaning outside of their database.
const IGNORED_COLUMNS: [&str; 2] = ["namespace", "tenant"];

/// Reads the rows of a table as CSV, or as JSON Lines if the file begins with a brace.
///
/// # Errors
/// If the file cannot be read, has no header, or has the columns of another table.
pub fn rows(mut input: impl BufRead + 'static) -> Result<ImportRows, ImportError> {
    let start = input.fill_buf()?;
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    if start.trim_ascii_start().starts_with(b"{") {
        return Ok(Box::new(objects(input, read_turns)));
    }
    let mut rows = CsvReader::new(input);
    let header = rows.next().transpose()?.ok_or(ImportError::NoHeader)?;
    let line = header.line;
    let header = header.cells.map_err(|problem| ImportError::Header { line, problem })?;
    let header: Vec<String> = header.into_iter().map(|name| name.unwrap_or_default().trim().to_lowercase()).collect();
    let is_in_header = |name: &&str| header.iter().any(|column| column == name);
    if !USER_COLUMNS.iter().chain(ASSISTANT_COLUMNS).chain(TEXT_COLUMNS).any(is_in_header) {
        return Err(ImportError::UnknownColumns(header.join(", ")));
    }
    Ok(Box::new(rows.map(move |row| {
        let row = row?;
        let number = row.line;
        let turns = row.cells.and_then(|cells| {
            if cells.len() != header.len() {
                return Err(RowError::CellCount { cells: cells.len(), columns: header.len() });
            }
            let seed = json!(cells).to_string();
            let cells = cells.into_iter().map(|cell| cell.map_or(Value::Null, Value::String));
            read_turns(header.iter().cloned().zip(cells).collect(), seed, number)
        });
        Ok(Row { place: format!("line {number}"), number, bytes: row.bytes, turns })
    })))
}

/// Returns the turns of a row: user message and answer, one message with a role, or a summary.
fn read_turns(mut columns: Map<String, Value>, seed: String, number: u64) -> Result<Vec<ImportedTurn>, RowError> {
    columns.retain(|name, value| !is_blank(value) && !IGNORED_COLUMNS.contains(&name.as_str()));
    let (table, messages) = take_messages(&mut columns);
    if messages.is_empty() {
        let needed = "it has no text; a row needs \"user_msg\", \"assistant_msg\", \"content\" or \"summary\"";
        return Err(RowError::NoText(needed));
    }
    let id = columns.remove("id");
    let id = id.map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned));
    let vector = columns.remove("embedding").map(|vector| parse_vector(&vector)).transpose()?;
    let common_keys = take_common_keys(columns, table).keys;
    let is_exchange = messages.len() > 1;
    let mut turns = Vec::with_capacity(messages.len());
    for (index, (role, text)) in messages.into_iter().enumerate() {
        let mut turn = ImportedTurn { keys: common_keys.clone(), seed: format!("{seed}/{index}"), vector: None };
        // The vector of a row with two messages is that of neither.
        turn.vector = vector.clone().filter(|_| !is_exchange);
        match role.as_str() {
            Some("user" | "assistant" | "system" | "tool") | None => turn.set("role", role),
            Some(_) => {
                turn.set("role", "assistant");
                turn.set_if_missing("speaker", role);
            }
        }
        turn.set("text", text);
        if let Some(id) = &id {
            turn.set("id", turn_id(table, id, is_exchange.then_some(index)));
            turn.set("message_id", id.as_str());
        }
        if is_exchange {
            turn.set_if_missing("sequence", 2 * number + index as u64);
        }
        turns.push(turn);
    }
    Ok(turns)
}

/// Removes the texts of a row. Returns them with their roles, and the table that the row belongs to.
fn take_messages(columns: &mut Map<String, Value>) -> (&'static str, Vec<(Value, Value)>) {
    let question = take_first(columns, USER_COLUMNS);
    let answer = take_first(columns, ASSISTANT_COLUMNS);
    let role = columns.remove("role");
    let (table, messages) = match (question, answer, role) {
        (None, None, None) => ("summaries", vec![(Value::Null, take_first(columns, TEXT_COLUMNS))]),
        (None, None, Some(role)) => ("conversations", vec![(role, take_first(columns, TEXT_COLUMNS))]),
        (question, answer, _) => ("conversations", vec![(json!("user"), question), (json!("assistant"), answer)]),
    };
    (table, messages.into_iter().filter_map(|(role, text)| Some((role, text?))).collect())
}

/// Returns the keys that all turns of a row have. Columns without a key of their own become metadata.
fn take_common_keys(mut columns: Map<String, Value>, table: &str) -> ImportedTurn {
    let mut common = ImportedTurn::default();
    for (key, aliases) in COLUMN_ALIASES {
        if let Some(value) = take_first(&mut columns, aliases) {
            common.set(key, if *key == "time" { convert_time(&value) } else { value });
        }
    }
    if let Some(round) = take_first(&mut columns, &["round_number", "round_num", "round", "turn"]) {
        common.set("round", parse_integer(&round).map_or(round, Value::from));
    }
    if let Some(entities) = take_first(&mut columns, &["entities"]) {
        common.set("entities", parse_list(&entities));
    }
    if let Some(sequence) = take_first(&mut columns, &["sequence"]).as_ref().and_then(parse_integer) {
        common.set("sequence", sequence);
    }
    if table == "summaries" {
        common.set("kind", "summary");
    }
    common.set("metadata", columns);
    common
}

/// Returns the id of a turn. A UUID is the id of the record, unless the row has two messages. Numbers are prefixed with
/// the table, since both tables count from 1.
fn turn_id(table: &str, row_id: &str, message_index: Option<usize>) -> String {
    match message_index {
        None if row_id.parse::<RecordId>().is_ok() => row_id.to_owned(),
        None => format!("{table}/{row_id}"),
        Some(0) => format!("{table}/{row_id}/user"),
        Some(_) => format!("{table}/{row_id}/assistant"),
    }
}

/// Parses a list in JSON, or in the array syntax of Postgres: `{Anna,"new york"}`. Any other text is a list of one
/// item.
fn parse_list(value: &Value) -> Value {
    let Some(text) = value.as_str() else { return value.clone() };
    if let Ok(Value::Array(list)) = serde_json::from_str(text) {
        return Value::Array(list);
    }
    let Some(inner) = text.trim().strip_prefix('{').and_then(|text| text.strip_suffix('}')) else {
        return json!([text]);
    };
    let mut items = Vec::new();
    let mut item = String::new();
    let mut is_quoted = false;
    let mut is_escaped = false;
    for c in inner.chars() {
        match c {
            c if is_escaped => {
                item.push(c);
                is_escaped = false;
            }
            '\\' => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => items.push(std::mem::take(&mut item)),
            c => item.push(c),
        }
    }
    items.push(item);
    items.retain(|item| !item.is_empty() && item != "NULL");
    json!(items)
}

/// Parses a vector: a JSON list, or the text format of pgvector.
fn parse_vector(value: &Value) -> Result<Vec<f32>, RowError> {
    let parsed = match value.as_str() {
        Some(text) => serde_json::from_str(text),
        None => serde_json::from_value(value.clone()),
    };
    parsed.map_err(|_| RowError::WrongType { key: "embedding", expected: "vector; write [0.1,0.2]" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &'static str) -> Vec<Result<Vec<ImportedTurn>, RowError>> {
        rows(text.as_bytes()).unwrap().map(|row| row.unwrap().turns).collect()
    }

    #[test]
    fn a_row_with_two_messages_is_two_turns_in_order() {
        let rows = read(
            "id,session_id,round_number,user_msg,assistant_msg,scene_type,entities,embedding,created_at,model\n\
             7,s1,3,今天好累啊,抱抱你,daily,\"{Krueger,\"\"new \\\"\"york\"\"}\",\"[0.5,-1]\",2026-02-18 09:00:00+00,gemini\n",
        );
        let turns = rows[0].as_ref().unwrap();
        let keys: Vec<Value> = turns.iter().map(|turn| Value::Object(turn.keys.clone())).collect();
        let expected = |role: &str, text: &str, sequence: u64| {
            json!({"session": "s1", "scene": "daily", "time": "2026-02-18 09:00:00+00", "round": 3,
                   "entities": ["Krueger", "new \"york"], "metadata": {"model": "gemini"}, "role": role, "text": text,
                   "id": format!("conversations/7/{role}"), "message_id": "7", "sequence": sequence})
        };
        assert_eq!(keys, [expected("user", "今天好累啊", 4), expected("assistant", "抱抱你", 5)]);
        assert!(turns.iter().all(|turn| turn.vector.is_none()), "the vector of a row belongs to neither message");
    }

    #[test]
    fn json_rows_and_column_aliases_are_read() {
        let rows = read(
            "{\"id\":\"0192aaaa-0000-7000-8000-000000000001\",\"role\":\"aicy\",\
             \"content\":\"（眨眼）\",\"user_id\":\"lin\"}\n\
             {\"id\":1,\"summary\":\"聊了面试\",\"embedding\":[1,2],\"created_at\":1771344000}\n{\"id\":2}\n",
        );
        let first = &rows[0].as_ref().unwrap()[0].keys;
        assert_eq!(
            (&first["id"], &first["role"], &first["speaker"]),
            (&json!("0192aaaa-0000-7000-8000-000000000001"), &json!("assistant"), &json!("aicy"))
        );
        let second = &rows[1].as_ref().unwrap()[0];
        assert_eq!(second.keys["kind"], "summary");
        assert_eq!(
            (&second.keys["id"], second.vector.as_deref()),
            (&json!("summaries/1"), Some([1.0, 2.0].as_slice()))
        );
        assert!(rows[2].as_ref().unwrap_err().to_string().contains("has no text"));
    }

    #[test]
    fn the_error_for_another_table_names_the_expected_columns() {
        let error = rows(&b"id,term,synonyms\n1,a,b\n"[..]).err().unwrap().to_string();
        assert!(error.contains("id, term, synonyms") && error.contains("user_msg"), "{error}");
        let rows = read("content\na,b\n");
        assert!(rows[0].as_ref().unwrap_err().to_string().contains("2 cells, the first line 1"));
    }
}
