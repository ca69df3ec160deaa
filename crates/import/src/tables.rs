//! The tables `conversations` and `summaries` of a chat gateway: a dump's rows as CSV or as JSON Lines.

use std::io::BufRead;

use serde_json::{Map, Value, json};

use crate::{
    csv,
    error::{ImportError, RowError},
    json_lines::objects,
    row::{ImportRows, ImportedTurn, Row, is_nothing, take, time, whole},
};

const USER: &[&str] = &["user_msg", "user_message", "user_content"];
const ASSISTANT: &[&str] = &["assistant_msg", "assistant_message", "assistant_content", "ai_msg"];
const SUMMARY: &[&str] = &["summary", "summary_text", "content", "text"];
/// Columns of one meaning under the names that tables have for them, and ours.
const COLUMNS: &[(&str, &[&str])] = &[
    ("user", &["user_id", "username", "user"]),
    ("agent", &["agent_id", "agent", "character"]),
    ("session", &["session_id", "conversation_id", "chat_id", "session"]),
    ("scene", &["scene_type", "scene"]),
    ("topic", &["topic"]),
    ("emotion", &["emotion"]),
    ("speaker", &["speaker"]),
    ("time", &["created_at", "timestamp", "time"]),
];
/// Columns that say nothing outside their database.
const LEFT_OUT: [&str; 2] = ["ns", "tenant"];

/// Reads the rows of a table as CSV, or as JSON Lines if the file begins with a brace.
///
/// # Errors
/// For a file that cannot be read, has no header, or has the columns of another table.
pub fn rows(mut input: impl BufRead + 'static) -> Result<ImportRows, ImportError> {
    let begin = input.fill_buf()?;
    let begin = begin.strip_prefix(b"\xef\xbb\xbf").unwrap_or(begin);
    if begin.trim_ascii_start().starts_with(b"{") {
        return Ok(Box::new(objects(input, turns)));
    }
    let mut rows = csv::Reader::new(input);
    let header = rows.next().transpose()?.ok_or(ImportError::NoHeader)?;
    let line = header.line;
    let header = header.cells.map_err(|problem| ImportError::Header { line, problem })?;
    let header: Vec<String> = header.into_iter().map(|name| name.unwrap_or_default().trim().to_lowercase()).collect();
    let named = |name: &&str| header.iter().any(|column| column == name);
    if !USER.iter().chain(ASSISTANT).chain(SUMMARY).any(named) {
        return Err(ImportError::UnknownColumns(header.join(", ")));
    }
    Ok(Box::new(rows.map(move |row| {
        let row = row?;
        let (number, bytes) = (row.line, row.bytes);
        let turns = row.cells.and_then(|cells| {
            if cells.len() != header.len() {
                return Err(RowError::CellCount { cells: cells.len(), columns: header.len() });
            }
            let seed = json!(cells).to_string();
            let cells = cells.into_iter().map(|cell| cell.map_or(Value::Null, Value::String));
            turns(header.iter().cloned().zip(cells).collect(), seed, number)
        });
        Ok(Row { place: format!("line {number}"), number, bytes, turns })
    })))
}

