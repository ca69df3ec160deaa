//! Reads structs from the values of a request, as leniently as mem0's servers do.

#![allow(clippy::wildcard_enum_match_arm, reason = "all other values are of the wrong type")]

use std::fmt;

use serde::{
    Deserializer,
    de::{
        self, DeserializeSeed, IntoDeserializer, MapAccess, Visitor,
        value::{MapDeserializer, SeqDeserializer},
    },
    forward_to_deserialize_any,
};
use serde_json::{Map, Value};

/// A field with an invalid value: pydantic's name of the error, and its message.
#[derive(Debug)]
pub(super) struct InvalidField {
    pub(super) kind: String,
    pub(super) message: String,
}

impl InvalidField {
    fn new(kind: &str, message: &str) -> Self {
        Self { kind: kind.to_owned(), message: message.to_owned() }
    }
}

impl fmt::Display for InvalidField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)
    }
}

impl std::error::Error for InvalidField {}

impl de::Error for InvalidField {
    /// Expects `kind: message`.
    fn custom<T: fmt::Display>(message: T) -> Self {
        let text = message.to_string();
        let (kind, message) = text.split_once(": ").unwrap_or(("value_error", &text));
        Self::new(kind, message)
    }
}

/// Reads a struct from an object, in the order of its fields. Other fields are ignored.
#[derive(Debug)]
pub(super) struct FieldsDeserializer<'de> {
    values: &'de Map<String, Value>,
    numbers_as_text: bool,
    /// The fields of the struct.
    pub(super) known: Vec<&'static str>,
    /// The field that is being read.
    pub(super) current: Option<&'static str>,
}

impl<'de> FieldsDeserializer<'de> {
    pub(super) fn new(values: &'de Map<String, Value>, numbers_as_text: bool) -> Self {
        Self { values, numbers_as_text, known: Vec::new(), current: None }
    }
}

impl<'de> Deserializer<'de> for &mut FieldsDeserializer<'de> {
    type Error = InvalidField;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, InvalidField> {
        Err(InvalidField::new("dict_type", "Input should be a valid dictionary"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InvalidField> {
        self.known = fields.to_vec();
        visitor.visit_map(FieldsAccess { remaining: fields.iter(), source: self })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

struct FieldsAccess<'de, 'd> {
    remaining: std::slice::Iter<'static, &'static str>,
    source: &'d mut FieldsDeserializer<'de>,
}

impl<'de> MapAccess<'de> for FieldsAccess<'de, '_> {
    type Error = InvalidField;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, InvalidField> {
        let values = self.source.values;
        self.source.current = self.remaining.find(|name| values.contains_key(**name)).copied();
        self.source.current.map(|name| seed.deserialize(name.into_deserializer())).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, InvalidField> {
        let value = self.source.current.and_then(|name| self.source.values.get(name)).unwrap_or(&Value::Null);
        seed.deserialize(FieldValue { value, numbers_as_text: self.source.numbers_as_text })
    }
}

/// The value of one field.
struct FieldValue<'de> {
    value: &'de Value,
    numbers_as_text: bool,
}

impl<'de> Deserializer<'de> for FieldValue<'de> {
    type Error = InvalidField;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidField> {
        self.value.deserialize_any(visitor).map_err(de::Error::custom)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidField> {
        if self.value.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidField> {
        match self.value {
            Value::String(text) => visitor.visit_str(text),
            Value::Number(number) if self.numbers_as_text => visitor.visit_string(number.to_string()),
            _ => Err(InvalidField::new("string_type", "Input should be a valid string")),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidField> {
        match self.value {
            Value::Bool(flag) => visitor.visit_bool(*flag),
            Value::String(text) if text.eq_ignore_ascii_case("true") || text == "1" => visitor.visit_bool(true),
            Value::String(text) if text.eq_ignore_ascii_case("false") || text == "0" => visitor.visit_bool(false),
            _ => Err(InvalidField::new("bool_type", "Input should be a valid boolean")),
        }
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidField> {
        let number = match self.value {
            Value::Number(number) => number.as_i64().or_else(|| {
                let number = number.as_f64().filter(|n| n.fract() == 0.0 && n.abs() < 9e15)?;
                Some(number as i64)
            }),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        let invalid = || InvalidField::new("int_type", "Input should be a valid integer");
        visitor.visit_i64(number.ok_or_else(invalid)?)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidField> {
        let number = match self.value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
            _ => None,
        };
        let invalid = || InvalidField::new("float_type", "Input should be a valid number");
        visitor.visit_f64(number.ok_or_else(invalid)?)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidField> {
        let object = self.value.as_object();
        let object = object.ok_or_else(|| InvalidField::new("dict_type", "Input should be a valid dictionary"))?;
        let entries = object.iter().map(|(key, value)| (key.as_str(), AnyValue(value)));
        visitor.visit_map(MapDeserializer::new(entries))
    }

    /// Reads a list of texts. One text may contain several, separated by commas.
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidField> {
        let texts: Option<Vec<&str>> = match self.value {
            Value::String(text) => Some(text.split(',').map(str::trim).collect()),
            Value::Array(values) => values.iter().map(Value::as_str).collect(),
            _ => None,
        };
        let invalid = || InvalidField::new("list_type", "Input should be a valid list of strings");
        visitor.visit_seq(SeqDeserializer::new(texts.ok_or_else(invalid)?.into_iter()))
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u16 u32 u64 u128 f32 char str bytes byte_buf unit unit_struct newtype_struct tuple
        tuple_struct struct enum identifier ignored_any
    }
}

/// A value of any type.
#[derive(Clone, Copy)]
struct AnyValue<'de>(&'de Value);

impl<'de> IntoDeserializer<'de, InvalidField> for AnyValue<'de> {
    type Deserializer = FieldValue<'de>;

    fn into_deserializer(self) -> FieldValue<'de> {
        FieldValue { value: self.0, numbers_as_text: false }
    }
}
