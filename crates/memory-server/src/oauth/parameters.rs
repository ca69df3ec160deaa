//! Parameters of requests, in a query or a form.

use std::collections::BTreeMap;

use axum::http::{HeaderMap, header::CONTENT_TYPE};
use url::form_urlencoded;

const FORM_TYPE: &str = "application/x-www-form-urlencoded";

/// The parameters of a request.
#[derive(Debug, Default)]
pub(super) struct Parameters(BTreeMap<String, String>);

impl Parameters {
    /// Parses a query.
    ///
    /// # Errors
    /// A description of the problem for a parameter that occurs twice: only one of the values can be meant.
    pub(super) fn parse(encoded: &[u8]) -> Result<Self, String> {
        let mut parameters = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(encoded) {
            // A parameter without a value counts as omitted (RFC 6749, section 3.1).
            if value.is_empty() {
                continue;
            }
            if parameters.insert(name.clone().into_owned(), value.into_owned()).is_some() {
                return Err(format!("the parameter {name} occurs twice"));
            }
        }
        Ok(Self(parameters))
    }

    /// Parses the form in the body of a request.
    ///
    /// # Errors
    /// Those of [`parse`](Self::parse), and for another content type.
    pub(super) fn from_form(headers: &HeaderMap, body: &[u8]) -> Result<Self, String> {
        let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let media_type = content_type.split(';').next().unwrap_or_default().trim();
        if !media_type.eq_ignore_ascii_case(FORM_TYPE) {
            return Err(format!("the content type must be {FORM_TYPE}"));
        }
        Self::parse(body)
    }

    /// Returns a parameter, or `None` if it is missing or empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns a parameter.
    ///
    /// # Errors
    /// A description of the problem if it is missing.
    pub(super) fn require(&self, name: &str) -> Result<&str, String> {
        self.get(name).ok_or_else(|| format!("the parameter {name} is missing"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_parameter_and_another_content_type_are_refused() {
        let parameters = Parameters::parse(b"a=1+2&b=&c=%E5%A5%BD").unwrap();
        assert_eq!((parameters.get("a"), parameters.get("b"), parameters.get("c")), (Some("1 2"), None, Some("好")));
        assert_eq!(parameters.require("b").unwrap_err(), "the parameter b is missing");
        assert_eq!(Parameters::parse(b"a=1&a=2").unwrap_err(), "the parameter a occurs twice");
        let json = HeaderMap::from_iter([(CONTENT_TYPE, "application/json".parse().unwrap())]);
        assert!(Parameters::from_form(&json, b"{}").unwrap_err().contains(FORM_TYPE));
        let form = HeaderMap::from_iter([(CONTENT_TYPE, format!("{FORM_TYPE}; charset=utf-8").parse().unwrap())]);
        assert_eq!(Parameters::from_form(&form, b"a=1").unwrap().get("a"), Some("1"));
    }
}
