//! A companion with a pack of one's own, in English.

use memory_engine::{jiff::tz::TimeZone, prelude::*, testing::ScriptedModel};
use memory_engine_companion::{Companion, Pack};

const PACK: &str = r#"
name = "Robin"
language = "en"
persona = "You are Robin, a gardener. You speak plainly."

[[stages]]
name = "stranger"
from = 0
keywords = ["polite"]
text = "You are polite and careful."

[[stages]]
name = "friend"
from = 100
keywords = ["warm"]
text = "You are warm."

[[moments]]
id = "first_meet"
number = 1
name = "First meeting"
until = 99
words = ["hello", "hi"]
condition = "the user greets Robin for the first time"
guidance = "Introduce yourself."

[[moments.outcomes]]
name = "met"
affection = 20
"#;

#[tokio::test]
async fn an_english_companion_answers_remembers_and_keeps_its_moments() -> Result<()> {
    let pack = Pack::from_toml(PACK, |name| Err(Error::new(ErrorKind::NotFound, "pack", name)))?;
    let memory = crate::quiet().await?;
    let greeting = "Hello, I'm Robin.\n<verdict>{\"moment\":\"first_meet\",\"outcome\":\"met\"}</verdict>";
    let model = ScriptedModel::default().when_asked("Hello!", greeting).otherwise("Good to hear.");
    let robin = Companion::new(memory.clone(), model, pack).with_zone(TimeZone::UTC);
    let kim = Scope::user("kim")?;

    let first = robin.turn(&kim, "Hello!").await?;
    assert_eq!(first.text, "Hello, I'm Robin.");
    assert_eq!(first.key_moment.as_deref(), Some("first_meet"));
    let second = robin.turn(&kim, "My roses are doing well.").await?;
    assert!(second.state.bond.affection > first.state.bond.affection);

    let third = robin.turn(&kim, "Do you remember how my roses are doing?").await?;
    let context = third.context.expect("a context");
    assert!(context.text.contains("You are Robin, a gardener."));
    assert!(context.text.contains("My roses are doing well."), "{}", context.text);
    assert!(context.text.is_ascii(), "English headings: {}", context.text);
    assert_eq!(context.text.matches("First meeting").count(), 1, "{}", context.text);
    Ok(())
}
