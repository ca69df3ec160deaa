//! The user's words in a prompt.

use memory_engine_text::data;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PromptMarkers {
    added_elements: Vec<String>,
    generated_beginnings: Vec<String>,
}

data!(MARKERS: PromptMarkers = "user_words.toml");

/// Returns the words that the user wrote in a prompt of a coding agent, without what the agent added. `None` for a
/// command (`/review`) and for a prompt that a program wrote.
pub fn user_words(prompt: &str) -> Option<String> {
    let mut text = prompt.to_owned();
    for element in &MARKERS.added_elements {
        remove_elements(&mut text, element);
    }
    let text = text.trim();
    let is_generated = MARKERS.generated_beginnings.iter().any(|beginning| text.starts_with(beginning.as_str()));
    (!text.is_empty() && !is_generated && !is_command(text)).then(|| text.to_owned())
}

/// Removes the elements `<name …>…</name>`. An element without an end stays.
fn remove_elements(text: &mut String, name: &str) {
    let (start_tag, end_tag) = (format!("<{name}"), format!("</{name}>"));
    let mut from = 0;
    while let Some(start) = text[from..].find(&start_tag).map(|at| from + at) {
        let after_name = start + start_tag.len();
        let is_element = text[after_name..].starts_with(|c: char| c == '>' || c.is_whitespace());
        let end = text[after_name..].find(&end_tag).map(|at| after_name + at + end_tag.len());
        match end {
            Some(end) if is_element => {
                text.replace_range(start..end, "");
                from = start;
            }
            Some(_) => from = after_name,
            None => return,
        }
    }
}

/// Returns true for a command of an agent, such as `/review src`. A path (`/etc/hosts is empty`) is not one.
fn is_command(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('/') else { return false };
    let name = rest.split_whitespace().next().unwrap_or_default();
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_without_additions_is_unchanged() {
        for prompt in ["fix the parser", "修一下解析器", "/etc/hosts is empty, why?", "a < b and <b>c</b>"] {
            assert_eq!(user_words(prompt).as_deref(), Some(prompt));
        }
    }

    #[test]
    fn added_elements_are_removed() {
        let prompt =
            "<system-reminder>Today is Monday.</system-reminder>\nuse tabs<ide_opened_file a=\"1\">x</ide_opened_file>";
        assert_eq!(user_words(prompt).as_deref(), Some("use tabs"));
        let twice = "<ide_selection>a</ide_selection>rename it<ide_selection>b</ide_selection>";
        assert_eq!(user_words(twice).as_deref(), Some("rename it"));
    }

    #[test]
    fn an_element_without_an_end_stays() {
        assert_eq!(user_words("what is <system-reminder>?").as_deref(), Some("what is <system-reminder>?"));
        let other = "<ide_selections>a</ide_selections>";
        assert_eq!(user_words(other).as_deref(), Some(other));
    }

    #[test]
    fn prompts_of_programs_and_commands_have_no_words_of_the_user() {
        let notification = "<task-notification>\n<task-id>b1</task-id>\n</task-notification>";
        for prompt in [notification, "/clear", "/plugin:deploy staging", "<system-reminder>x</system-reminder>", " \n"]
        {
            assert_eq!(user_words(prompt), None, "{prompt}");
        }
    }
}
