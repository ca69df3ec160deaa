//! The prompt of a tick, in the order of the document.

/// Builds a prompt: the world, the recent timeline, the long-term memory, the pending interventions. Empty sections
/// are left out.
#[derive(Debug)]
pub(crate) struct PromptBuilder(Vec<(&'static str, String)>);

impl PromptBuilder {
    pub(crate) fn new(world: &str) -> Self {
        Self(vec![("World", world.to_owned())])
    }

    pub(crate) fn recent<'t>(self, texts: impl IntoIterator<Item = &'t str>) -> Self {
        self.section("Recent timeline", texts)
    }

    /// Adds the text of the memory, which contains its own instruction for the model.
    pub(crate) fn memory(self, text: &str) -> Self {
        self.section("Long-term Memory", (!text.is_empty()).then_some(text))
    }

    pub(crate) fn pending(self, texts: &[&str]) -> Self {
        self.section("Pending interventions", texts.iter().copied())
    }

    pub(crate) fn build(&self) -> String {
        self.0.iter().map(|(name, text)| format!("# {name}\n{text}")).collect::<Vec<_>>().join("\n\n")
    }

    fn section<'t>(mut self, name: &'static str, texts: impl IntoIterator<Item = &'t str>) -> Self {
        let text = texts.into_iter().collect::<Vec<_>>().join("\n");
        if !text.is_empty() {
            self.0.push((name, text));
        }
        self
    }
}
