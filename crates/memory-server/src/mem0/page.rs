//! Lists in pages.

use axum::http::{HeaderMap, header::HOST};
use serde_json::{Value, json};

use super::{failure::Failure, fields::Fields};

/// A page of a list, and where the others are.
#[derive(Debug, Clone)]
pub(super) struct Page {
    number: usize,
    pub(super) size: usize,
    asked_for: bool,
    /// The address of the list, with what has to stay the same of its parameters.
    address: String,
    parameters: Vec<(String, String)>,
}

/// The largest page.
const LARGEST: i64 = 200;

impl Page {
    /// The page that the parameters name, or else the body.
    ///
    /// # Errors
    /// 400 for a page before the first, and for one that is larger than 200.
    pub(super) fn read(asked: &mut Fields, fields: &mut Fields, size: usize) -> Result<Self, Failure> {
        let mut read = |name: &str, least: i64, most: i64| {
            let here = asked.whole_within(name, least, most);
            here.or_else(|| fields.whole_within(name, least, most))
        };
        let number = read("page", 1, 1_000_000);
        let given = read("page_size", 1, LARGEST);
        // Old clients name the most that they want.
        let limit = read("limit", 1, 1000).or_else(|| read("top_k", 1, 1000));
        asked.check()?;
        fields.check()?;
        Ok(Self {
            number: number.unwrap_or(1),
            size: given.or(limit).unwrap_or(size),
            asked_for: number.is_some(),
            address: String::new(),
            parameters: Vec::new(),
        })
    }

    pub(super) fn is_asked_for(&self) -> bool {
        self.asked_for
    }

    pub(super) fn skip(&self) -> usize {
        (self.number - 1) * self.size
    }

    /// The same page of the list at this path, as the client sees the server.
    pub(super) fn at(mut self, path: &str, headers: &HeaderMap) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let scheme = text("x-forwarded-proto").filter(|scheme| matches!(*scheme, "http" | "https")).unwrap_or("http");
        let plain = |c: char| c.is_ascii_alphanumeric() || ".-:[]_".contains(c);
        let host =
            text(HOST.as_str()).filter(|host| !host.is_empty() && host.chars().all(plain)).unwrap_or("localhost");
        self.address = format!("{scheme}://{host}{path}");
        self
    }

    /// With the parameters that say which list it is.
    pub(super) fn keeping(mut self, fields: &Fields) -> Self {
        let kept = fields.names().filter(|name| !matches!(*name, "page" | "page_size"));
        let pairs = kept.filter_map(|name| Some((name.to_owned(), fields.value(name)?.as_str()?.to_owned())));
        self.parameters = pairs.collect();
        self
    }

    /// The page's rows, with the addresses of those beside it.
    pub(super) fn answer(&self, count: usize, rows: Vec<Value>) -> Value {
        let next = (self.number * self.size < count).then(|| self.address_of(self.number + 1));
        // Behind the end, the one before is the last that there is.
        let last = count.div_ceil(self.size).max(1);
        let previous = (self.number > 1).then(|| self.address_of((self.number - 1).min(last)));
        json!({ "count": count, "next": next, "previous": previous, "results": rows })
    }

    fn address_of(&self, page: usize) -> String {
        let kept = self.parameters.iter().map(|(name, value)| format!("{}={}&", escaped(name), escaped(value)));
        format!("{}?{}page={page}&page_size={}", self.address, kept.collect::<String>(), self.size)
    }
}

/// A text as it stands in an address.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}
