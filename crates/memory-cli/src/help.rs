//! The help of the command itself. The help of each subcommand is written by clap.

use std::env;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::program;

/// Returns the output of `memory` without an argument. Its commands work in an empty folder.
pub(crate) fn first_steps() -> String {
    let memory = program::typed_name();
    let commands = [
        ("demo", "shows what it finds in a bundled conversation"),
        ("add \"I moved to Lisbon\" --user me --digest rules", "stores a text and its facts in ./memory.db"),
        ("search \"where do I live?\" --user me", "finds it again"),
        ("serve", "serves the memories to applications over HTTP"),
        ("install claude-code", "shows how a coding agent gets them"),
    ];
    let width = commands.iter().map(|(command, _)| command.len()).max().unwrap_or_default();
    let commands = commands.map(|(command, purpose)| format!("  {memory} {command:width$}  {purpose}\n")).concat();
    format!(
        "memory {}: long-term memory for applications that talk with a language model\n\n{commands}\n\
         `{memory} --help` lists all commands, and `{memory} COMMAND --help` the options of one.\n\
         The documentation is at {}/tree/main/docs",
        env!("CARGO_PKG_VERSION"),
        env!("CARGO_PKG_REPOSITORY"),
    )
}

/// Returns the template of the help, with the subcommands of the definition in groups. A group is a heading and the
/// number of its subcommands.
pub(crate) fn template(definition: &clap::Command, groups: &[(&str, usize)]) -> String {
    let width = definition.get_subcommands().map(|command| command.get_name().len()).max().unwrap_or_default();
    let mut commands = definition.get_subcommands();
    let mut template = "{about-with-newline}\n{usage-heading} {usage}\n\n".to_owned();
    for (heading, count) in groups {
        template += &format!("{heading}:\n");
        for command in commands.by_ref().take(*count) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            template += &format!("  {:width$}  {about}\n", command.get_name());
        }
        template.push('\n');
    }
    template + "Options:\n{options}\n\n`memory COMMAND --help` describes the options of a command."
}

/// Adds the possible values of required arguments to the error that they are missing.
pub(crate) fn add_choices(error: &mut clap::Error, mut definition: clap::Command) {
    let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else { return };
    definition.build();
    let command = env::args_os().nth(1).and_then(|name| definition.find_subcommand(name));
    let (ErrorKind::MissingRequiredArgument, Some(command)) = (error.kind(), command) else { return };
    let mut tips = Vec::new();
    for argument in command.get_arguments().filter(|argument| missing.contains(&argument.to_string())) {
        let values = argument.get_possible_values();
        let width = values.iter().map(|value| value.get_name().len()).max().unwrap_or_default();
        let lines = values.iter().map(|value| {
            let help = value.get_help().map(ToString::to_string).unwrap_or_default();
            format!("\n    {:width$}  {help}", value.get_name()).trim_end().to_owned()
        });
        if !values.is_empty() {
            tips.push(format!("{argument} is one of:{}", lines.collect::<String>()).into());
        }
    }
    if !tips.is_empty() {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::{Command, definition};

    #[test]
    fn every_command_is_in_one_group_of_the_help() {
        let help = definition().render_help().to_string();
        let mut groups_of: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut shown = Vec::new();
        for block in help.split("\n\n") {
            let (heading, lines) = block.split_once(":\n").unwrap_or_default();
            if Command::GROUPS.iter().any(|(group, _)| *group == heading) {
                shown.push(heading);
                for line in lines.lines() {
                    assert!(line.split_whitespace().count() > 2, "a command without a description: {line}");
                    let name = line.split_whitespace().next().unwrap();
                    groups_of.entry(name).or_default().push(heading);
                }
            }
        }
        let definition = definition();
        let names: Vec<&str> = definition.get_subcommands().map(clap::Command::get_name).collect();
        for name in &names {
            assert_eq!(groups_of.get(name).map(Vec::len), Some(1), "{name} in {groups_of:?}");
        }
        assert_eq!(groups_of.len(), names.len(), "{groups_of:?}");
        assert_eq!(shown, Command::GROUPS.map(|(group, _)| group));
        let longest = help.lines().max_by_key(|line| line.len()).unwrap();
        assert!(longest.len() <= 100, "{longest}");
    }

    #[test]
    fn short_help_has_about_one_line_for_each_option() {
        let mut definition = definition();
        definition.build();
        let mut commands: Vec<clap::Command> = definition.get_subcommands().cloned().collect();
        while let Some(mut command) = commands.pop() {
            commands.extend(command.get_subcommands().cloned());
            let help = command.render_help().to_string();
            // An option begins at most 8 columns from the left. A list of values may need several lines.
            let wrapped = help.lines().filter(|line| line.starts_with("          ")).count();
            assert!(wrapped <= 1 || help.contains("[possible values:"), "{help}");
        }
    }
}
