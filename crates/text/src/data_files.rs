//! Data files of rules, compiled into the crate that uses them.
//!
//! Reasons: `docs/design/decisions/0043-rules-are-data.md`.

use serde::de::DeserializeOwned;
use toml::{Value, map::Map};

/// Declares a static with the joined contents of data files, and the test that loads them.
///
/// The paths are relative to the folder `data` of the crate. A module may declare one static.
#[macro_export]
macro_rules! data {
    ($visibility:vis $name:ident: $type:ty = $($file:literal),+ $(,)?) => {
        $visibility static $name: std::sync::LazyLock<$type> = std::sync::LazyLock::new(|| {
            $crate::data_files::load(&[$(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/data/", $file))),+])
        });

        #[test]
        fn data_files_load() {
            std::sync::LazyLock::force(&$name);
        }
    };
}

/// Reads data files of one format and merges them: lists are appended, tables are merged by key.
///
/// # Panics
/// Panics if a file does not have that format. The files are part of the crate that loads them, and the test of each
/// [`data!`] declaration loads them.
pub fn load<T: DeserializeOwned>(files: &[&str]) -> T {
    match read(files) {
        Ok(data) => data,
        #[expect(clippy::panic, reason = "the files are part of the crate, and a test loads each of them")]
        Err(error) => panic!("a data file of the crate cannot be read: {error}"),
    }
}

fn read<T: DeserializeOwned>(files: &[&str]) -> Result<T, String> {
    let mut merged = Map::new();
    for file in files {
        merge(&mut merged, toml::from_str(file).map_err(|error| error.to_string())?);
    }
    // Erased, because each of the many types of data files would get a copy of the deserializer of `toml`: 1.5 MB.
    let mut deserializer = <dyn erased_serde::Deserializer>::erase(Value::Table(merged));
    erased_serde::deserialize(&mut deserializer).map_err(|error| error.to_string())
}

fn merge(into: &mut Map<String, Value>, from: Map<String, Value>) {
    for (key, value) in from {
        let value = match (into.remove(&key), value) {
            (Some(Value::Array(mut list)), Value::Array(more)) => {
                list.extend(more);
                Value::Array(list)
            }
            (Some(Value::Table(mut table)), Value::Table(more)) => {
                merge(&mut table, more);
                Value::Table(table)
            }
            (_, value) => value,
        };
        into.insert(key, value);
    }
}

#[cfg(test)]
mod tests;
