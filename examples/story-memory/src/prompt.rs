//! The prompt of a tick, in the order of the document.

/// Builds a prompt: the world, the recent timeline, the long-term memory, the pending interventions. Empty sections
/// are left out.
#[derive(Debug)]
pub(crate) struct PromptBuilder(Vec<String>);

impl PromptBuilder {
    pub(crate) fn new(world: &str) -> Self {
        Self(vec![format!("# World\n{world}")])
    }

    pub(crate) fn recent<'t>(self, texts: impl IntoIterator<Item = &'t str>) -> Self {
        self.section("Recent timeline", texts)
    }

    /// Adds the text of the memory, which begins with its own heading and an instruction for the model.
    pub(crate) fn memory(mut self, text: &str) -> Self {
        if !text.is_empty() {
            self.0.push(text.to_owned());
        }
        self
    }

    pub(crate) fn pending(self, texts: &[String]) -> Self {
        self.section("Pending interventions", texts.iter().map(String::as_str))
    }

    pub(crate) fn build(&self) -> String {
        self.0.join("\n\n")
    }

    fn section<'t>(mut self, name: &'static str, texts: impl IntoIterator<Item = &'t str>) -> Self {
        let text = texts.into_iter().collect::<Vec<_>>().join("\n");
        if !text.is_empty() {
            self.0.push(format!("# {name}\n{text}"));
        }
        self
    }
}
