//! The lexemes of terms in the index.
//!
//! A lexeme is the term followed by the mark of its owner: four characters for the tenant and eight for the
//! namespace, computed from their names. A search for one user looks up whole lexemes, so that it only reads the
//! postings of that user, however many users share the table. A search for a whole tenant looks up prefixes. Two
//! owners may have the same mark: lexemes only propose, and the row's own namespace and terms decide.

use memory_engine_core::{Scope, Terms};

use crate::records::scopes;

const BASE64_ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The longest term that stands in a lexeme as it is, in bytes: Postgres allows 2046 together with the mark.
const LEXEME_MAX_BYTES: usize = 2000;

/// Maximum number of bytes of a record's lexemes. The limit of Postgres is one megabyte.
const LEXEMES_MAX_BYTES: usize = 900_000;

/// The lexeme of a record with too many lexemes. Every search includes it. It equals no term, since no term contains
/// a blank.
const OVERSIZED_LEXEME: &str = " ";

/// The owner of lexemes.
#[derive(Debug, Clone)]
pub(crate) struct Owner {
    mark: String,
    open: bool,
}

impl Owner {
    /// Returns the owner for a reading scope.
    pub(crate) fn of(scope: &Scope) -> Self {
        let mut mark = letters(&scopes::tenant(scope).as_bytes()[..3]);
        if scope.user_name().is_some() {
            mark.push_str(&letters(&scopes::namespace(scope).as_bytes()[..6]));
        }
        Self { mark, open: scope.user_name().is_none() }
    }

    /// The owner of a record at this address, who may be no user.
    pub(crate) fn of_address(scope: &Scope) -> Self {
        let tenant = letters(&scopes::tenant(scope).as_bytes()[..3]);
        Self { mark: tenant + &letters(&scopes::namespace(scope).as_bytes()[..6]), open: false }
    }

    /// The text of a `tsvector` of these terms.
    pub(crate) fn vector(&self, terms: &Terms) -> String {
        let mut vector = String::new();
        for (term, _) in terms.iter() {
            self.push(term, &mut vector);
            vector.push(' ');
            if vector.len() > LEXEMES_MAX_BYTES {
                vector.clear();
                self.push(OVERSIZED_LEXEME, &mut vector);
                break;
            }
        }
        vector
    }

    /// The text of a `tsquery` for any of these terms.
    pub(crate) fn query<'t>(&self, terms: impl Iterator<Item = &'t str>) -> String {
        let mut query = String::new();
        for term in terms.chain([OVERSIZED_LEXEME]) {
            if !query.is_empty() {
                query.push('|');
            }
            self.push(term, &mut query);
            if self.open {
                query.push_str(":*");
            }
        }
        query
    }

    fn push(&self, term: &str, to: &mut String) {
        to.push('\'');
        if term.len() > LEXEME_MAX_BYTES || term.contains('\0') {
            // As no term begins with a blank, this one is like no other.
            to.push_str(OVERSIZED_LEXEME);
            to.push_str(blake3::hash(term.as_bytes()).to_hex().as_str());
        } else {
            for c in term.chars() {
                if matches!(c, '\'' | '\\') {
                    to.push(c);
                }
                to.push(c);
            }
        }
        to.push_str(&self.mark);
        to.push('\'');
    }
}

/// Six bits in each character.
fn letters(bytes: &[u8]) -> String {
    let mut text = String::new();
    for three in bytes.chunks_exact(3) {
        let bits = three.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte));
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
    fn a_lexeme_is_the_term_and_the_mark_of_its_owner() {
        let lin = Owner::of(&Scope::user("lin").unwrap());
        let mo = Owner::of(&Scope::user("mo").unwrap());
        assert_eq!((lin.mark.len(), &lin.mark[..4]), (12, &mo.mark[..4]));
        assert_ne!(lin.mark, mo.mark);
        assert_eq!(lin.vector(&terms(&["爬山", "c++"])), format!("'c++{0}' '爬山{0}' ", lin.mark));
        assert_eq!(lin.query(["爬山"].into_iter()), format!("'爬山{0}'|' {0}'", lin.mark));
        let tenant = Owner::of(&Scope::tenant_wide("default").unwrap());
        assert_eq!(tenant.query(["爬山"].into_iter()), format!("'爬山{0}':*|' {0}':*", &lin.mark[..4]));
    }

    #[test]
    fn quotes_and_backslashes_are_doubled() {
        let lin = Owner::of(&Scope::user("lin").unwrap());
        assert_eq!(lin.vector(&terms(&["a'b\\"])), format!("'a''b\\\\{}' ", lin.mark));
    }

    #[test]
    fn what_postgres_could_not_keep_is_kept_otherwise() {
        let lin = Owner::of(&Scope::user("lin").unwrap());
        let long = "x".repeat(5000);
        assert!(lin.vector(&terms(&[long.as_str()])).len() < 100);
        assert_eq!(
            lin.vector(&terms(&[long.as_str()])).trim_end(),
            lin.query([long.as_str()].into_iter()).split('|').next().unwrap()
        );
        assert!(!lin.vector(&terms(&["a\0b"])).contains('\0'));
        let many: Terms = (0..100_000).map(|n| format!("term{n}")).collect();
        assert_eq!(lin.vector(&many), format!("' {}'", lin.mark));
    }
}
