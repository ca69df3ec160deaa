//! The titles of sessions, for the lists in which a person chooses one.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt, TryStreamExt, stream};
use memory_engine::{Field, Filter, Kind, MemoryEngine, Result, Role, ScanQuery, Scope, State};
use memory_engine_intake::prompt_words;

/// Maximum length of a title, in characters.
const MAX_CHARS: usize = 60;
/// Number of messages of a session in which its title is searched: the first ones may be commands.
const MAX_MESSAGES: usize = 5;
/// Maximum number of sessions that are read at the same time.
const CONCURRENCY: usize = 8;

/// Returns the titles of the sessions of these addresses, by the address without its branch: the first line of the
/// user's first own message. A session without such a message has none.
///
/// # Errors
/// The store's error.
pub(super) async fn read_titles<'s>(
    engine: &MemoryEngine,
    addresses: impl IntoIterator<Item = &'s Scope>,
) -> Result<BTreeMap<Scope, String>> {
    let sessions: BTreeSet<Scope> = addresses.into_iter().filter_map(session_of).collect();
    let titles = stream::iter(sessions).map(|session| async {
        let title = read_title(engine, &session).await?;
        Ok(title.map(|title| (session, title)))
    });
    titles.buffer_unordered(CONCURRENCY).try_filter_map(async |titled| Ok(titled)).try_collect().await
}

/// Returns the address of a session without its branch; `None` outside of a session.
pub(super) fn session_of(address: &Scope) -> Option<Scope> {
    let session = address.session()?;
    let owner = match address.agent() {
        Some(agent) => address.namespace().with_agent(agent),
        None => Ok(address.namespace()),
    };
    owner.and_then(|owner| owner.with_session(session)).ok()
}

async fn read_title(engine: &MemoryEngine, session: &Scope) -> Result<Option<String>> {
    let messages = Filter::eq(Field::Kind, Kind::TURN.as_str())
        .and(Filter::eq(Field::Role, Role::USER.as_str()))
        .and(Filter::eq(Field::State, State::Active.as_str()));
    let page = engine.scan(session, &ScanQuery::oldest(MAX_MESSAGES).with_filter(messages)).await?;
    Ok(page.records.iter().find_map(|message| title_of(&message.text)))
}

/// Returns the first line of a message of the user; `None` for a command, and for what a program wrote.
fn title_of(text: &str) -> Option<String> {
    let words = prompt_words(text)?;
    let line = words.lines().map(str::trim).find(|line| line.contains(char::is_alphanumeric))?;
    Some(match line.char_indices().nth(MAX_CHARS) {
        None => line.to_owned(),
        Some(_) => line.chars().take(MAX_CHARS - 1).chain(['…']).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::{MAX_CHARS, title_of};

    #[test]
    fn a_title_is_the_first_line_of_own_words() {
        for (text, title) in [
            ("Which bulbs survive frost?", Some("Which bulbs survive frost?")),
            ("\n\n  周末去爬山吗\n带上水壶", Some("周末去爬山吗")),
            ("---\nPlan the hike", Some("Plan the hike")),
            ("<system-reminder>It is late.</system-reminder>\nrename the module", Some("rename the module")),
            ("/compact", None),
            ("[Request interrupted by user]", None),
            ("…", None),
        ] {
            assert_eq!(title_of(text).as_deref(), title, "{text}");
        }
    }

    #[test]
    fn a_long_title_is_cut() {
        for word in ["word ", "很长的标题"] {
            let title = title_of(&word.repeat(30)).unwrap();
            assert!(title.chars().count() == MAX_CHARS && title.ends_with('…'), "{title}");
        }
    }
}
