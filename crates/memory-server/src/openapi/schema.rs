//! Schemas of types.

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};

/// Returns the schema of a type, with references to the schemas of the document.
pub(super) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// Returns the schema of a type, without references to other schemas.
pub(super) fn schema_of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>()
}
