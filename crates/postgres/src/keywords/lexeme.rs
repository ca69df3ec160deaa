//! The lexemes of terms in the index.
//!
//! A lexeme is the term followed by the suffix of its owner: four characters for the tenant and eight for the
//! namespace, computed from their names. A search for one user looks up whole lexemes, so that it only reads the
//! postings of that user, however many users share the table. A search for a whole tenant looks up prefixes. Two
//! owners may have the same suffix: lexemes only select candidates, and the namespace and the terms of the row decide.

use memory_engine_core::{Scope, Terms};

use crate::rows::scopes;

const BASE64_ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Maximum length of a term that is stored in a lexeme unchanged, in bytes. Longer ones are hashed. The limit of
/// Postgres is 2046, including the suffix.
const TERM_MAX_BYTES: usize = 2000;

/// Length of the suffix of a tenant, with which the suffix of an owner begins.
const TENANT_SUFFIX_BYTES: usize = 4;

/// Maximum number of bytes of a record's lexemes. The limit of Postgres is one megabyte.
const LEXEMES_MAX_BYTES: usize = 900_000;

/// The lexeme of a record whose terms the server cannot count: it has too many lexemes, a term that JSON cannot
/// contain, or a term that the search of a whole tenant may mistake for a shorter one. Every search includes this
/// lexeme. It equals no term, since no term contains a blank.
pub(crate) const UNCOUNTED_LEXEME: &str = " ";

/// The owner of lexemes: a user, or a whole tenant in a query.
#[derive(Debug, Clone)]
pub(crate) struct LexemeOwner {
    suffix: String,
    /// True if the suffix is only that of a tenant, so that lexemes are searched by prefix.
    is_prefix: bool,
}

impl LexemeOwner {
    /// Returns the owner of the lexemes that a search in `scope` looks up.
    pub(crate) fn of(scope: &Scope) -> Self {
        let mut suffix = base64(&scopes::tenant(scope).as_bytes()[..3]);
        if scope.user_name().is_some() {
            suffix.push_str(&base64(&scopes::namespace(scope).as_bytes()[..6]));
        }
        Self { suffix, is_prefix: scope.user_name().is_none() }
    }

    /// Returns the owner of the lexemes of a record in `scope`, which may lack a user.
    pub(crate) fn of_address(scope: &Scope) -> Self {
        let tenant = base64(&scopes::tenant(scope).as_bytes()[..3]);
        Self { suffix: tenant + &base64(&scopes::namespace(scope).as_bytes()[..6]), is_prefix: false }
    }

    /// Returns the text of a `tsvector` of these terms.
    pub(crate) fn vector(&self, terms: &Terms) -> String {
        let mut vector = String::new();
        let tenant_suffix = &self.suffix[..TENANT_SUFFIX_BYTES];
        let mut is_countable = true;
        for (term, _) in terms.iter() {
            // A search of the tenant for `t` looks for lexemes that begin with `t` and the suffix. Those are also the
            // lexemes of a longer term in which the suffix begins, even if it ends in the suffix that follows the term.
            let with_suffix = format!("{term}{}", &tenant_suffix[..TENANT_SUFFIX_BYTES - 1]);
            is_countable &= !term.contains('\0') && !with_suffix.contains(tenant_suffix);
            self.push_lexeme(term, &mut vector);
            vector.push(' ');
            if vector.len() > LEXEMES_MAX_BYTES {
                vector.clear();
                is_countable = false;
                break;
            }
        }
        if !is_countable {
            self.push_lexeme(UNCOUNTED_LEXEME, &mut vector);
        }
        vector
    }

