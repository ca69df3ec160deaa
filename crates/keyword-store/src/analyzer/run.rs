//! Runs of characters of one script.

/// Returns the number of characters at the beginning that are in `script`.
pub(super) fn run_length(characters: &[char], script: fn(char) -> bool) -> usize {
    characters.iter().take_while(|c| script(**c)).count()
}
