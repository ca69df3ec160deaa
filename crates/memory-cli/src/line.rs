//! Records as JSON Lines, the format of `import` and `export`.

use anyhow::{Result, bail, ensure};
use jiff::tz::TimeZone;
use memory_engine::{Clock, Kind, Record, RecordId, Role, Scope, State, Timestamp, Trust, history::Tombstone};
use memory_engine_import::convert_time;
use serde_json::{Map, Value, json};

/// A parsed line.
#[derive(Debug)]
pub(crate) enum ImportLine {
    /// A record.
    Record(Box<Record>),
    /// A tombstone of a deleted record.
    Tombstone(Tombstone),
}

/// Values for fields that a line does not set.
#[derive(Debug)]
pub(crate) struct LineDefaults<'a> {
    /// The scope.
    pub(crate) scope: &'a Scope,
    /// Zone of times without a zone.
    pub(crate) zone: &'a TimeZone,
    /// The time now.
    pub(crate) clock: &'a dyn Clock,
}

/// A parsed line, and where it comes from.
#[derive(Debug)]
pub(crate) struct ParsedLine {
    pub(crate) line: ImportLine,
    /// True if the file sets an id.
    pub(crate) has_id: bool,
    /// True if it was exported from a store: its line has the time of recording.
    pub(crate) is_exported: bool,
}

/// Parses the JSON object of a line. It must have a `text` or be a tombstone. Unknown keys are kept in the metadata.
pub(crate) fn read(mut keys: Map<String, Value>, defaults: &LineDefaults<'_>) -> Result<ParsedLine> {
    if let Some(tombstone) = keys.remove("tombstone") {
        let line = ImportLine::Tombstone(parse_tombstone(tombstone, defaults.scope)?);
        return Ok(ParsedLine { line, has_id: true, is_exported: true });
    }
    let mut keys = Keys(keys);
    let Some(text) = keys.text("text")? else { bail!("it has no \"text\"; every turn needs one") };
    let mut record = Record::new(address(&mut keys, defaults.scope)?, Kind::TURN, text, defaults.clock);
    record.trust = Trust::Import;
    let id = keys.text("id")?;
    if let Some(id) = &id {
        record.id = RecordId::named(&record.scope, id);
        // A UUID is the id of the record itself; any other text would be lost without this.
        record.source.message_id = Some(id.clone()).filter(|id| id.parse::<RecordId>().is_err());
    }
    if let Some(id) = keys.text("message_id")? {
        record.source.message_id = Some(id);
    }
    record.kind = keys.text("kind")?.map_or(record.kind, Kind::new);
    record.role = keys.text("role")?.map(Role::new);
    record.speaker = keys.text("speaker")?;
    record.scene = keys.text("scene")?;
    record.topic = keys.text("topic")?;
    record.emotion = keys.text("emotion")?;
    record.entities = keys.texts("entities")?;
    record.tags = keys.texts("tags")?;
    record.confidence = keys.number("confidence")?.unwrap_or(record.confidence);
    record.importance = keys.number("importance")?.unwrap_or(record.importance);
    record.source.sequence = keys.integer("sequence")?;
    record.source.round = keys.integer("round")?.map(u32::try_from).transpose()?;
    record.derived_from = keys.texts("derived_from")?.iter().map(|id| id.parse()).collect::<Result<_, _>>()?;
    // Other programs write `timestamp`, and numbers of seconds or milliseconds.
    let time = match keys.take("time") {
        Some(time) => Some(time),
        None => keys.take("timestamp"),
    };
    let time = time.map(|time| convert_time(&time)).map(|time| time.as_str().map_or(time.to_string(), str::to_owned));
    let time = time.filter(|time| !time.is_empty());
    if let Some(time) = &time {
        record.occurred_at = Timestamp::parse_in(time, defaults.zone)?;
    }
    let recorded_at = keys.time("recorded_at", defaults.zone)?;
    record.recorded_at = recorded_at.unwrap_or(record.recorded_at);
    record.valid_from = keys.time("valid_from", defaults.zone)?;
    record.valid_until = keys.time("valid_until", defaults.zone)?;
    record.pinned = keys.boolean("pinned")?.unwrap_or_default();
    record.expires_at = keys.time("expires_at", defaults.zone)?;
    if let Some(trust) = keys.text("trust")? {
        record.trust = trust.parse::<Trust>()?;
    }
    if let Some(state) = keys.text("state")? {
        record.state = state.parse::<State>()?;
    }
    let zone = keys.text(Record::ZONE_KEY)?.map(|name| crate::args::zone(&name)).transpose()?;
    record.metadata = keys.metadata()?;
    // The zone that an export has in its metadata is kept.
    let learnt = || record.zone().is_none().then(|| time.as_deref().and_then(Timestamp::zone_of)).flatten();
    if let Some(zone) = zone.or_else(learnt) {
        record.set_zone(&zone);
    }
    record.validate()?;
    Ok(ParsedLine {
        line: ImportLine::Record(Box::new(record)),
        has_id: id.is_some(),
        is_exported: recorded_at.is_some(),
    })
}

fn address(keys: &mut Keys, default: &Scope) -> Result<Scope> {
    let mut scope = Scope::tenant_wide(default.tenant())?;
    let user = match keys.text("user")? {
        Some(user) => Some(user),
        None => keys.text("scope")?,
    };
    let pick = |value: Option<String>, default: Option<&str>| value.or_else(|| default.map(str::to_owned));
    match pick(user, default.user_name()) {
        Some(user) => scope = scope.with_user(user)?,
        None => bail!("it has no user; add \"user\" to the line, or --user NAME to the command"),
    }
    if let Some(agent) = pick(keys.text("agent")?, default.agent()) {
        scope = scope.with_agent(agent)?;
    }
    if let Some(session) = pick(keys.text("session")?, default.session()) {
        scope = scope.with_session(session)?;
    }
    if let Some(branch) = pick(keys.text("branch")?, default.branch()) {
        scope = scope.with_branch(branch)?;
    }
    Ok(scope)
}

