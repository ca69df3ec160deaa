//! Reads introductions of relatives by a pronoun: "他叫李明宇，是我的上司", "Her name is Rosa. She's my aunt."

use super::clauses::{ClauseStatement, ClauseSubject};
use crate::{
    data::{DataPattern, data},
    text::has_han,
};

data! {
    DATA = "en/introductions.toml", "zh/introductions.toml";
    DataPattern: introduced, acquired, zh_introduced;
}

/// Returns the statements of the speaker about the names of relatives in a normalised message: "my aunt is called
/// Rosa". They span clauses and sentences, which are otherwise read one by one.
pub(super) fn statements(message: &str) -> Vec<ClauseStatement> {
    let statement = |name: &str, kin: &str| {
        let text = if has_han(kin) { format!("我{kin}叫{name}") } else { format!("my {kin} is called {name}") };
        ClauseStatement { subject: ClauseSubject::Speaker, is_explicit: true, text }
    };
    let found = DATA.introduced.captures_iter(message).chain(DATA.acquired.captures_iter(message));
    let found = found.chain(DATA.zh_introduced.captures_iter(message));
    found.map(|found| statement(&found["name"], &found["kin"])).collect()
}