    /// Returns the text of an array of `tsquery`: one for each of these terms, and one for records whose terms the
    /// server cannot count.
    pub(crate) fn queries<'t>(&self, terms: impl Iterator<Item = &'t str>) -> Vec<String> {
        let query = |term| {
            let mut query = String::new();
            self.push_query(term, &mut query);
            query
        };
        terms.chain([UNCOUNTED_LEXEME]).map(query).collect()
    }

    /// Returns the text of a `tsquery` for any of these terms.
    pub(crate) fn query<'t>(&self, terms: impl Iterator<Item = &'t str>) -> String {
        let mut query = String::new();
        for term in terms.chain([UNCOUNTED_LEXEME]) {
            if !query.is_empty() {
                query.push('|');
            }
            self.push_query(term, &mut query);
        }
        query
    }

    fn push_query(&self, term: &str, to: &mut String) {
        self.push_lexeme(term, to);
        if self.is_prefix {
            to.push_str(":*");
        }
    }

    /// Appends the quoted lexeme of a term.
    fn push_lexeme(&self, term: &str, to: &mut String) {
        to.push('\'');
        if term.len() > TERM_MAX_BYTES || term.contains('\0') {
            // A blank and a hash equal no other term, since no term begins with a blank.
            to.push_str(UNCOUNTED_LEXEME);
            to.push_str(blake3::hash(term.as_bytes()).to_hex().as_str());
        } else {
            for c in term.chars() {
                if matches!(c, '\'' | '\\') {
                    to.push(c);
                }
                to.push(c);
            }
        }
        to.push_str(&self.suffix);
        to.push('\'');
    }
}

/// Encodes bytes in base64, in groups of three bytes.
fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for group in bytes.chunks_exact(3) {
        let bits = group.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte));
        text.extend([18, 12, 6, 0].map(|shift| char::from(BASE64_ALPHABET[bits >> shift & 63])));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(words: &[&str]) -> Terms {
        words.iter().copied().collect()
    }

    #[test]
    fn a_lexeme_is_the_term_and_the_suffix_of_its_owner() {
        let lin = LexemeOwner::of(&Scope::user("lin").unwrap());
        let mo = LexemeOwner::of(&Scope::user("mo").unwrap());
        assert_eq!((lin.suffix.len(), &lin.suffix[..4]), (12, &mo.suffix[..4]));
        assert_ne!(lin.suffix, mo.suffix);
        assert_eq!(lin.vector(&terms(&["爬山", "c++"])), format!("'c++{0}' '爬山{0}' ", lin.suffix));
        assert_eq!(lin.query(["爬山"].into_iter()), format!("'爬山{0}'|' {0}'", lin.suffix));
        let tenant = LexemeOwner::of(&Scope::tenant_wide("default").unwrap());
        assert_eq!(tenant.query(["爬山"].into_iter()), format!("'爬山{0}':*|' {0}':*", &lin.suffix[..4]));
    }

    #[test]
    fn a_term_with_the_suffix_of_the_tenant_is_not_counted() {
        let lin = LexemeOwner::of(&Scope::user("lin").unwrap());
        let term = format!("a{}b", &lin.suffix[..TENANT_SUFFIX_BYTES]);
        assert_eq!(lin.vector(&terms(&[term.as_str()])), format!("'{term}{0}' ' {0}'", lin.suffix));
        assert_eq!(lin.queries(["a"].into_iter()), [format!("'a{0}'", lin.suffix), format!("' {0}'", lin.suffix)]);
    }

    /// The lexeme of `x123` begins with `x` and the suffix, although `x123` does not contain the suffix.
    #[test]
    fn a_term_that_ends_where_the_suffix_begins_is_not_counted() {
        let owner = LexemeOwner { suffix: "1231abcdefgh".to_owned(), is_prefix: false };
        assert_eq!(owner.vector(&terms(&["x123"])), "'x1231231abcdefgh' ' 1231abcdefgh'");
        assert_eq!(owner.vector(&terms(&["x12"])), "'x121231abcdefgh' ");
    }

    #[test]
    fn quotes_and_backslashes_are_doubled() {
        let lin = LexemeOwner::of(&Scope::user("lin").unwrap());
        assert_eq!(lin.vector(&terms(&["a'b\\"])), format!("'a''b\\\\{}' ", lin.suffix));
    }

    #[test]
    fn terms_that_postgres_cannot_store_are_hashed() {
        let lin = LexemeOwner::of(&Scope::user("lin").unwrap());
        let long = "x".repeat(5000);
        assert!(lin.vector(&terms(&[long.as_str()])).len() < 100);
        assert_eq!(
            lin.vector(&terms(&[long.as_str()])).trim_end(),
            lin.query([long.as_str()].into_iter()).split('|').next().unwrap()
        );
        let with_nul = lin.vector(&terms(&["a\0b"]));
        assert!(!with_nul.contains('\0') && with_nul.ends_with(&format!("' {}'", lin.suffix)));
        let many: Terms = (0..100_000).map(|n| format!("term{n}")).collect();
        assert_eq!(lin.vector(&many), format!("' {}'", lin.suffix));
    }
}
