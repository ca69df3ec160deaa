use memory_engine_core::{Scope, SystemClock};

use super::*;

fn topics(text: &str) -> Vec<&'static str> {
    Topics::of_message(text).map(|topics| topics.0.into_iter().collect()).unwrap_or_default()
}

fn weight(message: &str, statement: &str) -> Option<Weight> {
    let record = Record::new(Scope::user("lin").unwrap(), Kind::TURN, statement, &SystemClock);
    Topics::of_message(message)?.weight_of(&record)
}

#[test]
fn the_expressions_of_the_data_files_are_valid() {
    assert!(Expressions::new().is_ok());
    let names: BTreeSet<&str> = DATA.topics.iter().map(|data| data.name.as_str()).collect();
    assert_eq!(names.len() * 2, DATA.topics.len(), "each topic has a part in both languages");
    let unknown = DATA.constraints.iter().flat_map(|data| data.topics.iter());
    let unknown: Vec<&str> = unknown.filter(|name| !names.contains(name)).collect();
    assert_eq!(unknown, [""; 0]);
}

#[test]
fn a_message_raises_its_topics() {
    for (message, topic) in [
        ("which restaurant for Dad's retirement do?", "food"),
        ("two nights in Seville, somewhere central", "travel"),
        ("my elbow is throbbing and sore after tennis", "health"),
        ("should I switch to a cheaper mortgage", "money"),
        ("a housewarming present for Tunde", "gifts"),
        ("周六部门吃烤鱼，点几个菜合适", "food"),
        ("肩膀又酸又麻，咋缓解", "health"),
        ("想租个带阳台的房子，看哪些方面", "home"),
        ("给老丈人祝寿送点啥", "gifts"),
        ("When did I last eat squid, and what should I cook tonight?", "food"),
        ("what should I pack for the weather in Oslo?", "travel"),
        ("we have a family history of diabetes, what should I cook?", "food"),
    ] {
        assert!(topics(message).contains(&topic), "{message}: {:?}", topics(message));
    }
}

#[test]
fn questions_about_the_world_tasks_and_reports_raise_none() {
    for message in [
        "who invented the fork",
        "translate \"where is the kitchen\" into Welsh",
        "We had noodles at the station yesterday.",
        "dinner",
        "write a haiku about a dog",
        "user: I slept badly\nassistant: Oh no.\nUser question: what now?",
        "“红烧”用英语怎么说",
        "蜜蜂有几只眼睛是什么原理",
        "昨天在食堂吃了拌面",
        "讲个关于猫的笑话",
    ] {
        assert_eq!(topics(message), [""; 0], "{message}");
    }
}

#[test]
fn a_constraint_counts_for_its_topics_and_more_than_a_preference() {
    let dinner = "any idea for a quick dinner?";
    assert_eq!(weight(dinner, "Walnut bread makes my tongue swell."), Some(Weight::ConstraintOfTopic));
    assert_eq!(weight(dinner, "My gastritis is back."), Some(Weight::Constraint));
    assert_eq!(weight(dinner, "Crayfish turned my mouth numb once."), Some(Weight::Constraint));
    assert_eq!(weight(dinner, "I adore anything with miso and mushrooms."), Some(Weight::Preference));
    assert_eq!(weight(dinner, "The bus was late, mushrooms everywhere."), None, "says nothing about its speaker");
    assert_eq!(weight(dinner, "I adore the trombone."), None);
    assert_eq!(weight(dinner, "Do I like mushrooms?"), None);
    assert_eq!(weight("where should we go for spring break?", "I don't get on with my cousin"), None);
    assert_eq!(weight("where should we go for spring break?", "I never fly off the handle"), None);
    let cinema = "晚上去看场电影，选哪部";
    assert_eq!(weight(cinema, "鬼片我看完整宿睡不着，怕黑怕得要命"), Some(Weight::Constraint));
    assert_eq!(weight(cinema, "我特别喜欢老式悬疑"), Some(Weight::Preference));
    assert_eq!(weight(cinema, "快递放在门口了"), None);
}

#[test]
fn a_quotation_is_no_statement() {
    let dinner = "any idea for a quick dinner?";
    assert_eq!(weight(dinner, "look at his lyrics: \"no bread for me, I can't eat wheat at all\""), None);
    assert_eq!(weight(dinner, "她在邮件里说：“我对坚果过敏，这周的聚餐就不来了”"), None);
    assert!(
        weight(dinner, "They call it \"coeliac\", bread is over for me").is_some(),
        "a quoted word is the speaker's"
    );
    assert_eq!(without_quotes("a \"b"), "a \"b", "a quotation that does not end");
}

#[test]
fn a_fact_replaces_its_message_only_if_it_matters_as_much() {
    let said = |kind: Kind, text: &str| Record::new(Scope::user("lin").unwrap(), kind, text, &SystemClock);
    let message = said(Kind::TURN, "I love sushi, but squid makes my throat swell.");
    let mut fact = said(Kind::FACT, "The user likes sushi.");
    fact.derived_from = vec![message.id];
    let list = |of_fact: Weight| {
        let statements = vec![(Weight::Constraint, message.clone()), (of_fact, fact.clone())];
        without_sources(statements).into_iter().map(|(_, record)| record.kind).collect::<Vec<Kind>>()
    };
    assert_eq!(list(Weight::Preference), [Kind::TURN, Kind::FACT]);
    assert_eq!(list(Weight::Constraint), [Kind::FACT]);
}

#[test]
fn only_the_user_states_something() {
    let said = |role: Option<Role>| {
        let mut record = Record::new(Scope::user("lin").unwrap(), Kind::TURN, "I'm allergic to bees.", &SystemClock);
        record.role = role;
        is_statement(&record)
    };
    assert!(said(Some(Role::USER)) && said(None));
    assert!(!said(Some(Role::ASSISTANT)) && !said(Some(Role::TOOL)));
}

#[test]
fn words_are_no_expressions() {
    let words = DATA.topics.iter().flat_map(|data| data.words.iter());
    let special: Vec<&str> = words.filter(|word| word.contains(|c: char| r"\.+*?()|[]{}^$&#".contains(c))).collect();
    assert_eq!(special, [""; 0]);
}
