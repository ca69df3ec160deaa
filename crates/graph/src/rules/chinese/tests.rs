use super::*;

fn texts(text: &str) -> Vec<String> {
    let mut all: Vec<String> = names(text).into_iter().map(|(_, mention)| mention.name).collect();
    all.sort();
    all.dedup();
    all
}

#[test]
fn names_are_found_by_surname_title_repetition_and_ending() {
    for (text, expected) in [
        ("昨天王医生说我没事。", vec!["王医生"]),
        ("张小明老师去了青石村。", vec!["张小明老师", "青石村"]),
        ("林晓月走进来。沈砚看着林晓月，林晓月笑了，沈砚也笑了。", vec!["林晓月", "沈砚"]),
        ("我在杭州市的风清公司工作", vec!["杭州市", "风清公司"]),
        ("他是《红楼梦》的读者", vec!["红楼梦"]),
        ("有个孩子名叫小石头。", vec!["小石头"]),
        ("林曉月說，她的師父住在落霞山。", vec!["林曉月", "落霞山"]),
        ("时间说明一切，许多人在路上，高大山在前面。", vec![]),
        ("我很高兴，我们马上去超市，那里很安全，安全第一", vec![]),
        ("張小明老師去了臺北市", vec!["張小明老師", "臺北市"]),
        ("我们爬山去了", vec![]),
    ] {
        assert_eq!(texts(text), expected, "{text}");
    }
}

#[test]
fn kinds_follow_from_names() {
    assert_eq!(kind_from_name("王医生"), EntityKind::Person);
    assert_eq!(kind_from_name("林晓月"), EntityKind::Person);
    assert_eq!(kind_from_name("青石村"), EntityKind::Place);
    assert_eq!(kind_from_name("复旦大学"), EntityKind::Org);
    assert_eq!(kind_from_name("Anna"), EntityKind::Other);
}