fn parse_tombstone(value: Value, default: &Scope) -> Result<Tombstone> {
    let Value::Object(keys) = value else { bail!("\"tombstone\" is not an object") };
    let mut keys = Keys(keys);
    let mut require =
        |key: &'static str| keys.text(key)?.ok_or_else(|| anyhow::anyhow!("the tombstone has no \"{key}\""));
    let id = require("id")?.parse()?;
    let content_hash = require("content_hash")?.parse()?;
    let deleted_at = require("deleted_at")?.parse()?;
    let cascade_deleted = keys.take("cascade_deleted").is_some_and(|value| value == Value::Bool(true));
    Ok(Tombstone::new(id, address(&mut keys, default)?, content_hash, deleted_at).with_cascade_deleted(cascade_deleted))
}

/// The keys of a line that have not been read yet.
struct Keys(Map<String, Value>);

impl Keys {
    fn take(&mut self, key: &str) -> Option<Value> {
        self.0.shift_remove(key).filter(|value| !value.is_null())
    }

    fn text(&mut self, key: &str) -> Result<Option<String>> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) if text.is_empty() && key != "text" => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(Value::Number(number)) if key != "text" => Ok(Some(number.to_string())),
            Some(_) => bail!("\"{key}\" is not a string"),
        }
    }

    fn texts(&mut self, key: &str) -> Result<Vec<String>> {
        let text = |value: Value| match value {
            Value::String(text) => Ok(text),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                bail!("\"{key}\" contains a value that is not a string")
            }
        };
        match self.take(key) {
            None => Ok(Vec::new()),
            Some(Value::Array(values)) => values.into_iter().map(text).collect(),
            Some(Value::String(one)) => Ok(vec![one]),
            Some(_) => bail!("\"{key}\" is not a list of strings"),
        }
    }

    fn number(&mut self, key: &str) -> Result<Option<f64>> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let number = value.as_f64();
        ensure!(number.is_some(), "\"{key}\" is not a number");
        Ok(number)
    }

    fn boolean(&mut self, key: &str) -> Result<Option<bool>> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let boolean = value.as_bool();
        ensure!(boolean.is_some(), "\"{key}\" is not true or false");
        Ok(boolean)
    }

    fn integer(&mut self, key: &str) -> Result<Option<i64>> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let number = value.as_i64();
        ensure!(number.is_some(), "\"{key}\" is not an integer");
        Ok(number)
    }

    fn time(&mut self, key: &str, zone: &TimeZone) -> Result<Option<Timestamp>> {
        Ok(self.text(key)?.map(|text| Timestamp::parse_in(&text, zone)).transpose()?)
    }

    /// Returns `metadata` with all keys that were not read.
    fn metadata(mut self) -> Result<Map<String, Value>> {
        let mut metadata = match self.take("metadata") {
            None => Map::new(),
            Some(Value::Object(map)) => map,
            Some(_) => bail!("\"metadata\" is not an object"),
        };
        metadata.extend(self.0.into_iter().filter(|(_, value)| !value.is_null()));
        Ok(metadata)
    }
}

/// Writes a record as the JSON object of a line, which [`read`] parses.
pub(crate) fn write(record: &Record) -> Value {
    let mut line = Map::new();
    let mut put = |key: &str, value: Value| {
        let is_empty = value.is_null()
            || value.as_array().is_some_and(Vec::is_empty)
            || value.as_object().is_some_and(Map::is_empty);
        if !is_empty {
            line.insert(key.to_owned(), value);
        }
    };
    put("id", json!(record.id));
    for (dimension, value) in record.scope.dimensions() {
        put(dimension, json!(value));
    }
    put("kind", json!(record.kind));
    put("role", json!(record.role));
    put("speaker", json!(record.speaker));
    put("text", json!(record.text));
    put("time", json!(record.occurred_at));
    put("scene", json!(record.scene));
    put("topic", json!(record.topic));
    put("emotion", json!(record.emotion));
    put("entities", json!(record.entities));
    put("tags", json!(record.tags));
    put("confidence", json!(record.confidence));
    put("importance", json!(record.importance));
    put("message_id", json!(record.source.message_id));
    put("sequence", json!(record.source.sequence));
    put("round", json!(record.source.round));
    put("derived_from", json!(record.derived_from));
    put("trust", json!(record.trust));
    put("state", json!(record.state));
    put("recorded_at", json!(record.recorded_at));
    put("valid_from", json!(record.valid_from));
    put("valid_until", json!(record.valid_until));
    put("pinned", json!(record.pinned.then_some(true)));
    put("expires_at", json!(record.expires_at));
    put("metadata", Value::Object(record.metadata.clone()));
    Value::Object(line)
}

/// Writes a tombstone as the JSON object of a line, which [`read`] parses.
pub(crate) fn write_tombstone(tombstone: &Tombstone) -> Value {
    let mut keys = Map::new();
    keys.insert("id".into(), json!(tombstone.id));
    for (dimension, value) in tombstone.scope.dimensions() {
        if value.is_some() {
            keys.insert(dimension.into(), json!(value));
        }
    }
    keys.insert("content_hash".into(), json!(tombstone.content_hash.to_string()));
    keys.insert("deleted_at".into(), json!(tombstone.deleted_at));
    if tombstone.cascade_deleted {
        keys.insert("cascade_deleted".into(), json!(true));
    }
    json!({ "tombstone": keys })
}

#[cfg(test)]
mod tests;
