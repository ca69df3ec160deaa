use super::*;

#[test]
fn k2_seed_has_ten_groups() {
    let groups = groups_from_toml(SEED).unwrap();
    assert_eq!(groups.len(), 10);
    let org = groups.iter().find(|group| group.term == "KSK").unwrap();
    assert_eq!(org.members, ["Kommando Spezialkräfte", "特种部队"]);
    assert_eq!(groups.iter().map(|group| group.members.len()).sum::<usize>(), 22);
}

#[test]
fn invalid_groups_are_explained() {
    let long = "x".repeat(257);
    for (group, part) in [
        (SynonymGroup::new("", ["a"]), "is empty"),
        (SynonymGroup::new("a", ["　"]), "is empty"),
        (SynonymGroup::new("a", ["Ａ"]), "no member besides"),
        (SynonymGroup::new("a", [long.as_str()]), "257 bytes"),
        (SynonymGroup::new("a", ["b\0"]), "control character"),
        (SynonymGroup::new("a", (0..65).map(|n| n.to_string())), "65 members"),
    ] {
        let message = group.validate().unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
    let message = groups_from_toml("[[groups]]\nterm = 'a'\nmember = ['b']").unwrap_err().to_string();
    assert!(message.contains("unknown field `member`"), "{message}");
}

#[test]
fn words_are_compared_after_folding() {
    let group = SynonymGroup::new("KSK", ["ksk", "ＫＳＫ", "特種部隊", "特种部队"]);
    assert_eq!(group.words().collect::<Vec<_>>(), ["KSK", "特種部隊"]);
}
