use super::*;

#[test]
fn parts_and_sentences() {
    use MessagePart::{Action, DoubleParen, Paren, Plain};
    let cases: &[(&str, &[(MessagePart, &str)])] = &[
        ("（她放下绷带）你终于回来了", &[(Paren, "她放下绷带"), (Plain, "你终于回来了")]),
        ("*draws  sword* Come back! I said.", &[(Action, "draws sword"), (Plain, "come back!"), (Plain, "i said.")]),
        ("**bows** hi", &[(Action, "bows"), (Plain, "hi")]),
        ("\"Stop!\" she cried", &[(Plain, "\" she cried")]),
        ("他说：「别演了。」", &[(Plain, "他说:\"")]),
        ("((brb))", &[(DoubleParen, "brb")]),
        ("[OOC] wait…", &[(Paren, "ooc"), (Plain, "wait...")]),
        ("2*3*4 = 24, a 5\" nail (or so", &[(Plain, "2*3*4 = 24, a 5\" nail (or so")]),
        ("a\n\nb?!c", &[(Plain, "a"), (Plain, "b?!"), (Plain, "c")]),
        ("v1.2 is out. ok", &[(Plain, "v1.2 is out."), (Plain, "ok")]),
        ("“”！*", &[]),
    ];
    for (text, expected) in cases {
        let message = Message::parse(text);
        let parts: Vec<_> = message.sentences.iter().map(|sentence| (sentence.part, sentence.text.as_str())).collect();
        assert_eq!(&parts, expected, "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_parsed(text in "[a-z *(（）)\\[\\]\"“”「」.。!~\\n🎭]{0,40}") {
        Message::parse(&text);
    }
}