/// The turns of a row: two where one row has both sides, one with a role, or a summary.
fn turns(mut columns: Map<String, Value>, seed: String, number: u64) -> Result<Vec<ImportedTurn>, RowError> {
    columns.retain(|name, value| !is_nothing(value) && !LEFT_OUT.contains(&name.as_str()));
    let (said, answered) = (take(&mut columns, USER), take(&mut columns, ASSISTANT));
    let role = columns.remove("role");
    let (table, sides) = match (said, answered, role) {
        (None, None, None) => ("summaries", vec![(Value::Null, take(&mut columns, SUMMARY))]),
        (None, None, Some(role)) => ("conversations", vec![(role, take(&mut columns, SUMMARY))]),
        (said, answered, _) => ("conversations", vec![(json!("user"), said), (json!("assistant"), answered)]),
    };
    let sides: Vec<(Value, Value)> = sides.into_iter().filter_map(|(role, text)| Some((role, text?))).collect();
    if sides.is_empty() {
        let needed = "it has no text; a row needs \"user_msg\", \"assistant_msg\", \"content\" or \"summary\"";
        return Err(RowError::NoText(needed));
    }
    let id = columns.remove("id");
    let vector = columns.remove("embedding").map(|vector| floats(&vector)).transpose()?;
    let mut common = ImportedTurn::default();
    for (key, names) in COLUMNS {
        if let Some(value) = take(&mut columns, names) {
            common.set(key, if *key == "time" { time(&value) } else { value });
        }
    }
    if let Some(round) = take(&mut columns, &["round_number", "round_num", "round", "turn"]) {
        common.set("round", whole(&round).map_or(round, Value::from));
    }
    if let Some(entities) = take(&mut columns, &["entities"]) {
        common.set("entities", list(&entities));
    }
    if let Some(sequence) = take(&mut columns, &["sequence"]).as_ref().and_then(whole) {
        common.set("sequence", sequence);
    }
    if table == "summaries" {
        common.set("kind", "summary");
    }
    common.set("metadata", columns);
    let both = sides.len() > 1;
    let turn = |(n, (role, text)): (usize, (Value, Value))| {
        let mut turn = ImportedTurn { keys: common.keys.clone(), seed: format!("{seed}/{n}"), vector: None };
        // A vector of a row with two sides is that of neither.
        turn.vector = vector.clone().filter(|_| !both);
        match role.as_str() {
            Some("user" | "assistant" | "system" | "tool") | None => turn.set("role", role),
            Some(_) => {
                turn.set("role", "assistant");
                turn.set_if_missing("speaker", role);
            }
        }
        turn.set("text", text);
        if let Some(id) = &id {
            let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
            turn.set("id", name_of(table, &id, both.then_some(n)));
            turn.set("message_id", id);
        }
        if both {
            turn.set_if_missing("sequence", 2 * number + n as u64);
        }
        turn
    };
    Ok(sides.into_iter().enumerate().map(turn).collect())
}

/// The name of a row: a UUID as it is, where it stands for one record, and a number with its table, since both count
/// from 1.
fn name_of(table: &str, id: &str, side: Option<usize>) -> String {
    match side {
        None if id.parse::<memory_engine_core::RecordId>().is_ok() => id.to_owned(),
        None => format!("{table}/{id}"),
        Some(0) => format!("{table}/{id}/user"),
        Some(_) => format!("{table}/{id}/assistant"),
    }
}

/// A list as JSON has it, or as Postgres writes arrays: `{Anna,"new york"}`.
fn list(value: &Value) -> Value {
    let Some(text) = value.as_str() else { return value.clone() };
    if let Ok(Value::Array(list)) = serde_json::from_str(text) {
        return Value::Array(list);
    }
    let Some(inner) = text.trim().strip_prefix('{').and_then(|text| text.strip_suffix('}')) else {
        return json!([text]);
    };
    let (mut items, mut item, mut quoted, mut escaped) = (Vec::new(), String::new(), false, false);
    for c in inner.chars() {
        match c {
            c if escaped => {
                item.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            ',' if !quoted => items.push(std::mem::take(&mut item)),
            c => item.push(c),
        }
    }
    items.push(item);
    items.retain(|item| !item.is_empty() && item != "NULL");
    json!(items)
}

/// A vector: a JSON list, or the text that pgvector writes.
fn floats(value: &Value) -> Result<Vec<f32>, RowError> {
    let read = match value.as_str() {
        Some(text) => serde_json::from_str(text),
        None => serde_json::from_value(value.clone()),
    };
    read.map_err(|_| RowError::WrongType { key: "embedding", expected: "vector; write [0.1,0.2]" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &'static str) -> Vec<Result<Vec<ImportedTurn>, RowError>> {
        rows(text.as_bytes()).unwrap().map(|row| row.unwrap().turns).collect()
    }

    #[test]
    fn a_row_with_both_sides_is_two_turns_in_their_order() {
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
        assert!(turns.iter().all(|turn| turn.vector.is_none()), "the vector of both is that of neither");
    }

    #[test]
    fn rows_of_json_and_of_other_columns_are_understood() {
        let rows = read(
            "{\"id\":\"0192aaaa-0000-7000-8000-000000000001\",\"role\":\"aicy\",\"content\":\"（眨眼）\",\"user_id\":\"lin\"}\n\
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
    fn a_file_of_another_table_is_refused_with_the_columns_it_would_need() {
        let error = rows(&b"id,term,synonyms\n1,a,b\n"[..]).err().unwrap().to_string();
        assert!(error.contains("id, term, synonyms") && error.contains("user_msg"), "{error}");
        let rows = read("content\na,b\n");
        assert!(rows[0].as_ref().unwrap_err().to_string().contains("2 cells, the first line 1"));
    }
}
